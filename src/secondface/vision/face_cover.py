"""What is in front of a face and not of it: hair, beard, glasses, hands, microphones. It stays where it is.

Skin is modelled by colour and lightness relative to the light on it. What differs counts only when it hangs together:
lone specks are moles, wrinkles and shadows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

import cv2
import numpy as np
import numpy.typing as npt

from secondface.frames import Float, Mask01

_LONE_SHARE = 0.05
"""A patch that touches no outline and is smaller than this part of the face is a shadow or a mark on the skin."""
_EDGE_SHARE = 0.002
"""The same for a patch that reaches in from the outline, as a fringe does."""
_CROSSING = 0.10
"""How far a cover is followed into brows and lids, in face widths."""
_NEIGHBOURHOOD = 0.03
"""How far around a cover its soft rim and its crossing of a brow are looked for, in face widths."""
_RIM_SHARE = 0.06
"""Of the places where rims run, the part that must be covered before it is taken for glasses."""
_REDNESS = np.array([[1.0, -1.0, 0.0]], np.float32)
_RED_WEIGHT = 1.5
"""Redness speaks for lips in hard light, where shading is lost; its lack, under make-up or a beard, says nothing."""
_TOUCHING = np.ones((3, 3), np.uint8)

Patches: TypeAlias = npt.NDArray[np.uint8]
"""[h,w] 1 where something covers the face."""


class FaceZones(Protocol):
    """The zones that a cover is judged by, as soft masks [h,w]."""

    @property
    def inside(self) -> Mask01: ...
    @property
    def skin(self) -> Mask01: ...
    @property
    def glasses(self) -> tuple[Mask01, Mask01, Mask01]:
        """Nose bridge, under the right eye, under the left eye."""
        ...


def covered_share(
    skin: Mask01,
    zone: FaceZones,
    face_width_px: float,
    rim: Mask01 | None = None,
    *,
    crossing: bool = True,
) -> Mask01:
    """[h,w] 0..1: how much of each pixel is in front of the face; `rim` says where its surroundings count too.

    `crossing` follows the rims of glasses into brows and lids.

    `skin` [h,w] is `skin_likelihood` beside the light that is known from what is surely skin, so that a beard cannot
    pass as skin by being all there is on the chin.
    """
    anywhere = 1 - skin
    strange = anywhere * (zone.skin > 0.4)
    patches = _patches(strange > 0.5, zone.inside, face_width_px)
    glasses = _wears_glasses(patches, zone.glasses)
    if glasses and crossing:
        strange = np.maximum(strange, _crossing(anywhere, patches, face_width_px))
        patches = (strange > 0.5).astype(np.uint8) * cv2.dilate(patches, _TOUCHING)
        strange = cv2.dilate(strange, _TOUCHING)  # rims are thin: keep their edges too
    reach = 2 * max(1, round(_NEIGHBOURHOOD * face_width_px)) + 1
    near = cv2.dilate(patches, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (reach, reach)))
    share = (strange * near).astype(np.float32)
    if rim is not None:
        share = np.maximum(share, rim * cv2.GaussianBlur(near.astype(np.float32), (0, 0), reach / 5))
    # Hair and beard thin out into skin; the rims of glasses are thin and crisp.
    return cv2.GaussianBlur(share, (0, 0), 0.6 if glasses else 0.3 + 0.011 * face_width_px)


def _wears_glasses(patches: Patches, places: tuple[Mask01, Mask01, Mask01]) -> bool:
    """Whether covers cross the nose's bridge and run under both eyes."""
    return all(float((patches * place).sum()) > _RIM_SHARE * float(place.sum()) > 0 for place in places)


def _crossing(anywhere: Mask01, patches: Patches, width_px: float) -> Mask01:
    """[h,w] what goes on from a cover into brows and lids, as the rim of glasses does, a little way."""
    size = 2 * max(1, round(_CROSSING * width_px)) + 1
    return anywhere * cv2.dilate(patches, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size)))


def _patches(strange: npt.NDArray[np.bool_], inside: Mask01, width_px: float) -> Patches:
    """The connected patches of strange pixels that are too large, or come in too far, to be marks on the skin."""
    count, label, stats, _ = cv2.connectedComponentsWithStats(strange.astype(np.uint8), connectivity=8)
    area = stats[:, cv2.CC_STAT_AREA]
    at_edge = np.bincount(label[inside < 0.3].ravel(), minlength=count) > 0
    kept = area > np.where(at_edge, _EDGE_SHARE, _LONE_SHARE) * width_px * width_px
    kept[0] = False
    return kept[label].astype(np.uint8)


@dataclass(frozen=True)
class LipsPlace:
    """Where lips are expected, and how they look; each [h,w]."""

    around: Mask01
    """The lower lip and its surroundings, without the mouth's inside."""
    lip: Mask01
    """The lower lip alone."""
    look: Float
    """The expected lightness detail."""


def lips_agreement(rgb: Float, place: LipsPlace, seen: Mask01, face_width_px: float) -> float:
    """How much what is where the lips should be looks like lips: fingers are neither so shaded nor redder than around.

    About 0.3 and less for a hand, 0.4 and more for lips. Lips that are mostly turned away (`seen`) count as there.
    """
    around = place.around
    if float((around * seen).sum()) < max(12.0, 0.6 * float(around.sum())):
        return 1.0
    shade = _correlation(lightness_detail(rgb, face_width_px), place.look, around)
    red = cv2.GaussianBlur(cv2.transform(cv2.log(rgb + np.float32(8)), _REDNESS), (0, 0), 0.008 * face_width_px)
    return shade + _RED_WEIGHT * max(0.0, _correlation(red, place.lip, around))


def _correlation(a: Float, b: Float, weights: Mask01) -> float:
    """Weighted correlation of two images [h,w]; 0 where one of them is flat."""
    total = weights.sum()
    a, b = a - (a * weights).sum() / total, b - (b * weights).sum() / total
    scale = float(np.sqrt((a * a * weights).sum() * (b * b * weights).sum()))
    return float((a * b * weights).sum()) / scale if scale > 1e-6 else 0.0


def lightness_detail(rgb: Float, face_width_px: float) -> Float:
    """[h,w] log lightness without its broad changes."""
    lightness = cv2.log(cv2.transform(rgb, np.array([[0.299, 0.587, 0.114]], np.float32)) + 8)
    fine = cv2.GaussianBlur(lightness, (0, 0), 0.008 * face_width_px)
    return fine - cv2.GaussianBlur(fine, (0, 0), 0.06 * face_width_px)
