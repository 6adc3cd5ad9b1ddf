"""Runs a request: files in, one marked file out, with every millisecond in a phase.

Decides the phases and what is left behind (nothing but a whole output). Must not know jobs, users or prices.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

from secondface.errors import Cancelled
from secondface.frames import RGB8, ArrayFrame, Sessions, StreamInfo
from secondface.observe import span
from secondface.pipeline.engine import CancelToken, Progress
from secondface.pipeline.guard import Guard
from secondface.pipeline.meter import PhaseClock
from secondface.pipeline.passage import Casting, Conduct, budgeted_frames, pass_frames, scale_of
from secondface.pipeline.people import PeopleMemory, Picture
from secondface.pipeline.preparation import Look, inspect_inputs, load_models, read_casting
from secondface.pipeline.report import RunReport
from secondface.pipeline.sealing import Seal, statement_of
from secondface.pipeline.spare_memory import give_back_spare_memory
from secondface.pipeline.targets import Target, open_target
from secondface.provenance.metadata import metadata_marks
from secondface.provenance.signing import ContentSigner
from secondface.spec.faces import FaceRule
from secondface.spec.graph import LabelSpec, PipelineSpec, Plan
from secondface.spec.marks import watermark_of, watermark_text
from secondface.spec.schemas import Restore, RunRequest, plan_for

__all__ = ["CancelToken", "Progress", "RunReport", "conduct_file", "run_file", "swap_arrays"]


def run_file(  # noqa: PLR0913 - each is something that one caller or another brings
    request: RunRequest,
    sessions: Sessions,
    on_progress: Callable[[Progress], None] | None = None,
    cancel: CancelToken | None = None,
    *,
    content_producer: str = "",
    signer: ContentSigner | None = None,
    people: PeopleMemory | None = None,
    produce_id: str | None = None,
    guard: Guard | None = None,
    clock: Callable[[], int] = time.perf_counter_ns,
) -> RunReport:
    """Swap as the request says and write the output, which appears only when it is whole and its marks were read back.

    Raises the errors of secondface.errors; Ctrl-C becomes Cancelled. `people` keeps source people from run to run,
    `guard` judges the pictures, `clock` gives monotonic nanoseconds.
    """
    conduct = Conduct(sessions, cancel, on_progress, people=people or PeopleMemory(), signer=signer, guard=guard)
    return conduct_file(
        request, conduct, PhaseClock(clock), content_producer=content_producer, produce_id=produce_id
    )  # fmt: skip


def conduct_file(
    request: RunRequest,
    conduct: Conduct,
    phases: PhaseClock,
    *,
    content_producer: str = "",
    produce_id: str | None = None,
    name_of: Callable[[Path], str] = str,
    room: Callable[[int], AbstractContextManager[object]] = nullcontext,
    known: Mapping[Path, Look] | None = None,
) -> RunReport:
    """The same for a caller who reads the clocks meanwhile, or after a failure, and goes on with them afterwards.

    `name_of` says how messages and notes call a picture of somebody; `room` is entered with the pixels of all inputs,
    a frame of each, before any is decoded; `known` are inputs that need no other look in a cage. Where the
    conduct has no signer, whoever called this signs the output afterwards, with the statement of the report.
    """
    plan = request.plan()
    marks = metadata_marks(produce_id or uuid.uuid4().hex, content_producer)
    try:
        # Inputs first: a file that cannot be read is said at once, before models are loaded for it.
        phases.enter("fetch")
        looks = inspect_inputs(request, conduct, known)
        with room(sum(look.width * look.height for look in looks.values())), open_target(request) as target:
            casting = read_casting(request, conduct, name_of)
            phases.enter("load")
            load_models(plan, conduct)
            phases.enter("run")
            seal = Seal(marks, statement_of(request, plan, marks.label.produce_id), conduct.signer)
            seal.notes.extend(looks[request.target].notes)
            conduct.target_name = name_of(request.target)
            return _run(request, plan, casting, target, seal=seal, conduct=conduct, phases=phases)
    except KeyboardInterrupt as interrupt:
        raise Cancelled from interrupt


def _run(
    request: RunRequest,
    plan: Plan,
    casting: Casting,
    target: Target,
    *,
    seal: Seal,
    conduct: Conduct,
    phases: PhaseClock,
) -> RunReport:
    output = target.output(request, seal, scale_of(plan))
    watermark = watermark_of(seal.said.produce_id)
    try:
        in_flight = budgeted_frames(plan, target.frame_bytes, request.limits.in_flight_bytes)
        passage = pass_frames(
            plan,
            casting,
            target.stream,
            target.frames(),
            output.write,
            conduct=replace(conduct, watermark=watermark),
            in_flight_frames=in_flight,
            samples=target.samples(conduct.checkpoint),
        )
        phases.enter("store")
        if not target.stream.is_still:
            give_back_spare_memory()
        with span("run.store"):
            streams = output.store()
    except BaseException:
        output.discard()
        raise
    spent = phases.spent()
    width, height = output.size
    tally = passage.tally
    return RunReport(
        output=request.output,
        kind="still" if target.stream.is_still else "video",
        width=width,
        height=height,
        frames=passage.engine.items,
        faces=len(tally.people),
        faces_swapped=tally.faces_swapped,
        swapped_frames=tally.swapped_frames,
        unswapped=tuple(tally.gaps),
        phases_ms=spent,
        wall_ms=phases.wall_ms,
        device_active_ms=conduct.active.busy_ms,
        stages=passage.engine.stages,
        peak_rss_bytes=conduct.memory.bytes(),
        streams=streams,
        notes=tuple(dict.fromkeys((*seal.notes, *target.notes, *passage.notes, *output.notes))),
        produce_id=seal.said.produce_id,
        statement=seal.said,
        label_waiver=plan.label_waiver,
        findings=conduct.guard.findings if conduct.guard is not None else (),
        watermark=watermark_text(watermark),
        watermark_held=seal.holds_watermark,
    )


def swap_arrays(  # noqa: PLR0913 - each is one option of `secondface run`
    source_rgb: RGB8 | Sequence[RGB8],
    target_rgb: RGB8,
    sessions: Sessions,
    *,
    same_person: bool = False,
    faces: str = "auto",
    restore: Restore = "auto",
    pipeline: PipelineSpec | None = None,
    label: LabelSpec | None = None,
    allow_no_face: bool = False,
    guard: Guard | None = None,
    produce_id: str | None = None,
) -> RGB8:
    """Put source faces onto the faces of a picture [h,w,3]; the result carries the label, unless waived, and watermark.

    Several sources are several people unless `same_person`. Metadata belongs to files: save with `run_file` to have it.
    `produce_id` is what the watermark holds the beginning of; without it a new one is made.
    """
    pictures = [source_rgb] if not isinstance(source_rgb, Sequence) else source_rgb
    named = [Picture(f"source {number}", rgb) for number, rgb in enumerate(pictures)]
    people = [named] if same_person else [[picture] for picture in named]
    plan = plan_for(pipeline, restore, label, len(people))
    casting = Casting(people, FaceRule.parse(faces).for_sources(len(people)), allow_no_face=allow_no_face)
    stream = StreamInfo(target_rgb.shape[1], target_rgb.shape[0], 1, is_still=True)
    results: list[RGB8] = []
    pass_frames(
        plan, casting, stream, [ArrayFrame(target_rgb.copy())], lambda frame: results.append(frame.read()),
        conduct=Conduct(sessions, guard=guard, watermark=watermark_of(produce_id or uuid.uuid4().hex)),
    )  # fmt: skip
    return results[0]
