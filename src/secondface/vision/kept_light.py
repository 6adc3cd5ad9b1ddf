"""Light and masks of one frame that serve the next ones too, moved along with the face.

Light changes slowly and what covers a face does not come from nowhere: where a face looks as it did in the frame
before, most of what `relight` does would find the same again.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TypeAlias

import cv2
import numpy as np
import numpy.typing as npt

from secondface.frames import Float
from secondface.vision.mesh_layout import FaceLayout
from secondface.vision.mesh_topology import MESH_POINTS, topology, zones
from secondface.vision.relight import Relit
from secondface.vision.source_atlas import COARSE_DENSITY
from secondface.vision.texture_match import luma

_MOST_FRAMES = 2
"""So many frames take over what was found in one."""
_GLANCE_STEP = 4
"""A place on the face is looked at with its surroundings of so many coarse pixels."""
_STRANGE_LEVELS, _STRANGE_SHARE = 12.0, 0.03
"""Places that changed by so much, when they are at least so many, are looked at anew: something moves over the face."""
_DRIFT_LEVELS = 1.5
"""And so is all when the light changed by so much."""

Glance: TypeAlias = Float
"""[n] lightness of a face at its places of skin."""


def glance(small: Float, layout: FaceLayout) -> Glance:
    """How a face looks on the coarse canvas `small` [h,w,3] at a glance."""
    size = (max(2, small.shape[1] // _GLANCE_STEP), max(2, small.shape[0] // _GLANCE_STEP))
    coarser = cv2.resize(small, size, interpolation=cv2.INTER_AREA)
    scale = np.array([size[0] / small.shape[1], size[1] / small.shape[0]], np.float32)
    place = layout.coarse_target[_places()] * scale - np.float32(0.5)
    seen = cv2.remap(coarser, place[:, None], None, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
    return luma(seen).ravel()


@functools.cache
def _places() -> npt.NDArray[np.intp]:
    """The mesh's points on plain skin: lips and lids move without anything being new."""
    skin = zones(COARSE_DENSITY, 0.06).skin
    column, row = np.floor(topology().atlas[:MESH_POINTS].T * COARSE_DENSITY).astype(int)
    inside = (row >= 0) & (row < skin.shape[0]) & (column >= 0) & (column < skin.shape[1])
    there = np.zeros(MESH_POINTS, np.float32)
    there[inside] = skin[row[inside], column[inside]]
    return np.flatnonzero(there > 0.6)


@dataclass
class KeptLight:
    """What was found in a frame, the mesh [504,2] that it lies on, and how the face looked there."""

    relit: Relit
    points: Float
    look: Glance
    served: int = 0

    def serves(self, look: Glance) -> bool:
        """Whether one frame more, in which the face has this look, may have it."""
        self.served += 1
        if self.served > _MOST_FRAMES:
            return False
        change = look - self.look
        strange = int(np.count_nonzero(np.abs(change) > _STRANGE_LEVELS))
        return strange <= _STRANGE_SHARE * change.size and abs(float(change.mean())) < _DRIFT_LEVELS

    def moved_to(self, layout: FaceLayout) -> Relit:
        """The same on the canvas of a later frame, which was laid out with these `points`."""
        assert layout.earlier_map is not None
        place = layout.earlier_map - np.float32(0.5)
        gain, light = cv2.split(self.relit.gain), cv2.split(self.relit.light)
        first, second = (
            cv2.split(cv2.remap(cv2.merge(parts), place, None, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE))
            for parts in ([*gain, self.relit.alpha], [*light, self.relit.skin])
        )
        return replace(
            self.relit, gain=cv2.merge(first[:3]), alpha=first[3], light=cv2.merge(second[:3]), skin=second[3]
        )
