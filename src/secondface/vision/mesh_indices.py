"""Names for the points of the 478-point face mesh.

Decides nothing: the published MediaPipe index lists, read once from `mesh_indices.json`. Left and right in the JSON
file are the picture's for `left_eye` (index 33 and its ring) and `right_eye` (263), as the refined outputs are named.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

EYE_CORNERS = ((33, 133), (362, 263))
"""Outer and inner of the picture's left eye, inner and outer of the right one. They stay when an eye shuts."""

_LID_POINTS = 16


@dataclass(frozen=True, slots=True)
class MeshIndices:
    """Index tuples into points [478,3]; rows of refined outputs come in exactly these orders."""

    lips: tuple[int, ...]
    left_eye: tuple[int, ...]
    right_eye: tuple[int, ...]
    left_iris: tuple[int, ...]
    right_iris: tuple[int, ...]
    face_oval: tuple[int, ...]
    inner_lips: tuple[int, ...]
    dlib5: tuple[int, ...]
    dlib5_template: tuple[tuple[float, float], ...]
    """Where dlib's aligned chip without padding has the `dlib5` points, 0..1."""

    @property
    def lids(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The edges of the lids, corners and all: the first ring of each eye, in the order of the eyes."""
        return self.left_eye[:_LID_POINTS], self.right_eye[:_LID_POINTS]


@cache
def mesh_indices() -> MeshIndices:
    """The index tuples, parsed on first use."""
    raw = json.loads(files("secondface.vision").joinpath("mesh_indices.json").read_text("utf-8"))
    return MeshIndices(
        lips=tuple(raw["lips"]),
        left_eye=tuple(raw["left_eye"]),
        right_eye=tuple(raw["right_eye"]),
        left_iris=tuple(raw["left_iris"]),
        right_iris=tuple(raw["right_iris"]),
        face_oval=tuple(raw["face_oval"]),
        inner_lips=tuple(raw["inner_lips"]),
        dlib5=tuple(raw["five_points"]["dlib5"]),
        dlib5_template=tuple((x, y) for x, y in raw["dlib5_template_0_1"]),
    )
