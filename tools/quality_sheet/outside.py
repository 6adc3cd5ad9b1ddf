"""Figures of a swap, taken by the report that lives outside this repository; it shares no code with the package.

Adds what the report leaves to its reader: one person among several, frames that cannot be judged, exact pixels.
"""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Container, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

import av
import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]
Mesh = npt.NDArray[np.float32]
Points = npt.NDArray[np.float32]
Descriptor = npt.NDArray[np.float32]
Row = dict[str, Any]
Numbered = tuple[int, Pixels]

_THREADS = 2
_STEADY = (33, 263, 1, 61, 291)
"""The points by which the report judges shaking."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A frame and the faces on it."""

    rgb: Pixels
    meshes: list[Mesh]

    def nearest(self, mesh: Mesh) -> Mesh | None:
        """The face whose nose is nearest to that of `mesh`."""
        return min(self.meshes, key=lambda other: _apart(other, mesh), default=None)

    def around(self, mesh: Mesh, margin: float = 0.5) -> Shown:
        """The surroundings of a face, the nearest mesh first: to measure on whole frames costs seconds."""
        low, high = mesh[:468, :2].min(0), mesh[:468, :2].max(0)
        reach = margin * (high - low) + 2
        x, y = (int(edge) for edge in np.maximum(0, low - reach))
        right, bottom = (int(edge) for edge in high + reach)
        meshes = sorted(self.meshes, key=lambda other: _apart(other, mesh))
        shift = np.array([x, y, 0], np.float32)
        return Shown(np.ascontiguousarray(self.rgb[y:bottom, x:right]), [each - shift for each in meshes])


def _apart(one: Mesh, other: Mesh) -> float:
    return float(np.abs(one[1, :2] - other[1, :2]).sum())


@dataclass(frozen=True, slots=True)
class FrameRow:
    """One frame of one person."""

    index: int
    mesh: Mesh
    """Of the face in the target."""
    yaw: float
    """Of the face in the target, -1..1."""
    points: tuple[Points, Points]
    """Eye corners, nose tip and mouth corners [5,2] of target and output."""
    tones: tuple[Points, Points]
    """Mean Lab colour [3] of the face in target and output."""
    figures: Row | None
    """As the report gives them; None where it was not asked."""
    to_other_sources: tuple[float, ...]
    """Distances from the output to the sources that are meant for others."""

    @property
    def width_px(self) -> float:
        return float(np.ptp(self.mesh[:468, 0]))

    @property
    def is_swapped(self) -> bool:
        """Nearer to its source than to the person who was there, and than to any source that is meant for others."""
        asked = self._asked()
        return self.has_right_source and asked["id_output_source"] < asked["id_output_target"]

    @property
    def has_right_source(self) -> bool:
        """Nearer to its source than to any source that is meant for others."""
        return all(self._asked()["id_output_source"] < other for other in self.to_other_sources)

    def _asked(self) -> Row:
        if self.figures is None:
            raise ValueError(f"frame {self.index} was not asked about")
        return self.figures


@dataclass(slots=True)
class PersonRows:
    """One person through a clip."""

    rows: list[FrameRow] = field(default_factory=list[FrameRow])
    lost: list[int] = field(default_factory=list[int])
    """Frames in which the target shows the person and the output does not."""

    @property
    def asked(self) -> list[FrameRow]:
        """The rows with all figures of the report."""
        return [row for row in self.rows if row.figures is not None]

    def median(self, figure: str) -> float:
        return float(np.median([row.figures[figure] for row in self.rows if row.figures is not None]))

    def jitter_ratio(self) -> float:
        """The report's own figure: how much points shake from frame to frame, beside the target's."""
        return _ratio([row.points for row in self.rows], 2)

    def flicker_ratio(self) -> float:
        """The same for the tone of the face."""
        return _ratio([row.tones for row in self.rows], 1)


def _ratio(pairs: Sequence[tuple[Points, Points]], order: int) -> float:
    """Mean change of the output beside that of the target; second differences leave smooth motion out."""
    before, after = (float(np.abs(np.diff(np.array(side), order, axis=0)).mean()) for side in zip(*pairs, strict=True))
    return after / max(before, 1e-6)


