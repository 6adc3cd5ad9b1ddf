"""What the program says about itself: events, spans, counters, histograms, and how long something was busy.

Everything travels through the `secondface` logger of the standard library, so that nothing is said and next to
nothing is spent until `configure` gives it somewhere to go. Must not know who listens.
"""

from __future__ import annotations

import json
import logging
import re
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, Self, TextIO

Level = Literal["debug", "info", "warning", "error"]
MeasureKind = Literal["counter", "histogram"]

_EVENTS = logging.getLogger("secondface")
_MEASURES = logging.getLogger("secondface.measures")
_LEVELS = logging.getLevelNamesMapping()
_UNSEEN = re.compile(r"[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Signs that JSON lets stand, and that move a terminal or turn what is read: a stranger may have written them."""


def log(event: str, level: Level = "info", **fields: object) -> None:
    """Say that something happened: a stable dotted name, and facts. Never pixels, names of people or secrets."""
    number = _LEVELS[level.upper()]
    if _EVENTS.isEnabledFor(number) and _EVENTS.hasHandlers():
        _EVENTS.log(number, event, extra={"fields": fields})


def counter(name: str, amount: int = 1, **labels: str) -> None:
    """Add to a number that only grows."""
    _measure("counter", name, amount, labels)


def histogram(name: str, value: float, **labels: str) -> None:
    """Record one value of a distribution; the unit is the end of the name (`_ms`, `_bytes`)."""
    _measure("histogram", name, value, labels)


def _measure(kind: MeasureKind, name: str, value: float, labels: dict[str, str]) -> None:
    if _MEASURES.handlers:
        _MEASURES.log(logging.DEBUG, name, extra={"measure": Measure(kind, name, value, labels)})


@dataclass(frozen=True, slots=True)
class Measure:
    """One call of `counter` or `histogram`."""

    kind: MeasureKind
    name: str
    value: float
    labels: dict[str, str]


@dataclass(slots=True)
class Timing:
    """A running or finished span of time on the monotonic clock."""

    started_ns: int = field(default_factory=time.perf_counter_ns)
    ended_ns: int | None = None

    @property
    def elapsed_ms(self) -> float:
        """Milliseconds since the start, or from start to end."""
        return ((self.ended_ns or time.perf_counter_ns()) - self.started_ns) / 1e6


@contextmanager
def span(name: str, **fields: object) -> Generator[Timing, None, None]:
    """Time a block, and log its length when it ends, however it ends."""
    timing = Timing()
    try:
        yield timing
    finally:
        timing.ended_ns = time.perf_counter_ns()
        log(name, "debug", elapsed_ms=round(timing.elapsed_ms, 3), **fields)


class BusyClock:
    """How long at least one of many overlapping blocks was open: the union of their intervals, in any thread.

    `with clock:` opens a block; overlapping blocks count once.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._open = 0
        self._opened_ns = 0
        self._total_ns = 0

    def __enter__(self) -> Self:
        with self._guard:
            if self._open == 0:
                self._opened_ns = time.perf_counter_ns()
            self._open += 1
        return self

    def __exit__(self, *exception: object) -> None:
        with self._guard:
            self._open -= 1
            if self._open == 0:
                self._total_ns += time.perf_counter_ns() - self._opened_ns

    @property
    def busy_ns(self) -> int:
        """Nanoseconds so far, a block that is still open included."""
        with self._guard:
            running = time.perf_counter_ns() - self._opened_ns if self._open else 0
            return self._total_ns + running

    @property
    def busy_ms(self) -> int:
        """Whole milliseconds so far."""
        return self.busy_ns // 1_000_000


class Meter(logging.Handler):
    """Keeps the sum and the number of values of each measure, for a metrics page, a receipt or a test."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self._totals: dict[tuple[str, tuple[tuple[str, str], ...]], tuple[int, float]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        measure = getattr(record, "measure", None)
        if isinstance(measure, Measure):
            key = (measure.name, tuple(sorted(measure.labels.items())))
            count, total = self._totals.get(key, (0, 0.0))
            self._totals[key] = (count + 1, total + measure.value)

    def total(self, name: str, **labels: str) -> float:
        """The sum of a measure's values under exactly these labels."""
        return self._totals.get((name, tuple(sorted(labels.items()))), (0, 0.0))[1]

    def count(self, name: str, **labels: str) -> int:
        """How many values were recorded under exactly these labels."""
        return self._totals.get((name, tuple(sorted(labels.items()))), (0, 0.0))[0]


class JsonLines(logging.Formatter):
    """One JSON object a line: time in seconds since the epoch, level, event, and the event's fields."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": round(record.created, 3),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        text = json.dumps(line | getattr(record, "fields", {}), ensure_ascii=False, default=str)
        return _UNSEEN.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


def configure(stream: TextIO | None = None, level: Level = "info", meter: Meter | None = None) -> None:
    """Send events to `stream` as JSON lines and measures to `meter`; what was configured before is replaced."""
    for logger in (_EVENTS, _MEASURES):
        for handler in list(logger.handlers):
            logger.removeHandler(handler)
    _EVENTS.setLevel(_LEVELS[level.upper()])
    _EVENTS.propagate = stream is None
    if stream is not None:
        handler = logging.StreamHandler(stream)
        handler.setFormatter(JsonLines())
        _EVENTS.addHandler(handler)
    _MEASURES.propagate = False
    _MEASURES.setLevel(logging.DEBUG)
    if meter is not None:
        _MEASURES.addHandler(meter)
