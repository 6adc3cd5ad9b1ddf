"""Figures with their bounds: what is measured of a pair or a clip, and whether it holds.

Decides what each figure has to be; must not know how it is shown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np

from secondface.frames import ArrayFrame, Sessions
from secondface.media.images import read_still
from secondface.pipeline.run import run_file
from secondface.spec.schemas import RunRequest
from secondface.vision.label import LabelPainter
from secondface.vision.track import FaceTracker
from tools.quality_sheet.cases import (
    CLIP_BOUNDS,
    LEAST_SWAPPED_SHARE,
    MEDIAN_IDENTITY,
    PAIR_BOUNDS,
    PROFILE_YAW,
    SMALLEST_JUDGED_PX,
)
from tools.quality_sheet.outside import Descriptor, OutsideView, PersonRows, sound, times

_PRODUCE_ID = "c4ca4238a0b923820dcc509a6f75849b"
"""The same watermark in each measure of a pair: figures are compared from day to day."""
_WATERMARK_LEVELS = 2
"""So far the invisible watermark may move a pixel anywhere."""

PERSON_FIGURES = ("id_output_source", "id_output_target", *PAIR_BOUNDS)


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure; `holds` is None where there is nothing to hold it against."""

    name: str
    value: str
    bound: str = ""
    holds: bool | None = None


@dataclass(frozen=True, slots=True)
class PairMeasure:
    """A pair of pictures: the report's figures, and how many pixels changed that had no business to."""

    figures: dict[str, float]
    stray_pixels: int

    def rows(self, *, judged: bool) -> list[Figure]:
        own = self.figures
        if "id_output_source" not in own:
            return [Figure("face in output", "none", "1", False)]
        nearer = own["id_output_source"] < own["id_output_target"]
        rows = [
            Figure("id_output_source", f"{own['id_output_source']:.3f}", f"< {own['id_output_target']:.3f}", nearer)
        ]
        rows += [_at_most(name, own[name], bound) for name, bound in PAIR_BOUNDS.items()]
        rows += [
            Figure("stray pixels", str(self.stray_pixels), "0", self.stray_pixels == 0),
            Figure("face_px", str(int(own["face_px"]))),
        ]
        return rows if judged else [Figure(row.name, row.value, row.bound) for row in rows]


@dataclass(frozen=True, slots=True)
class ClipMeasure:
    """A clip before and after, and each of its people."""

    times_before: list[Fraction]
    times_after: list[Fraction]
    sound_before: list[bytes]
    sound_after: list[bytes]
    people: list[PersonRows]

    def rows(self) -> list[Figure]:
        """What holds for the clip as a whole."""
        before, after = len(self.times_before), len(self.times_after)
        return [
            Figure("frames", str(after), str(before), after == before),
            _same("times", self.times_before, self.times_after),
            _same("sound", self.sound_before, self.sound_after),
        ]

    def person_rows(self, place: int) -> list[Figure]:
        """What holds for one of its people."""
        person = self.people[place]
        rows = [swapped_share(person)]
        rows += [_at_most(name, value, CLIP_BOUNDS[name]) for name, value in steadiness(person).items()]
        medians = [Figure(name, f"{person.median(name):.3f}") for name in PERSON_FIGURES]
        seen = Figure("lost faces", str(len(person.lost)), "0", not person.lost)
        return [seen, *rows, *medians, Figure("frames with a face", str(len(person.rows)))]


def measure_pair(view: OutsideView, sessions: Sessions, source: Path, target: Path, output: Path) -> PairMeasure:
    """Swap a pair of pictures into `output` and measure it from outside."""
    run_file(RunRequest.of_files([source], target, output), sessions, produce_id=_PRODUCE_ID)
    figures = view.still(view.identity(view.picture(source)), view.picture(target), view.picture(output))
    named = {name: float(value) for name, value in figures.items() if not name.startswith("_")}
    return PairMeasure(named, stray_pixels(view, sessions, target, output))


def stray_pixels(view: OutsideView, sessions: Sessions, target: Path, output: Path) -> int:
    """How many pixels away from all faces differ by more than the watermark from the target with the label on it."""
    before = read_still(target).frame.rgb
    labelled = ArrayFrame(before.copy())
    LabelPainter().paint(labelled, FaceTracker(sessions).still(labelled))
    changed = (cv2.absdiff(read_still(output).frame.rgb, labelled.rgb) > _WATERMARK_LEVELS).any(axis=2)
    return int(np.count_nonzero(changed & ~view.near_faces(before)))


def measure_clip(
    view: OutsideView, sessions: Sessions, name: str, sources: Sequence[Path], target: Path, output: Path, *,
    ask_every: int,
) -> ClipMeasure:  # fmt: skip
    """Swap a clip into `output`, sources to people from left to right, and measure it from outside.

    The watermark follows from the run's name: the same each day, and no run is measured with another one's luck.
    """
    produce_id = hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()
    run_file(RunRequest.of_files(sources, target, output), sessions, produce_id=produce_id)
    described: list[Descriptor] = [view.identity(view.picture(source)) for source in sources]
    return ClipMeasure(
        times(target), times(output), sound(target), sound(output), view.clip(described, target, output, ask_every)
    )


def swapped_share(person: PersonRows) -> Figure:
    """The share of frames with the right new face, where the face is large enough and not in profile."""
    judged = [row for row in person.asked if row.width_px >= SMALLEST_JUDGED_PX and abs(row.yaw) < PROFILE_YAW]
    if not judged:
        return Figure("swapped_share", "no face is large enough")
    share = float(np.mean([row.is_swapped for row in judged]))
    bound = f">= {LEAST_SWAPPED_SHARE} of {len(judged)}"
    return Figure("swapped_share", f"{share:.3f}", bound, share >= LEAST_SWAPPED_SHARE)


def steadiness(person: PersonRows) -> dict[str, float]:
    """Shaking and flickering beside the target's."""
    return {"jitter_ratio": person.jitter_ratio(), "flicker_ratio": person.flicker_ratio()}


def median_identity(pairs: Sequence[PairMeasure]) -> Figure:
    """The median distance between output and source over pairs."""
    median = float(np.median([pair.figures["id_output_source"] for pair in pairs]))
    return _at_most("median id_output_source", median, MEDIAN_IDENTITY)


def _at_most(name: str, value: float, bound: float) -> Figure:
    return Figure(name, f"{value:.3f}", f"<= {bound:g}", value <= bound)


def _same(name: str, before: Sequence[object], after: Sequence[object]) -> Figure:
    return Figure(name, "same" if before == after else "changed", "same", before == after)
