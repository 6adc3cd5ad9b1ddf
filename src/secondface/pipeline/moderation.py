"""Who judges pictures: the port, and the judge that is built in.

A judge says how sure it is, by rules with names; what follows is decided in `guard`. Must not know files or requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from secondface.frames import RGB8, Sessions
from secondface.vision.nsfw import NsfwScorer

UNJUDGED = "unjudged"
"""The rule of a judge that could not be asked, where such pictures are flagged and not refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a picture is from."""

    input: str
    """`target`, or `source 0`."""
    frame: int = 0
    at_ms: int | None = None
    """When it is shown; none in a still."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One small picture to judge."""

    place: Place
    rgb: RGB8


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """What a judge says of a picture by one of its rules."""

    rule: str
    score: float | None = None
    """0 to 1; what follows, the thresholds say."""
    verdict: Literal["allow", "hold", "refuse"] | None = None
    """What follows where the judge itself says so."""


class Moderation(Protocol):
    """A judge of pictures. It may be asked from several threads at once."""

    @property
    def at_once(self) -> int:
        """How many pictures are best judged together."""
        ...

    def judge(self, samples: Sequence[Sample], sessions: Sessions) -> Sequence[Sequence[Opinion]]:
        """Opinions for each sample, in their order; `sessions` are the models of the run.

        Raises ModerationUnavailable, ModelFailed, Cancelled.
        """
        ...


class BuiltInModeration:
    """The judge of this package: one rule, `nsfw`, by a network on the run's own device."""

    at_once = 1
    """A frame is judged as it passes, so that what is refused is refused at once."""

    def judge(self, samples: Sequence[Sample], sessions: Sessions) -> Sequence[Sequence[Opinion]]:
        """As Moderation.judge."""
        if not samples:
            return []
        scores = NsfwScorer(sessions).scores([sample.rgb for sample in samples])
        return [[Opinion(rule="nsfw", score=score)] for score in scores]
