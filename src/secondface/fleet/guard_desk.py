"""The worker's end of a guard: a caged run shows pictures, and the guard out here says what follows.

Decides that the judge, the list of protected people and what was found stay outside, and that a refusal stands whatever
the run makes of it. Whatever runs in the cage has read a stranger's files, so nothing it says is believed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from secondface.errors import InternalFault
from secondface.fleet.caged_guard import opinion_words
from secondface.frames import RGB8, Sessions
from secondface.pipeline.guard import SAMPLE_LONGEST, TARGET, Watch
from secondface.pipeline.moderation import Opinion, Place, Sample
from secondface.pipeline.people import Picture, SourceLook
from secondface.spec.schemas import RunRequest

_MOST_OPINIONS = 32
_NOTHING = np.zeros((1, 1, 3), np.uint8)
"""Where nobody judges pictures, none is shown."""


class _Words(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class _Opinion(_Words):
    rule: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_.-]{0,39}$")]
    score: float | None = Field(default=None, ge=0, le=1)
    verdict: Literal["allow", "hold", "refuse"] | None = None


class _Moment(_Words):
    frame: int = Field(ge=0)
    at_ms: int | None


class _Question(_Words):
    """What a caged run may ask (`caged_guard`)."""

    ask: Literal["look", "check", "judge"]
    aside: bool = False
    number: int = Field(default=0, ge=0)
    identity: list[Annotated[float, Field(allow_inf_nan=False)]] | None = Field(
        default=None, min_length=128, max_length=128
    )
    opinions: list[_Opinion] | None = Field(default=None, max_length=_MOST_OPINIONS)
    moments: list[_Moment] = []
    pictures: list[list[int]] = []


class GuardDesk:
    """Asks the guard of one run, one question at a time."""

    def __init__(self, guard: Watch | None, sessions: Sessions, request: RunRequest) -> None:
        self._guard, self._sessions, self._request = guard, sessions, request
        self._sources = [path.name for person in request.sources for path in person.images]
        self._turn = threading.Lock()
        self._looked: set[int] = set()
        self._passed: set[int] = set()
        self._judged = 0
        self._refusal: Exception | None = None

    @property
    def at_once(self) -> int | None:
        """How many pictures are shown at a time, 0 where none are; None where there is no guard."""
        return None if self._guard is None else self._guard.at_once

    def answer(self, words: Any, pictures_of: Callable[[Sequence[object]], list[RGB8]]) -> dict[str, Any]:
        """What the guard says; `pictures_of` reads pictures by their shapes. Raises what it refused first, for good."""
        with self._turn:
            self.require_passed()
            try:
                return self._answer(_Question.model_validate(words), pictures_of)
            except ValidationError as error:
                self._refusal = InternalFault(f"a caged run asked nonsense: {error.error_count()} problems")
                raise self._refusal from error
            except Exception as error:
                self._refusal = error
                raise

    def require_passed(self) -> None:
        """Raise what the guard refused."""
        if self._refusal is not None:
            raise self._refusal

    def require_asked(self) -> None:
        """Raise InternalFault unless the guard was shown all that it judges, and what it refused at the very end."""
        self.require_passed()
        if self._guard is None:
            return
        plan = self._request.plan()
        sources = range(len(self._sources)) if plan.swaps else ()
        lacks_target = self._guard.at_once > 0 and not plan.only_marks and not self._judged
        if lacks_target or not self._passed.issuperset(sources):
            raise InternalFault("a caged run did not show its pictures to the guard")

    def _answer(self, asked: _Question, pictures_of: Callable[[Sequence[object]], list[RGB8]]) -> dict[str, Any]:
        guard = self._guard
        if guard is None or asked.number >= max(1, len(self._sources)):
            raise InternalFault("a caged run asked for what there is not")
        if len(asked.moments) > guard.at_once:
            raise InternalFault("a caged run showed more pictures than are judged at once")
        samples = pictures_of(asked.pictures)
        _require_small(samples, 1 if asked.ask == "look" and guard.at_once else len(asked.moments))
        if asked.ask == "judge":
            shown = [
                Sample(Place(input=TARGET, frame=each.frame, at_ms=each.at_ms), rgb)
                for each, rgb in zip(asked.moments, samples, strict=True)
            ]
            guard.judge(shown, self._request.target.name, self._sessions)
            self._judged += len(shown)
            return {}
        return self._of_source(guard, asked, samples)

    def _of_source(self, guard: Watch, asked: _Question, samples: Sequence[RGB8]) -> dict[str, Any]:
        name = self._sources[asked.number]
        identity = None if asked.identity is None else np.array(asked.identity, np.float32)
        if asked.ask == "look":
            picture = Picture(name, samples[0] if samples else _NOTHING)
            seen = guard.look(asked.number, picture, identity, self._sessions)
            self._looked.add(asked.number)
            return {"opinions": opinion_words(seen.opinions)}
        told = asked.opinions
        opinions = None if told is None else tuple(Opinion(**each.model_dump()) for each in told)
        look = SourceLook(asked.number, name, identity, opinions)
        if guard.lacks([look]) and asked.number not in self._looked:
            raise InternalFault("a caged run checks what was not judged")
        guard.check([look])
        self._passed.add(asked.number)
        return {}


def _require_small(samples: Sequence[RGB8], number: int) -> None:
    for each in samples:
        if each.ndim != 3 or each.shape[2] != 3 or not 0 < min(each.shape) <= max(each.shape) <= SAMPLE_LONGEST:
            raise InternalFault("a caged run showed what is no small picture")
    if len(samples) != number:
        raise InternalFault("a caged run showed fewer or more pictures than it said")
