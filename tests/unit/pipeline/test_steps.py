"""The catalogue and the implementations are two lists that must be equal, and the small steps do what they say."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from secondface.frames import ArrayFrame, Face, FrameWork, StreamInfo
from secondface.models.sessions import OrtSessions
from secondface.observe import BusyClock
from secondface.pipeline.device import RunSessions
from secondface.pipeline.people import SourcePeople
from secondface.pipeline.steps import StepContext, build_stage
from secondface.pipeline.tally import FaceTally
from secondface.spec.catalog import STEP_KINDS, StepKind
from secondface.spec.graph import PlannedStep
from secondface.vision.choose import FaceChooser

FRAME_KINDS = [kind for kind in STEP_KINDS.values() if kind.name != "metadata"]


@pytest.fixture(scope="module")
def context() -> StepContext:
    sessions = RunSessions(OrtSessions("cpu"), BusyClock(), lambda: None)
    return StepContext(
        stream=StreamInfo(64, 48, 1, is_still=True),
        sessions=sessions,
        chooser=FaceChooser(1),
        people=SourcePeople(()),
        tally=FaceTally(),
        checkpoint=lambda: None,
    )


def step(kind: StepKind, **parameters: object) -> PlannedStep:
    return PlannedStep(kind, kind.parameters.model_validate(parameters))


def grey() -> FrameWork:
    return FrameWork(ArrayFrame(np.full((48, 64, 3), 90, np.uint8), 3, 7, Fraction(1, 25)))


@pytest.mark.parametrize("kind", FRAME_KINDS, ids=lambda kind: kind.name)
def test_every_kind_has_an_implementation_that_keeps_the_frame_count(kind: StepKind, context: StepContext) -> None:
    stage = build_stage(step(kind), context)
    assert stage.name == kind.name
    assert stage.compute == kind.compute
    assert not build_stage(step(kind), context, is_device=False).compute
    assert len(list(stage.work([grey(), grey()]))) == 2


def test_upscale_moves_faces_and_keeps_the_time(context: StepContext) -> None:
    work = grey()
    work.faces.append(Face(np.ones((478, 3), np.float32), 0.9, track_id=5, source=1))
    (larger,) = build_stage(step(STEP_KINDS["upscale"], scale=2), context).work([work])
    assert (larger.frame.width, larger.frame.height) == (128, 96)
    assert (larger.frame.index, larger.frame.pts, larger.frame.time_base) == (3, 7, Fraction(1, 25))
    face = larger.faces[0]
    assert (face.points == 2).all()
    assert (face.track_id, face.source) == (5, 1)


def test_the_label_changes_only_a_corner(context: StepContext) -> None:
    work = FrameWork(ArrayFrame(np.full((360, 640, 3), 90, np.uint8)))
    (labelled,) = build_stage(step(STEP_KINDS["label"]), context).work([work])
    changed = (labelled.frame.read() != 90).any(axis=2)
    rows, columns = np.nonzero(changed)
    assert changed.any()
    assert rows.min() > 180
    assert columns.min() > 320


@pytest.mark.parametrize(("size", "small"), [((360, 640), False), ((24, 32), True)])
def test_a_label_without_room_is_counted(context: StepContext, size: tuple[int, int], small: bool) -> None:
    own = replace(context, tally=FaceTally())
    list(build_stage(step(STEP_KINDS["label"]), own).work([FrameWork(ArrayFrame(np.full((*size, 3), 90, np.uint8)))]))
    assert own.tally.label_was_small == small


def test_colour_follows_its_parameters(context: StepContext) -> None:
    stage = build_stage(step(STEP_KINDS["colour"], exposure=1.0), context)
    (brighter,) = stage.work([grey()])
    assert brighter.frame.read().mean() > 100
