"""What stands between pictures and an output: sources and frames are judged, and protected people are no sources.

Decides which frames are looked at (the first, the last, those after cuts, one a second and at least one of sixty), and
what follows from an opinion. A refusal is raised before anything is handed out; a doubt is kept in `findings`. Must not
know who is asked. A run sees a `Watch`: its guard, or the near end of one in another process, which cannot be talked
over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NoReturn, Protocol

from secondface.errors import ContentRefused, SourceProtected
from secondface.frames import ArrayFrame, Float, Frame, FrameWork, Sessions
from secondface.observe import log
from secondface.pipeline.moderation import UNJUDGED, Moderation, Opinion, Place, Sample
from secondface.pipeline.people import PersonPicture, SourceLook
from secondface.spec.moderation import ContentRules
from secondface.vision.protected import POSSIBLY, SURELY, KnownPerson, nearest

SAMPLE_LONGEST = 448
"""Longest side of what is judged: enough for any such network, and little to send."""
_EVERY_S = Fraction(1)
_EVERY_FRAMES = 60
"""What a file says of its times is not believed: thousands of frames may have one, and are shown one by one."""
_MOST_FINDINGS = 20
TARGET = "target"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that was found: by which rule, in which input and frame, and what follows."""

    rule: str
    verdict: Literal["hold", "refuse"]
    input: str
    frame: int = 0
    at_ms: int | None = None
    score_permille: int | None = None


class Watch(Protocol):
    """What a run asks of whoever watches it."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found so far; none where the guard itself keeps it."""
        ...

    @property
    def at_once(self) -> int:
        """How many pictures are best judged together; 0 where nobody judges."""
        ...

    def look(self, number: int, picture: PersonPicture, identity: Float | None, sessions: Sessions) -> SourceLook:
        """Judge a source picture before work is spent on it. Raises what refuses it."""
        ...

    def lacks(self, looks: Sequence[SourceLook]) -> bool:
        """Whether some of these pictures have not been judged."""
        ...

    def check(self, looks: Sequence[SourceLook]) -> None:
        """Judge pictures that were looked at, now or in an earlier run. Raises what refuses them."""
        ...

    def watch(self, works: Iterable[FrameWork], name: str, sessions: Sessions) -> Iterator[FrameWork]:
        """The same frames, looked at on their way. Raises what refuses them."""
        ...

    def judge(self, samples: Sequence[Sample], name: str, sessions: Sessions) -> None:
        """Judge samples of the target. Raises what refuses them."""
        ...


