"""One passage of a target's frames through a plan: who is in it, who gets which face, the engine, and what it found.

Decides when faces or sources are missing. Must not know files: frames come from an iterator and go to a function.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import chain

from secondface.errors import (
    Cancelled,
    MappingUnresolved,
    NoFaceInTarget,
    ReferenceFaceNotFound,
    TooManySources,
)
from secondface.frames import Float, Frame, FrameWork, Sessions, StreamInfo
from secondface.observe import BusyClock, log, span
from secondface.pipeline.device import RunSessions
from secondface.pipeline.engine import (
    CancelToken,
    EngineOptions,
    EngineReport,
    Progress,
    frames_in_flight,
    run_stages,
)
from secondface.pipeline.guard import Watch
from secondface.pipeline.meter import MemoryPeak
from secondface.pipeline.people import (
    PeopleMemory,
    PersonPicture,
    SourceLook,
    SourcePeople,
    build_sources,
    describe_reference,
)
from secondface.pipeline.scout import scout
from secondface.pipeline.spare_cores import opencv_beside
from secondface.pipeline.spare_memory import SpareMemory, give_back_spare_memory
from secondface.pipeline.steps import MOST_FACES, MOST_FACES_OF_A_STILL, StepContext, build_stage
from secondface.pipeline.tally import FaceTally
from secondface.provenance.signing import ContentSigner
from secondface.spec.catalog import UpscaleParameters
from secondface.spec.faces import FaceRule
from secondface.spec.graph import Plan
from secondface.vision.choose import FaceChooser
from secondface.vision.restore import FaceRestorer
from secondface.vision.scene import following
from secondface.vision.track import FaceTracker

_LONGEST_GROUP = 16
"""Frames that tracking sees at once: it smooths both ways and follows late faces back within them."""


@dataclass(frozen=True)
class Casting:
    """Who is to be put onto whom, with pictures read."""

    sources: Sequence[Sequence[PersonPicture]] = ()
    rule: FaceRule = field(default_factory=FaceRule)
    like: PersonPicture | None = None
    """The reference picture of the rule."""
    mapping: Sequence[tuple[int, int | PersonPicture]] = ()
    """Source person to face index or reference picture."""
    allow_no_face: bool = False
    max_faces: int | None = None


@dataclass
class Conduct:
    """What one run is led by: its sessions, its clocks, and how it is told to stop."""

    sessions: Sessions
    cancel: CancelToken | None = None
    on_progress: Callable[[Progress], None] | None = None
    active: BusyClock = field(default_factory=BusyClock)
    memory: MemoryPeak = field(default_factory=MemoryPeak)
    spare_memory: SpareMemory = field(default_factory=SpareMemory)
    stopping: threading.Event = field(default_factory=threading.Event)
    people: PeopleMemory = field(default_factory=PeopleMemory)
    """Source people that earlier runs prepared."""
    signer: ContentSigner | None = None
    """Signs the output before it gets its name; None where another process does it afterwards."""
    guard: Watch | None = None
    """Who judges the pictures of this run; none: nobody does."""
    target_name: str = "target"
    """What messages call the target."""
    watermark: int = 0
    """The 64 bits that the invisible watermark of every frame holds."""

    def checkpoint(self) -> None:
        """Raises Cancelled when the run is to stop."""
        if self.stopping.is_set() or (self.cancel is not None and self.cancel.is_set()):
            raise Cancelled

    def tell(self, progress: Progress) -> None:
        self.memory.sample()
        self.spare_memory.tidy()
        if self.on_progress is not None:
            self.on_progress(progress)

    @property
    def run_sessions(self) -> RunSessions:
        return RunSessions(self.sessions, self.active, self.checkpoint)


@dataclass(frozen=True)
class Passage:
    """What a passage did."""

    engine: EngineReport
    tally: FaceTally
    notes: tuple[str, ...]


def scale_of(plan: Plan) -> int:
    """How many times wider and higher the output is than the target."""
    parameters = [step.parameters for step in plan.steps]
    return next((each.scale for each in parameters if isinstance(each, UpscaleParameters)), 1)


def pass_frames(
    plan: Plan,
    casting: Casting,
    stream: StreamInfo,
    frames: Iterable[Frame],
    sink: Callable[[Frame], None],
    *,
    conduct: Conduct,
    in_flight_frames: int = 32,
    samples: Iterable[Frame] = (),
) -> Passage:
    """Send all frames through the plan's steps, in order. Raises the errors of faces, models and guards, and Cancelled.

    `samples` are frames from all over the video for a first look, which refuses early what would be refused late.
    """
    context = _prepare(plan, casting, stream, conduct)
    _look_ahead(plan, casting, context, conduct, samples)
    if not stream.is_still:
        give_back_spare_memory()
    works = _works(plan, stream, frames, conduct)
    on_cpu = conduct.run_sessions.computes_on_cpu
    stages = [build_stage(step, context, is_device=on_cpu) for step in plan.frame_steps]
    options = EngineOptions(
        max_in_flight=in_flight_frames,
        # While one group is looked at, another one is swapped and encoded.
        group=max(1, min(_LONGEST_GROUP, in_flight_frames // 2)),
        total=stream.frame_count,
    )
    with nullcontext() if stream.is_still else opencv_beside(len(stages) + 2):  # and those that read and write
        engine = run_stages(
            works, stages, lambda work: sink(work.frame), options=options, active=conduct.active,
            cancel=conduct.cancel, stopping=conduct.stopping, on_progress=conduct.tell,
        )  # fmt: skip
    notes = context.people.notes
    if context.tally.label_was_small:
        notes = (*notes, "The picture is too small for a visible label of the usual size; it is as large as it can be.")
    if plan.finds_faces:
        notes += _check_faces(casting, context, stream)
    return Passage(engine, context.tally, notes)


def _works(plan: Plan, stream: StreamInfo, frames: Iterable[Frame], conduct: Conduct) -> Iterable[FrameWork]:
    """Frames on their way into the steps, judged by the guard where pictures are made of them."""
    guarded = conduct.guard is not None and not plan.only_marks
    if stream.is_still or not (guarded or plan.finds_faces):
        works = (FrameWork(frame) for frame in frames)
    else:
        works = following(frames)
    if conduct.guard is None or not guarded:
        return works
    return conduct.guard.watch(works, conduct.target_name, conduct.run_sessions)


def budgeted_frames(plan: Plan, frame_bytes: int, budget_bytes: int) -> int:
    """How many frames may be under way when some of them are already enlarged."""
    return frames_in_flight(frame_bytes * scale_of(plan) ** 2, budget_bytes)


def _prepare(plan: Plan, casting: Casting, stream: StreamInfo, conduct: Conduct) -> StepContext:
    """Look at the source and reference pictures; this counts as device time."""
    sessions = conduct.run_sessions
    people, like = SourcePeople(()), None
    mapping: list[tuple[int, int | Float]] = []
    if plan.finds_faces:
        with conduct.active:
            tracker = FaceTracker(sessions)
            if plan.swaps:
                people = _sources(casting, tracker, sessions, conduct)
            for source, goal in casting.mapping:
                mapping.append((source, goal if isinstance(goal, int) else describe_reference(goal, tracker)))
            like = describe_reference(casting.like, tracker) if casting.like else None
    return StepContext(
        stream=stream,
        sessions=sessions,
        # Without a source the faces are only chosen, which a single imaginary source expresses.
        chooser=FaceChooser(max(1, len(casting.sources)), casting.rule, mapping, like),
        people=people,
        tally=FaceTally(),
        checkpoint=conduct.checkpoint,
        allow_no_face=casting.allow_no_face,
        watermark=conduct.watermark,
        max_faces=casting.max_faces or (MOST_FACES_OF_A_STILL if stream.is_still else MOST_FACES),
    )


def _sources(casting: Casting, tracker: FaceTracker, sessions: RunSessions, conduct: Conduct) -> SourcePeople:
    """The source people, judged in this run or an earlier one, by the rules of this one."""
    enlarge, guard = FaceRestorer(sessions, conduct.checkpoint).enlarge_source, conduct.guard
    if guard is None:
        return conduct.people.recall(casting.sources, lambda: build_sources(casting.sources, tracker, enlarge))

    def judge(number: int, picture: PersonPicture, identity: Float | None) -> SourceLook:
        return guard.look(number, picture, identity, sessions)

    def build() -> SourcePeople:
        return build_sources(casting.sources, tracker, enlarge, judge)

    people = conduct.people.recall(casting.sources, build)
    if guard.lacks(people.looks):
        people = build()
    guard.check(people.looks)
    return people


def _look_ahead(plan: Plan, casting: Casting, context: StepContext, conduct: Conduct, samples: Iterable[Frame]) -> None:
    if not plan.finds_faces or casting.allow_no_face:
        return
    first = iter(samples)
    frame = next(first, None)
    if frame is None:
        return
    with conduct.active, span("run.scout") as timing:
        seen = scout(chain([frame], first), context.chooser, context.sessions)
    log("run.scouted", "debug", frames=seen.frames, people=seen.people, elapsed_ms=round(timing.elapsed_ms))
    context.chooser.foresee(seen.gaps)


def _check_faces(casting: Casting, context: StepContext, stream: StreamInfo) -> tuple[str, ...]:
    """Raise for what the whole target did not hold; with allow_no_face, say it."""
    tally = context.tally
    crowd = _crowd_note(context)
    if not tally.people:
        where = "the picture" if stream.is_still else f"all {tally.frames_looked_at} frames"
        if not casting.allow_no_face:
            raise NoFaceInTarget(f"Faces were looked for in {where}.", frames=tally.frames_looked_at)
        return (f"No face was found in {where}; the pixels are unchanged but for the marks.",)
    try:
        context.chooser.finish()
    except (ReferenceFaceNotFound, MappingUnresolved, TooManySources) as lack:
        if not casting.allow_no_face:
            raise
        return (*crowd, str(lack))
    return crowd


def _crowd_note(context: StepContext) -> tuple[str, ...]:
    """That more faces were seen than followed, of which a caller who said `all` must hear."""
    more = context.tally.passed_over
    if more <= 0:
        return ()
    note = (
        f"{more} more face(s) were seen at once than the {context.max_faces} that are followed: raise --max-faces, or "
        "the plan's max_faces."
    )
    return (note,)
