"""What secondface costs on this machine: seconds and bytes, printed and kept in out/bench. Nothing here is a test."""