class Guard:
    """Watches one run."""

    def __init__(
        self, moderation: Moderation | None, rules: ContentRules, protected: Sequence[KnownPerson] = ()
    ) -> None:
        self._moderation, self._rules, self._protected = moderation, rules, protected
        self._found: dict[tuple[str, int, str], Finding] = {}

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found so far: refusals, then the surest; at most twenty."""
        order = sorted(self._found.values(), key=lambda each: (each.verdict != "refuse", -(each.score_permille or 0)))
        return tuple(order[:_MOST_FINDINGS])

    # ---- sources -----------------------------------------------------------------------------------------------------

    def look(self, number: int, picture: PersonPicture, identity: Float | None, sessions: Sessions) -> SourceLook:
        """Judge a source picture before work is spent on it. Raises ContentRefused, SourceProtected."""
        opinions: tuple[Opinion, ...] | None = None
        if self._moderation is not None:
            sample = Sample(_source(number), ArrayFrame(picture.rgb).thumbnail(SAMPLE_LONGEST))
            opinions = tuple(self._moderation.judge([sample], sessions)[0])
        self.check([SourceLook(number, picture.name, identity, opinions)])
        return SourceLook(number, picture.name, identity, _kept(opinions))

    def lacks(self, looks: Sequence[SourceLook]) -> bool:
        """Whether some of these pictures have not been judged."""
        return self._moderation is not None and any(each.opinions is None for each in looks)

    def check(self, looks: Sequence[SourceLook]) -> None:
        """Judge pictures that were looked at, now or in an earlier run. Raises ContentRefused, SourceProtected."""
        for each in looks:
            self._check_list(each)
            self._weigh(each.name, _source(each.number), each.opinions or ())

    def _check_list(self, look: SourceLook) -> None:
        found = None if look.identity is None else nearest(look.identity, self._protected)
        if found is None or found[1] > POSSIBLY:
            return
        entry, gap = found
        log("guard.protected", "warning", entry=entry, distance=round(gap, 3))  # for operators, not for the caller
        sure = gap <= SURELY or not self._rules.reviewed
        self._note("protected", "refuse" if sure else "hold", _source(look.number), None)
        if sure:
            raise SourceProtected(f"{look.name}: the rule protected refuses it.", findings=self.findings)

    # ---- the target --------------------------------------------------------------------------------------------------

    @property
    def at_once(self) -> int:
        """How many pictures are best judged together; 0 where nobody judges."""
        return 0 if self._moderation is None else self._moderation.at_once

    def watch(self, works: Iterable[FrameWork], name: str, sessions: Sessions) -> Iterator[FrameWork]:
        """The same frames, looked at on their way; the last one passes when all have been judged.

        Raises ContentRefused, and what the judge raises.
        """
        if self._moderation is None:
            return iter(works)
        return sampled(works, self.at_once, lambda samples: self.judge(samples, name, sessions))

    def judge(self, samples: Sequence[Sample], name: str, sessions: Sessions) -> None:
        """Judge samples of the target. Raises ContentRefused, and what the judge raises."""
        assert self._moderation is not None
        for sample, opinions in zip(samples, self._moderation.judge(samples, sessions), strict=True):
            self._weigh(name, sample.place, opinions)

    # ---- what follows ------------------------------------------------------------------------------------------------

    def _weigh(self, name: str, place: Place, opinions: Sequence[Opinion]) -> None:
        for opinion in opinions:
            verdict = self._verdict(opinion)
            if verdict == "allow":
                continue
            self._note(opinion.rule, verdict, place, opinion.score)
            if verdict == "refuse":
                self._refuse(name, place, opinion)

    def _verdict(self, opinion: Opinion) -> Literal["allow", "hold", "refuse"]:
        rules = self._rules
        score = -1 if opinion.score is None else _permille(opinion.score)
        verdict = opinion.verdict or "allow"
        if rules.refuse_permille is not None and score >= rules.refuse_permille:
            verdict = "refuse"
        elif rules.hold_permille is not None and score >= rules.hold_permille and verdict == "allow":
            verdict = "hold"
        return "refuse" if verdict == "hold" and not rules.reviewed else verdict

    def _note(self, rule: str, verdict: Literal["hold", "refuse"], place: Place, score: float | None) -> None:
        permille = None if score is None else _permille(score)
        self._found[place.input, place.frame, rule] = Finding(
            rule=rule, verdict=verdict, input=place.input, frame=place.frame, at_ms=place.at_ms,
            score_permille=permille,
        )  # fmt: skip

    def _refuse(self, name: str, place: Place, opinion: Opinion) -> NoReturn:
        rule, found = opinion.rule, self.findings
        if place.at_ms is None:
            if opinion.score is None:
                raise ContentRefused(f"{name}: the rule {rule} refuses it.", findings=found)
            raise ContentRefused(f"{name}: the rule {rule} refuses it, {opinion.score:.0%} sure.", findings=found)
        frame, seconds = place.frame, f"{place.at_ms / 1000:.3f}"
        if opinion.score is None:
            raise ContentRefused(
                f"{name}: the rule {rule} refuses frame {frame} at {seconds} s.", findings=found
            )  # fmt: skip
        raise ContentRefused(
            f"{name}: the rule {rule} refuses frame {frame} at {seconds} s, {opinion.score:.0%} sure.", findings=found
        )


def sampled(works: Iterable[FrameWork], at_once: int, judge: Callable[[Sequence[Sample]], None]) -> Iterator[FrameWork]:
    """The same frames; samples go to `judge`, so many at a time, and the last frame passes after all of them."""
    due, waiting = Fraction(0), list[Sample]()
    held: list[FrameWork] = []  # a generator that holds on to what it yielded keeps one more frame alive
    sampled_last = -1
    for work in works:
        while held:
            yield held.pop()
        frame = work.frame
        time = (frame.pts or 0) * frame.time_base
        late = time >= due or frame.index - sampled_last >= _EVERY_FRAMES
        if sampled_last < 0 or work.change == "cut" or late:
            due, sampled_last = time + _EVERY_S, frame.index
            waiting.append(_sample(frame))
            if len(waiting) >= at_once:
                judge(waiting)
                waiting = []
        held.append(work)
        del frame, work
    if held and held[0].frame.index != sampled_last:
        waiting.append(_sample(held[0].frame))
    judge(waiting)
    while held:
        yield held.pop()


def _kept(opinions: tuple[Opinion, ...] | None) -> tuple[Opinion, ...] | None:
    """Opinions that hold for later runs too: none where the judge could not be asked."""
    return None if opinions is None or any(each.rule == UNJUDGED for each in opinions) else opinions


def _sample(frame: Frame) -> Sample:
    at_ms = None if frame.pts is None else round(frame.pts * frame.time_base * 1000)
    return Sample(Place(input=TARGET, frame=frame.index, at_ms=at_ms), frame.thumbnail(SAMPLE_LONGEST))


def _source(number: int) -> Place:
    return Place(input=f"source {number}")


def _permille(score: float) -> int:
    return min(1000, max(0, int(score * 1000)))
