"""One face of one frame laid out for the swap: its box, the maps into atlas and target, and what of it is seen.

Masks and light live on a coarse canvas (`coarse_width` pixels per face); colours at the frame's own resolution.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import cv2
import numpy as np
import numpy.typing as npt

from secondface.frames import RGB8, Box, Face, Float, Frame, Mask01
from secondface.vision.mesh_render import normals, rasterise
from secondface.vision.mesh_shape import lip_rings, mouth_corners, parted_lips, pose_trust, within_mouth
from secondface.vision.mesh_topology import (
    INNER_LIPS,
    LEFT_EYE,
    MESH_POINTS,
    RIGHT_EYE,
    lips_look,
    with_skirt,
    zones,
)
from secondface.vision.per_pixel import look_up
from secondface.vision.source_atlas import COARSE_DENSITY, SourceAtlas

Mask8: TypeAlias = npt.NDArray[np.uint8]
"""[h,w] 0..255"""

_SMALLEST_FACE_PX = 12
_CORNER_REACH = 0.045
"""In face widths: so much of the cheek about the corner of a wide open mouth stays the target's."""


@dataclass(frozen=True)
class FaceLayout:
    """Where everything lies. Made by `lay_out`."""

    box: Box
    coarse_width: float
    """Face width on the coarse canvas, in its pixels."""
    coarse_shape: tuple[int, int]
    atlas_map: Float
    """[h,w,2] coarse: atlas coordinates in face widths."""
    target_map: Float
    """[h,w,2] coarse: where in the box the target shows the same point, in pixels of the box."""
    seen: Mask01
    """[h,w] coarse: 1 where the face looks at the camera, 0 where it turns away."""
    covered: Mask01
    """[h,w] coarse: 1 on the part of the mesh that is seen."""
    normals: Float
    """[h,w,3] coarse: where the face's surface points, z towards the camera."""
    points: Float
    """[504,2+] reshaped mesh in pixels of the box."""
    coarse_points: Float
    """[504,2] the same on the coarse canvas."""
    coarse_target: Float
    """[504,2] where the coarse canvas shows the same points of the target, not reshaped."""
    earlier_map: Float | None
    """[h,w,2] coarse: where an earlier frame's coarse canvas showed the same point."""
    width_px: float
    feather: float
    trust: float
    """How far the mesh can be relied on: 1 towards the camera, near 0 in profile."""

    def shrink(self, image: RGB8 | Mask01) -> Float:
        """An image of the box on the coarse canvas."""
        size = (self.coarse_shape[1], self.coarse_shape[0])
        return cv2.resize(image, size, interpolation=cv2.INTER_AREA).astype(np.float32)

    def enlarge(self, coarse: Float) -> Float:
        """A coarse map at the resolution of the box."""
        return cv2.resize(coarse, (self.box.width, self.box.height), interpolation=cv2.INTER_LINEAR)

    def bend_small(self, small: Float) -> Float:
        """The target with its features moved to their new places, on the coarse canvas."""
        scale = np.array([self.coarse_shape[1] / self.box.width, self.coarse_shape[0] / self.box.height], np.float32)
        across, down = cv2.split(self.target_map)
        place = cv2.merge([across * scale[0] - np.float32(0.5), down * scale[1] - np.float32(0.5)])
        return look_up(small, place, beyond=cv2.BORDER_REPLICATE)

    def bend(self, image: RGB8) -> RGB8:
        """The target with its features moved to their new places."""
        place = self.enlarge(self.target_map - np.float32(0.5))
        return look_up(image, place, beyond=cv2.BORDER_REPLICATE)

    def sample(self, atlas: SourceAtlas) -> RGB8:
        """The source's texture on the reshaped target."""
        seen: RGB8 | None = None
        for texture, density, share in atlas.levels_for(self.width_px):
            at = self.enlarge(self.atlas_map * np.float32(density) - np.float32(0.5))
            level = cv2.remap(texture, at, None, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
            seen = level if seen is None else cv2.addWeighted(seen, 1 - share, level, share, 0)
        assert seen is not None
        return cv2.cvtColor(seen, cv2.COLOR_RGBA2RGB)

    def sample_small(self, atlas: SourceAtlas) -> Float:
        texture, density = atlas.level_for(self.coarse_width)
        place = self.atlas_map * np.float32(density) - np.float32(0.5)
        return cv2.cvtColor(cv2.remap(texture, place, None, cv2.INTER_LINEAR), cv2.COLOR_RGBA2RGB).astype(np.float32)

    def zones(self, atlas: SourceAtlas) -> CoarseZones:
        """The atlas's zones and the source's light on the coarse canvas."""
        fixed = [cv2.split(_look_up(part, self.atlas_map, COARSE_DENSITY)) for part in _zone_stack(self.feather)]
        lit, turned = (_look_up(part, self.atlas_map, COARSE_DENSITY) for part in atlas.packed)
        relief, facing = cv2.split(turned)[:2]
        bridge, right, left, upper_lip = fixed[2]
        return CoarseZones(
            *fixed[0],
            *fixed[1],
            glasses=(bridge, right, left),
            upper_lip=upper_lip,
            certain=lit[..., 3],
            relief=relief,
            facing=facing,
            light=cv2.cvtColor(lit, cv2.COLOR_RGBA2RGB),
        )

    def heart(self) -> Mask01:
        """[h,w] coarse: 1 well inside the outline; the face's tone is judged there."""
        seen = (self.covered > 0.05).astype(np.uint8)
        margin = cv2.copyMakeBorder(seen, 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=(0, 0, 0, 0))
        depth = cv2.distanceTransform(margin, cv2.DIST_L2, 3)[1:-1, 1:-1]
        return (depth > 0.13 * self.coarse_width).astype(np.float32)

    def soften(self, mask: Mask01) -> Mask01:
        """Take the stairs off a coarse mask."""
        return cv2.GaussianBlur(mask, (0, 0), 0.3 + 0.006 * self.coarse_width)

    def openings(self, blur_px: float = 0.0) -> Mask01:
        """[h,w] of the box: eyeballs and the inside of the mouth, which stay the target's; as soft as it is blurred."""
        mask = np.zeros((self.box.height, self.box.width), np.uint8)
        softness = max(0.5, 0.004 * self.width_px, blur_px)
        for ring in (RIGHT_EYE, LEFT_EYE, INNER_LIPS):
            outline = self.points[list(ring), :2]
            self._add(mask, Box.around(outline, 4 * softness + 2), softness, functools.partial(_fill, outline=outline))
        for centre, open_share in mouth_corners(self.points):
            # The source's corners of a mouth, seen closed, would be pulled into dark webs.
            radius = _CORNER_REACH * self.width_px * open_share
            softness = max(0.5, _CORNER_REACH * self.width_px / 3, blur_px)
            around = Box.around(np.array([centre], np.float32), radius + 4 * softness)
            if radius > 0.5:
                self._add(mask, around, softness, functools.partial(_dot, centre=centre, radius=radius))
        return mask.astype(np.float32) / np.float32(255)

    def _add(self, mask: Mask8, around: Box, softness_px: float, draw: Callable[[Mask8, Box], None]) -> None:
        """Add a softened shape to 0..255 where it is; the rest of the box need not be softened."""
        around = around.clip(self.box.width, self.box.height)
        if not around.width or not around.height:
            return
        shape = np.zeros((around.height, around.width), np.uint8)
        draw(shape, around)
        place = mask[around.y0 : around.y1, around.x0 : around.x1]
        place[:] = cv2.max(place, cv2.GaussianBlur(shape, (0, 0), softness_px))


def _fill(mask: Mask8, box: Box, outline: Float) -> None:
    polygon = np.round((outline - [box.x0 + 0.5, box.y0 + 0.5]) * 16).astype(np.int32)
    cv2.fillPoly(mask, [polygon], 255, cv2.LINE_AA, 4)


def _dot(mask: Mask8, box: Box, centre: tuple[float, float], radius: float) -> None:
    place = (round((centre[0] - box.x0 - 0.5) * 16), round((centre[1] - box.y0 - 0.5) * 16))
    cv2.circle(mask, place, round(radius * 16), (255.0,), -1, cv2.LINE_AA, 4)


@dataclass(frozen=True)
class CoarseZones:
    """What the atlas knows of each coarse pixel."""

    inside: Mask01
    middle: Mask01
    skin: Mask01
    core: Mask01
    beard: Mask01
    lips: Mask01
    lip: Mask01
    lips_look: Float
    glasses: tuple[Mask01, Mask01, Mask01]
    upper_lip: Mask01
    certain: Mask01
    relief: Float
    """Log lightness that cheeks and temples have from their relief in the source's picture, 0 elsewhere; ..."""
    facing: Float
    """... and how squarely that sees it (cosine)."""
    light: Float


@functools.lru_cache(maxsize=4)
def _zone_stack(feather: float) -> tuple[Float, Float, Float]:
    """The fixed zones side by side, so that three look-ups fetch them all."""
    zone = zones(COARSE_DENSITY, feather)
    first = cv2.merge([zone.inside, zone.middle, zone.skin, zone.core])
    second = cv2.merge([zone.beard, zone.lower_lip, zone.lip, lips_look(COARSE_DENSITY)])
    return first, second, cv2.merge([*zone.glasses, zone.upper_lip])


def lay_out(
    frame: Frame, face: Face, step: Float, feather: float, earlier_points: Float | None = None
) -> FaceLayout | None:
    """Lay a face out with its points moved by `step` [468,2] face widths; `earlier_points` give the `earlier_map`.

    None where the face is too small, in profile or outside the frame.
    """
    mesh = with_skirt(face.points)
    width = face.size_px
    box = Box.around(mesh[:MESH_POINTS], 3).clip(frame.width, frame.height)
    trust = pose_trust(face.points)
    if trust < 0.02 or width < _SMALLEST_FACE_PX or min(box.width, box.height) < _SMALLEST_FACE_PX:
        return None
    scale = min(1.0, COARSE_DENSITY / width)
    shape = (max(8, round(box.height * scale)), max(8, round(box.width * scale)))
    local = mesh - np.array([box.x0, box.y0, 0], np.float32)
    local[lip_rings()[1], :2] += within_mouth(local)
    moved = local.copy()
    moved[:MESH_POINTS, :2] += step * np.float32(width)
    scales = np.array([shape[1] / box.width, shape[0] / box.height, scale], np.float32)
    coarse_points = moved * scales
    canvas = rasterise(coarse_points, shape)
    values = [parted_lips(local), local[:, :2], normals(local)]
    if earlier_points is not None:
        values.append(earlier_points)
    carried = canvas.carry(np.concatenate(values, 1))
    seen = np.clip((carried[6] - 0.10) / 0.32, 0, 1)
    zone = zones(COARSE_DENSITY, feather)
    atlas_map = cv2.merge(list(carried[:2]))
    seen = seen * seen * (3 - 2 * seen)
    covered = np.clip(_look_up(zone.inside, atlas_map, COARSE_DENSITY) * 3, 0, 1) * np.clip(seen * 3, 0, 1)
    covered = cv2.GaussianBlur(covered, (0, 0), 1.0) * (canvas.triangle >= 0)
    return FaceLayout(
        box=box, coarse_width=width * scale, coarse_shape=shape, atlas_map=atlas_map,
        target_map=cv2.merge(list(carried[2:4])), seen=seen.astype(np.float32),
        covered=covered.astype(np.float32), normals=cv2.merge(list(carried[4:7])), points=moved,
        coarse_points=coarse_points[:, :2], coarse_target=local[:, :2] * scales[:2],
        earlier_map=None if earlier_points is None else cv2.merge(list(carried[7:])),
        width_px=width, feather=feather, trust=trust,
    )  # fmt: skip


def _look_up(image: Float, atlas_map: Float, density: int) -> Float:
    place = atlas_map * np.float32(density) - np.float32(0.5)
    return cv2.remap(image, place, None, cv2.INTER_LINEAR)
