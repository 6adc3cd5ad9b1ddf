"""`python -m secondface` and `secondface` are the command line."""

import signal
import sys


def main() -> int:
    """Run the command line; the result is the exit code. Ctrl-C while it loads ends it without a word."""
    try:
        from secondface.cli.main import main as command  # noqa: PLC0415 - so that Ctrl-C finds the try

        return command()
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main())
