"""Ctrl-C, Ctrl-\\, SIGTERM and a closed terminal while a run is under way.

Ask it to stop, let it tidy up, remember which signal it was.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

from secondface.errors import Cancelled


class Stop(threading.Event):
    """Set by the first signal; the run looks at it between frames and leaves nothing behind."""

    received: int = 0
    """The number of that signal."""


@contextmanager
def cancel_on_signals() -> Generator[None]:
    """While inside, the first signal raises Cancelled wherever the process waits; a second one kills it after all."""
    with stop_on_signals(_raise_cancelled):
        yield


def _raise_cancelled() -> None:
    raise Cancelled


@contextmanager
def stop_on_signals(then: Callable[[], None] = lambda: None) -> Generator[Stop]:
    """While inside, signals set the Stop instead of killing the process; a second Ctrl-C kills it after all.

    A Cancelled that leaves the block says in its facts which signal it was.
    """
    stop = Stop()

    def on_signal(number: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.received = number
        stop.set()
        then()

    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGQUIT]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        # Under nohup the end of the terminal is not the end of the run.
        numbers.append(signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        signal.signal(number, on_signal)
    try:
        yield stop
    except Cancelled as cancelled:
        cancelled.facts["signal"] = stop.received
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
