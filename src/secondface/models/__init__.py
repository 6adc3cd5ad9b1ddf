"""The only door to ONNX Runtime; what it does beyond running models is decided here, before it is loaded."""

import os

# ONNX Runtime starts its makers' telemetry as it is imported: threads of theirs, and a file `.ses` in the temporary
# folder that outlives the process. It reads this at that moment and never again; whoever wants it can say so.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
