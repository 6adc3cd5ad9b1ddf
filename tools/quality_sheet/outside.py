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
Descriptor = npt.NDArray[np.float32]
Row = dict[str, Any]
Numbered = tuple[int, Pixels]

_THREADS = 2


@dataclass(frozen=True, slots=True)
class Shown:
    """A frame and the faces on it."""

    rgb: Pixels
    meshes: list[Mesh]


@dataclass(frozen=True, slots=True)
class FrameRow:
    """One frame of one person."""

    index: int
    figures: Row
    """As the report gives them."""
    mesh: Mesh
    """Of the face in the target."""
    yaw: float
    """Of the face in the target, -1..1."""
    to_other_sources: tuple[float, ...]
    """Distances from the output to the sources that are meant for others."""

    @property
    def is_swapped(self) -> bool:
        """Nearer to its source than to the person who was there, and than to any source that is meant for others."""
        if not self.figures["face_in_output"]:
            return False
        to_source = self.figures["id_output_source"]
        return to_source < min((self.figures["id_output_target"], *self.to_other_sources))


@dataclass(slots=True)
class PersonRows:
    """One person through a clip."""

    source_id: Descriptor
    rows: list[FrameRow] = field(default_factory=list[FrameRow])

    def both(self) -> list[Row]:
        return [row.figures for row in self.rows if row.figures["face_in_output"]]

    def median(self, figure: str) -> float:
        return float(np.median([row[figure] for row in self.both()]))

    def jitter_ratio(self) -> float:
        """The report's own figure: how much points shake from frame to frame, beside the target's."""
        return self._change("_points", 2)

    def flicker_ratio(self) -> float:
        """The same for the tone of the face."""
        return self._change("_tone", 1)

    def judged(self, smallest_px: float, most_yaw: float) -> list[FrameRow]:
        """Frames in which the target's face is large enough and not in profile."""
        return [row for row in self.rows if float(np.ptp(row.mesh[:468, 0])) >= smallest_px and abs(row.yaw) < most_yaw]

    def _change(self, key: str, order: int) -> float:
        """Over frames that follow each other: rows may be samples of a clip."""
        rows = [row for row in self.rows if row.figures["face_in_output"]]
        index = np.array([row.index for row in rows])
        follow = index[order:] - index[:-order] == order

        def mean(end: str) -> float:
            steps = np.diff(np.array([row.figures[key + end] for row in rows]), order, axis=0)
            return float(np.abs(steps[follow]).mean())

        return mean("_o") / max(mean("_t"), 1e-6)


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

    def clip(
        self, source_ids: Sequence[Descriptor], target: Path, output: Path, wanted: Container[int]
    ) -> list[PersonRows]:
        """Each person of a clip, `source_ids` from left to right; a single one is the largest face of each frame."""
        people = [PersonRows(source_id) for source_id in source_ids]
        frames = zip(pixels(target, wanted), pixels(output, wanted), strict=False)
        with ThreadPoolExecutor(_THREADS) as pool:
            while batch := list(islice(frames, _THREADS * 4)):
                for rows in pool.map(lambda both: self._rows(people, *both), batch):
                    for person, row in zip(people, rows, strict=False):
                        person.rows.append(row)
        return people

    def _rows(self, people: Sequence[PersonRows], before: Numbered, after: Numbered) -> list[FrameRow]:
        """One row for each person; none where somebody is not seen."""
        shown = Shown(before[1], self.faces(before[1])), Shown(after[1], self.faces(after[1]))
        meshes = sorted(shown[0].meshes[: len(people)], key=lambda mesh: float(mesh[1, 0]))
        if len(meshes) < len(people):
            return []
        sources = [person.source_id for person in people]
        return [self._row(before[0], sources, place, mesh, *shown) for place, mesh in enumerate(meshes)]

    def _row(
        self, index: int, sources: Sequence[Descriptor], place: int, mesh: Mesh, before: Shown, after: Shown
    ) -> FrameRow:
        """The report's figures of one face. It sees no more than the face's surroundings: whole frames cost seconds."""
        low, high = mesh[:, :2].min(0), mesh[:, :2].max(0)
        x, y = (int(edge) for edge in np.maximum(0, low - 0.5 * (high - low)))
        right, bottom = (int(edge) for edge in high + 0.5 * (high - low))
        views = dict[int, list[Mesh]]()
        crops = list[Pixels]()
        for shown in (before, after):
            crops.append(np.ascontiguousarray(shown.rgb[y:bottom, x:right]))
            nearest = sorted(shown.meshes, key=lambda other: float(np.abs(other[1, :2] - mesh[1, :2]).sum()))
            views[id(crops[-1])] = [other - np.array([x, y, 0], np.float32) for other in nearest]
        figures = self._report.still(_Found(self._eyes.identity, views), sources[place], *crops)
        others = list[float]()
        if len(sources) > 1 and figures["face_in_output"]:
            seen = self._eyes.identity(crops[1], views[id(crops[1])][0])
            others = [float(np.linalg.norm(seen - each)) for k, each in enumerate(sources) if k != place]
        yaw = float(self._report.ratios(mesh)["yaw"])
        return FrameRow(index, figures, mesh, yaw, tuple(others))


@dataclass(frozen=True, slots=True)
class _Found:
    """In the place of the report's eyes, with faces that were found before."""

    identity: Any
    views: dict[int, list[Mesh]]

    def faces(self, rgb: Pixels) -> list[Mesh]:
        return self.views[id(rgb)]


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
