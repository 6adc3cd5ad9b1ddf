"""A service played by hand: flows are driven without a socket, a clock or a client."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from secondface.sdk.calls import Answer, Call, Close, Flow, Give, Open, Outcome, Pause, Take, Unreachable
from secondface.sdk.retries import Retries

_T = TypeVar("_T")
STEADY = Retries(chance=lambda: 1.0)


def good(status: int = 200, *, headers: dict[str, str] | None = None, **words: Any) -> Answer:
    return Answer(status, {"content-type": "application/json", **(headers or {})}, json.dumps(words).encode())


def refusal(code: str, status: int, *, headers: dict[str, str] | None = None, **changes: Any) -> Answer:
    words = {
        "type": f"/errors/{code}", "title": "Told by the service.", "status": status, "detail": "A detail.",
        "code": code, "fault": "caller", "retryable": False, "remedy": "The service's own remedy.",
        "request_id": "req_1",
    }  # fmt: skip
    return Answer(status, headers or {}, json.dumps(words | changes).encode())


@dataclass
class Played:
    """Answers calls in turn, from a list or by a function; streams are lists of pieces."""

    answers: list[Answer | Unreachable] = field(default_factory=list)
    streams: list[list[bytes | Unreachable]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    given: list[Any] = field(default_factory=list)
    answer_to: Callable[[Call], Answer | Unreachable | None] = lambda _call: None
    closed: int = 0
    _pieces: list[bytes | Unreachable] = field(default_factory=list)

    def run(self, flow: Flow[_T]) -> _T:
        outcome: Outcome = None
        while True:
            try:
                effect = flow.send(outcome)
            except StopIteration as end:
                return end.value
            outcome = None
            match effect:
                case Call():
                    outcome = self._answer(effect)
                case Open(call):
                    outcome = self._answer(call)
                    self._pieces = self.streams.pop(0) if isinstance(outcome, Answer) and outcome.is_good else []
                case Take():
                    outcome = self._pieces.pop(0) if self._pieces else None
                case Pause(seconds):
                    self.pauses.append(seconds)
                case Give(value):
                    self.given.append(value)
                case Close():
                    self.closed += 1

    def _answer(self, call: Call) -> Answer | Unreachable:
        self.calls.append(call)
        return self.answer_to(call) or self.answers.pop(0)
