"""What hides a source's skin and yet belongs to its look: a beard, the rims of glasses. They go along.

Works on the coarse atlas. Must not know targets.
"""

from __future__ import annotations

import cv2
import numpy as np

from secondface.frames import Float, Mask01
from secondface.vision.face_cover import LipsPlace, lips_agreement
from secondface.vision.mesh_topology import Zones, lips_look

_LIPS_SEEN = 0.42
"""Agreement with the look of lips above which nothing hides them."""
_BEARD_SHARE = 0.3
"""Of the skin below the nose, the part on each side of the face that a beard hides at least."""
_THIN = 0.05
"""Covers narrower than this, in face widths, are worn, as glasses are; hair and hands are broader."""


def grows_beard(small: Float, covered: Mask01, zone: Zones, seen: Mask01, density: int) -> bool:
    """Whether what hides the lower face [h,w] is a beard: on both sides of a mouth that is seen."""
    where = zone.beard * zone.skin * (seen > 0)
    middle = where.shape[1] // 2
    for side in (np.s_[:, :middle], np.s_[:, middle:]):
        total = float(where[side].sum())
        if total < 1 or float((where * covered)[side].sum()) < _BEARD_SHARE * total:
            return False
    place = LipsPlace(zone.lower_lip, zone.lip, lips_look(density))
    return lips_agreement(small, place, seen, density) > _LIPS_SEEN


def thin_cover(covered: Mask01, skin: Mask01, density: int) -> Mask01:
    """[h,w] 1 where a cover with skin close by on both sides lies, such as the rim of glasses; with its soft edges."""
    hidden = ((covered > 0.25) & (skin > 0.4)).astype(np.uint8)
    size = 2 * max(1, round(_THIN * density / 2)) + 1
    broad = cv2.morphologyEx(hidden, cv2.MORPH_OPEN, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size)))
    broad = cv2.dilate(broad, np.ones((5, 5), np.uint8))
    thin = hidden * (1 - broad)
    return cv2.dilate(thin, np.ones((3, 3), np.uint8)).astype(np.float32)
