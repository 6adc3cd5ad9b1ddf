"""Step name -> implementation: thin adapters from the catalogue's kinds to functions of `vision`.

Decides which step may run in several threads and which needs fixed groups of frames; must not know files or requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

import numpy as np

from secondface import processors
from secondface.errors import InternalFault
from secondface.frames import RGB8, ArrayFrame, Box, Face, FrameBatch, FrameWork, StreamInfo
from secondface.media.planes import PlanarFrame, planes_from_rgb
from secondface.media.still_frames import DeepFrame, StillFrame
from secondface.pipeline.device import Checkpoint, RunSessions
from secondface.pipeline.engine import Stage
from secondface.pipeline.people import SourcePeople
from secondface.pipeline.plugins import plugin_change
from secondface.pipeline.tally import FaceTally
from secondface.pipeline.watermarking import mark_frame
from secondface.spec.catalog import (
    AnalyseParameters,
    ColourParameters,
    DenoiseParameters,
    FaceRestoreParameters,
    FaceSwapParameters,
    LabelParameters,
    UpscaleParameters,
    WatermarkParameters,
)
from secondface.spec.graph import PlannedStep
from secondface.vision.choose import FaceChooser
from secondface.vision.colour import ColourCorrector, ColourLook
from secondface.vision.label import LabelPainter
from secondface.vision.mesh_swap import MeshSwapper, SwapOptions
from secondface.vision.restore import FaceRestorer
from secondface.vision.track import FaceTracker
from secondface.vision.watermark import STILL, VIDEO, Watermark

Change = Callable[[FrameWork], FrameWork | None]
_MODEL_WORKERS = 4
_SEARCHES_PER_SECOND = 4
MOST_FACES, MOST_FACES_OF_A_STILL = 16, 64
"""Faces followed at once where the request does not say; each costs a mesh a frame."""


@dataclass(frozen=True)
class StepContext:
    """What the steps of one run share."""

    stream: StreamInfo
    sessions: RunSessions
    chooser: FaceChooser
    people: SourcePeople
    tally: FaceTally
    checkpoint: Checkpoint
    max_faces: int = MOST_FACES
    watermark: int = 0
    """The 64 bits that the invisible watermark holds."""
    allow_no_face: bool = False


def build_stage(step: PlannedStep, context: StepContext, *, is_device: bool = True) -> Stage[FrameWork]:
    """The stage that does a planned step on this stream; `is_device` where its own time is device time."""
    return replace(_stage_of(step, context), compute=is_device and step.kind.compute)


def _stage_of(step: PlannedStep, context: StepContext) -> Stage[FrameWork]:  # noqa: PLR0911 - one arm for each kind
    match step.parameters:
        case AnalyseParameters():
            return Stage(step.name, _analyse(context), grouped=True)
        case DenoiseParameters(level=level):
            restorer = FaceRestorer(context.sessions, context.checkpoint)
            return _side_by_side(step, lambda work: _whole(work, restorer.denoise(work.frame.read(), level)))
        case FaceRestoreParameters() as parameters:
            return _side_by_side(step, _restore(parameters, context))
        case FaceSwapParameters() as parameters:
            return Stage(step.name, _swap(parameters, context))
        case ColourParameters() as parameters:
            return _in_turn(step, _colour(parameters))
        case UpscaleParameters(scale=scale):
            restorer = FaceRestorer(context.sessions, context.checkpoint)
            return _side_by_side(step, lambda work: enlarged(work, restorer, scale))
        case LabelParameters(languages=languages, position=position):
            painter = LabelPainter(languages, position)
            return Stage(step.name, lambda batch: _label(painter, batch, context.tally), grouped=True)
        case WatermarkParameters():
            unseen = Watermark(context.watermark, STILL if context.stream.is_still else VIDEO)
            return _in_turn(step, lambda work: mark_frame(work.frame, unseen))
        case _:
            change = plugin_change(step, context.stream, context.sessions)
            if change is not None:
                return _in_turn(step, change)
            raise InternalFault(f"There is no implementation of the step `{step.name}`.", step=step.name)


def _in_turn(step: PlannedStep, change: Change) -> Stage[FrameWork]:
    """A stage that remembers earlier frames, or is too quick to share."""
    return Stage(step.name, lambda batch: _each(batch, change))


def _side_by_side(step: PlannedStep, change: Change) -> Stage[FrameWork]:
    """A stage without memory whose model calls take longer than all other stages."""
    workers = min(_MODEL_WORKERS, processors.usable())
    return Stage(step.name, lambda batch: _each(batch, change), max_batch=1, workers=workers)


def _each(batch: FrameBatch, change: Change) -> Iterator[FrameWork]:
    """Change frame by frame. The batch gives its frames up as they go, so that they can be freed behind the sink."""
    batch.reverse()
    while batch:
        work = batch.pop()
        yield change(work) or work
        del work


def _analyse(context: StepContext) -> Callable[[FrameBatch], Iterable[FrameWork]]:
    """Find and follow faces in a group of frames, then choose over the whole group."""

    stream, rate = context.stream, context.stream.average_rate
    detect_every = min(30, max(2, round(rate / _SEARCHES_PER_SECOND))) if rate else 6
    tracker = FaceTracker(context.sessions, context.max_faces, detect_every)

    def analyse(batch: FrameBatch) -> Iterable[FrameWork]:
        if stream.is_still:
            found = [(tracker.still(work.frame), 0) for work in batch]
        else:
            found = tracker.track_batch([work.frame for work in batch], [work.change for work in batch])
        for work, (work.faces, work.scene) in zip(batch, found, strict=True):
            context.tally.saw(work)
        context.tally.passed_over = tracker.passed_over
        context.chooser.choose_batch([work.faces for work in batch])
        if stream.is_still and not context.allow_no_face:
            # All is known of a picture: what is missing is said before anything is swapped or restored.
            context.chooser.finish()
        return batch

    return analyse


def _swap(parameters: FaceSwapParameters, context: StepContext) -> Callable[[FrameBatch], Iterator[FrameWork]]:
    """Swap frame by frame; while one frame's pixels are made, the next frame's geometry and light are."""
    defaults = SwapOptions()
    shape = defaults.shape if parameters.shape is None else parameters.shape
    swapper = MeshSwapper(context.people.people, SwapOptions(shape=shape, occlusion=parameters.occlusion))

    def begin(work: FrameWork, pool: ThreadPoolExecutor) -> list[Future[Box]]:
        blending: list[Future[Box]] = []
        # The nearest face is drawn last, as it hides the others.
        for face in sorted(_chosen(work), key=lambda face: face.size_px):
            wait(blending)  # faces of one frame may overlap
            prepared = swapper.prepare(work.frame, face, work.scene)
            if prepared is not None:
                blending.append(pool.submit(swapper.blend, prepared))
        return blending

    def finish(work: FrameWork, blending: list[Future[Box]]) -> FrameWork:
        context.tally.swapped(work.frame.index, len([future.result() for future in blending]))
        return work

    def swap(batch: FrameBatch) -> Iterator[FrameWork]:
        batch.reverse()
        under_way: tuple[FrameWork, list[Future[Box]]] | None = None
        with ThreadPoolExecutor(1, "blend") as pool:
            while batch:
                work = batch.pop()
                started = begin(work, pool)
                if under_way is not None:
                    yield finish(*under_way)
                under_way = (work, started)
                del work
            if under_way is not None:
                yield finish(*under_way)

    return swap


def _restore(parameters: FaceRestoreParameters, context: StepContext) -> Change:
    restorer = FaceRestorer(context.sessions, context.checkpoint)
    # Four frames' time for each tile: in video it is spent only where the caller asks for it.
    idle = parameters.strength == "auto" and parameters.denoise == "none" and not context.stream.is_still
    strength = parameters.strength if context.stream.is_still or parameters.strength != "auto" else 0.0

    def restore(work: FrameWork) -> None:
        if not idle:
            for face in _chosen(work):
                restorer.restore_face(work.frame, face, strength, parameters.denoise)

    return restore


def _colour(parameters: ColourParameters) -> Change:
    look = ColourLook(
        parameters.exposure, parameters.temperature, parameters.tint, parameters.contrast, parameters.saturation
    )
    corrector = ColourCorrector(look, auto=parameters.auto)

    def correct(work: FrameWork) -> None:
        corrector.correct(work.frame, work.scene)

    return correct


def _label(painter: LabelPainter, batch: FrameBatch, tally: FaceTally) -> FrameBatch:
    for work, box in zip(batch, painter.paint_batch(batch), strict=True):
        if isinstance(work.frame, StillFrame | DeepFrame):
            # a label on a transparent ground would be seen by nobody
            work.frame.show(box)
    if painter.placement is not None and not painter.placement.fits:
        tally.label_was_small = True
    return batch


def enlarged(work: FrameWork, restorer: FaceRestorer, scale: int) -> FrameWork:
    """The frame `scale` times larger, in the same kind of planes, and its faces with it."""
    old = work.frame
    rgb = restorer.upscale(old.read(), 4 if scale == 4 else 2)
    if isinstance(old, StillFrame | DeepFrame):
        new = old.enlarged(rgb)
    elif isinstance(old, PlanarFrame):
        planes = planes_from_rgb(rgb, old.layout, old.space)
        new = PlanarFrame(
            planes, old.layout, old.space,
            index=old.index, pts=old.pts, time_base=old.time_base, duration=old.duration,
        )  # fmt: skip
    else:
        new = ArrayFrame(rgb, old.index, old.pts, old.time_base)
    faces = [
        Face((face.points * np.float32(scale)), face.score, face.track_id, face.identity, face.source)
        for face in work.faces
    ]
    return FrameWork(new, faces, work.scene)


def _chosen(work: FrameWork) -> list[Face]:
    return [face for face in work.faces if face.source is not None]


def _whole(work: FrameWork, rgb: RGB8) -> None:
    work.frame.write(Box(0, 0, work.frame.width, work.frame.height), rgb)
