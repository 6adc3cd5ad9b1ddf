"""A run's guard as the run sees it from inside a cage: it shows small pictures, and hears whether it may go on.

Decides nothing: who judges, who is protected and what was found are known outside alone (`guard_desk`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from secondface.frames import RGB8, ArrayFrame, Float, FrameWork, Sessions
from secondface.pipeline.guard import SAMPLE_LONGEST, Finding, sampled
from secondface.pipeline.moderation import Opinion, Sample
from secondface.pipeline.people import PersonPicture, SourceLook


class Asking(Protocol):
    """A way to the worker."""

    def ask(self, words: dict[str, Any], pictures: Sequence[RGB8] = ()) -> dict[str, Any]:
        """The answer. Raises what it says was raised."""
        ...


class CagedGuard:
    """As `pipeline.guard.Watch`."""

    def __init__(self, worker: Asking, at_once: int) -> None:
        """`at_once` is how many pictures are shown at a time; 0: none, for nobody judges them."""
        self._worker, self.at_once = worker, at_once
        self.findings: tuple[Finding, ...] = ()

    def look(self, number: int, picture: PersonPicture, identity: Float | None, sessions: Sessions) -> SourceLook:  # noqa: ARG002
        """As Watch.look."""
        shown = [ArrayFrame(picture.rgb).thumbnail(SAMPLE_LONGEST)] if self.at_once else []
        words = {"ask": "look", "number": number, "identity": _numbers(identity)}
        told = self._worker.ask(words, shown)["opinions"]
        opinions = None if told is None else tuple(Opinion(**each) for each in told)
        return SourceLook(number, picture.name, identity, opinions)

    def lacks(self, looks: Sequence[SourceLook]) -> bool:
        """As Watch.lacks."""
        return self.at_once > 0 and any(each.opinions is None for each in looks)

    def check(self, looks: Sequence[SourceLook]) -> None:
        """As Watch.check."""
        for each in looks:
            words = {"ask": "check", "number": each.number, "identity": _numbers(each.identity)}
            self._worker.ask({**words, "opinions": opinion_words(each.opinions)})

    def watch(self, works: Iterable[FrameWork], name: str, sessions: Sessions) -> Iterator[FrameWork]:
        """As Watch.watch."""
        if not self.at_once:
            return iter(works)
        return sampled(works, self.at_once, lambda samples: self.judge(samples, name, sessions))

    def judge(self, samples: Sequence[Sample], name: str, sessions: Sessions) -> None:  # noqa: ARG002
        """As Watch.judge."""
        moments = [{"frame": each.place.frame, "at_ms": each.place.at_ms} for each in samples]
        if moments:
            self._worker.ask({"ask": "judge", "moments": moments}, [each.rgb for each in samples])


def opinion_words(opinions: Sequence[Opinion] | None) -> list[dict[str, Any]] | None:
    """Opinions for the other end."""
    if opinions is None:
        return None
    return [{"rule": each.rule, "score": each.score, "verdict": each.verdict} for each in opinions]


def _numbers(identity: Float | None) -> list[float] | None:
    return None if identity is None else [float(each) for each in identity]