class OutsideView:
    """The report's eyes and measures. `shared` is the folder that holds tools/swap_report.py."""

    def __init__(self, shared: Path) -> None:
        self._report = _load_report(shared / "tools" / "swap_report.py")
        self._eyes = self._report.Eyes()

    def picture(self, path: Path) -> Pixels:
        rgb = self._report.picture(str(path))
        if rgb is None:
            raise ValueError(f"{path} is not a picture")
        return rgb

    def faces(self, rgb: Pixels) -> list[Mesh]:
        """Meshes [478,3], the largest first."""
        return self._eyes.faces(rgb)

    def identity(self, rgb: Pixels) -> Descriptor:
        """Descriptor of the largest face."""
        return self._eyes.identity(rgb, self.faces(rgb)[0])

    def still(self, source_id: Descriptor, target: Pixels, output: Pixels) -> Row:
        """The report's figures of a pair of pictures, for the largest face."""
        return self._report.still(self._eyes, source_id, target, output)

    def near_faces(self, rgb: Pixels) -> npt.NDArray[np.bool_]:
        """[h,w] the pixels that a swap may change, as the report sees them: each face and a rim around it."""
        near = np.zeros(rgb.shape[:2], bool)
        for mesh in self.faces(rgb):
            near |= self._report.hull(mesh, rgb.shape, 0.15) > 0
        return near

    def clip(self, source_ids: Sequence[Descriptor], target: Path, output: Path, ask_every: int) -> list[PersonRows]:
        """Each person of a clip, `source_ids` from left to right; a single one is the largest face of each frame.

        Points and tones are taken from every frame; the report is asked about every `ask_every`-th.
        """
        people = [PersonRows() for _ in source_ids]
        frames = zip(pixels(target), pixels(output), strict=False)

        def look(frame: tuple[Numbered, Numbered]) -> list[FrameRow | int]:
            return self._look(*frame, source_ids, asked=frame[0][0] % ask_every == 0)

        with ThreadPoolExecutor(_THREADS) as pool:
            while batch := list(islice(frames, 4 * _THREADS)):
                for rows in pool.map(look, batch):
                    for person, row in zip(people, rows, strict=False):
                        (person.lost if isinstance(row, int) else person.rows).append(row)  # type: ignore[arg-type]
        return people

    def _look(
        self, before: Numbered, after: Numbered, source_ids: Sequence[Descriptor], *, asked: bool
    ) -> list[FrameRow | int]:
        """One row for each person, or the frame's number where the output lost a face; empty if the target has none."""
        shown = Shown(before[1], self.faces(before[1])), Shown(after[1], self.faces(after[1]))
        meshes = sorted(shown[0].meshes[: len(source_ids)], key=lambda mesh: float(mesh[1, 0]))
        if len(meshes) < len(source_ids):
            return []
        return [
            self._row(before[0], place, mesh, *shown, source_ids if asked else ()) for place, mesh in enumerate(meshes)
        ]

    def _row(
        self, index: int, place: int, mesh: Mesh, before: Shown, after: Shown, source_ids: Sequence[Descriptor]
    ) -> FrameRow | int:
        there = after.nearest(mesh)
        if there is None:
            return index
        figures, others = None, list[float]()
        if source_ids:
            views = before.around(mesh), after.around(mesh)
            figures = self._report.still(_Found(self._eyes.identity, views), source_ids[place], *(v.rgb for v in views))
            others = [self._distance(views[1], other) for k, other in enumerate(source_ids) if k != place]
        points = mesh[_STEADY, :2], there[_STEADY, :2]
        tones = self._tone(before.rgb, mesh), self._tone(after.rgb, there)
        yaw = float(self._report.ratios(mesh)["yaw"])
        return FrameRow(index, mesh, yaw, points, tones, figures, tuple(others))

    def _distance(self, shown: Shown, source_id: Descriptor) -> float:
        return float(np.linalg.norm(self._eyes.identity(shown.rgb, shown.meshes[0]) - source_id))

    def _tone(self, rgb: Pixels, mesh: Mesh) -> Points:
        view = Shown(rgb, [mesh]).around(mesh, 0.02)
        return self._report.tone(view.rgb, view.meshes[0])


@dataclass(frozen=True, slots=True)
class _Found:
    """In the place of the report's eyes, with faces that were found before."""

    identity: Any
    views: tuple[Shown, ...]

    def faces(self, rgb: Pixels) -> list[Mesh]:
        return next(view.meshes for view in self.views if view.rgb is rgb)


def pixels(path: Path, wanted: Container[int] | None = None) -> Iterator[Numbered]:
    """Frames of a clip as RGB with their numbers; all, or the wanted ones."""
    with av.open(str(path)) as container:
        for index, frame in enumerate(container.decode(video=0)):
            if wanted is None or index in wanted:
                yield index, np.asarray(frame.to_ndarray(format="rgb24"), np.uint8)


def times(path: Path) -> list[Fraction]:
    """When each frame of a clip is shown, in seconds."""
    with av.open(str(path)) as container:
        return [(frame.pts or 0) * (frame.time_base or Fraction(1)) for frame in container.decode(video=0)]


def sound(path: Path) -> list[bytes]:
    """The packets of all audio streams of a clip."""
    with av.open(str(path)) as container:
        streams = container.streams.audio
        return [bytes(packet) for packet in container.demux(*streams) if packet.size] if streams else []


def _load_report(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("swap_report", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # it leaves a file for the interpreter to close
        spec.loader.exec_module(module)
    return module
