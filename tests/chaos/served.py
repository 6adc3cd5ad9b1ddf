"""A server process with its rounds and workers, and without a gateway, until it is killed."""

from __future__ import annotations

import signal
import threading

from secondface.compose.service import server
from secondface.settings import load_settings

if __name__ == "__main__":
    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda _number, _frame: over.set())
    service = server(load_settings())
    service.start()
    print("started", flush=True)
    over.wait()
    service.stop()
