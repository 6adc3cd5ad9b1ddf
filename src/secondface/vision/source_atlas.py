"""A source person as one texture on the face atlas: several pictures and both halves of the face put together.

Built once per person; the swap then only samples it. Knows pictures and meshes, not targets.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from secondface.frames import RGB8, Box, Face, Float, Mask01
from secondface.vision.face_cover import covered_share
from secondface.vision.mesh_render import normals, rasterise
from secondface.vision.mesh_shape import symmetric
from secondface.vision.mesh_topology import MESH_POINTS, Zones, atlas_shape, topology, with_skirt, zones
from secondface.vision.per_pixel import padded
from secondface.vision.shading import fit_shading, relief
from secondface.vision.skin_light import light_field, skin_likelihood
from secondface.vision.source_cover import grows_beard, thin_cover

COARSE_DENSITY = 128
"""Pixels per face width of the atlas's masks and light."""
LIGHT_REACH = 0.17
"""Of a light field, in face widths; source and target must use the same."""
_WIDE_REACH = 0.3
"""How far the light on cheeks and nose is carried to tell skin from beard and hair."""
_SMALL_FACE_PX = 320
"""A source face narrower than this is enlarged, once, by super-resolution."""
_STRAY_REACH = 0.05
"""Shading broader than this, in face widths, can be light from one side; finer is the face's own."""
_KNEE = 0.5
"""Highlights brighter than the skin around are bent towards 1 + this: they are the source's lamps, not its skin."""
_CROSSFADE = 0.2
"""A level of the texture gives way to the next over this part of a face's width."""
_DENSITIES = (192, 256, 384, 512, 768, 1024)


@dataclass(frozen=True)
class SourceAtlas:
    """What a source person looks like on the atlas."""

    levels: tuple[RGB8, ...]
    """The texture, finest first; each level is half as dense."""
    density: int
    """Pixels per face width of the finest level."""
    light: Float
    """[h,w,3] at COARSE_DENSITY: the light field of the texture."""
    known: Float
    """[h,w,3] at COARSE_DENSITY: where the texture really shows this person's face (1), not hair, hand, glasses or a
    guess (0); the log lightness that the relief of cheeks and temples gives them in their picture, 0 elsewhere; how
    squarely that picture sees each texel (cosine)."""
    shape: Float
    """[468,3] the mesh of the picture that shows the face best."""

    @functools.cached_property
    def packed(self) -> tuple[Float, Float]:
        """`light` and `known` as two images of four channels, which are quickly looked up."""
        certain, relief, facing = cv2.split(self.known)
        return cv2.merge([*cv2.split(self.light), certain]), cv2.merge([relief, facing] * 2)

    @functools.cached_property
    def padded_levels(self) -> tuple[RGB8, ...]:
        """`levels` with a fourth channel, for the same reason."""
        return tuple(padded(level) for level in self.levels)

    def level_for(self, target_width_px: float) -> tuple[RGB8, int]:
        """The coarsest texture, padded, that is still as fine as a target face of that width, and its density."""
        index = 0
        while index + 1 < len(self.levels) and self.density >> (index + 1) >= target_width_px * 0.95:
            index += 1
        return self.padded_levels[index], self.density >> index

    def levels_for(self, target_width_px: float) -> tuple[tuple[RGB8, int, float], ...]:
        """One or two such levels, with densities and shares: a face that slowly grows must not turn sharp at once."""
        texture, density = self.level_for(target_width_px)
        index = (self.density // density).bit_length() - 1
        share = (1 - 0.95 * target_width_px / density) / _CROSSFADE
        if index == 0 or share >= 1:
            return ((texture, density, 1.0),)
        return ((texture, density, share), (self.padded_levels[index - 1], density * 2, 1 - share))


@dataclass(frozen=True)
class _View:
    """One picture unrolled onto the atlas."""

    rgb: Float
    trust: Mask01
    """How squarely and how finely the picture sees each texel."""
    normals: Float
    """[h,w,3] where the surface points in that picture, z towards the camera."""


def build_atlas(pictures: Sequence[tuple[RGB8, Face]], enlarge: Callable[[RGB8], RGB8] | None = None) -> SourceAtlas:
    """Combine pictures (and their faces) of one person. The squarest and finest view wins at each texel."""
    if enlarge is not None:
        pictures = [
            _enlarged(rgb, face, enlarge) if face.size_px < _SMALL_FACE_PX else (rgb, face) for rgb, face in pictures
        ]
    widest = max(face.size_px for _, face in pictures)
    density = next((d for d in _DENSITIES if d >= widest * 1.05), _DENSITIES[-1])
    views = [_unroll(rgb, face, density) for rgb, face in pictures]
    best = int(np.argmax([view.trust.sum() for view in views]))
    views.insert(0, views.pop(best))
    texture, light, known = _merge(views, density)
    levels = [texture]
    while density >> len(levels) >= 32:
        above = levels[-1]
        levels.append(cv2.resize(above, (above.shape[1] // 2, above.shape[0] // 2), interpolation=cv2.INTER_AREA))
    return SourceAtlas(tuple(levels), density, light, known, symmetric(pictures[best][1].points[:MESH_POINTS]))


def _enlarged(rgb: RGB8, face: Face, enlarge: Callable[[RGB8], RGB8]) -> tuple[RGB8, Face]:
    """The face's surroundings at twice the size."""
    box = Box.around(face.points, 0.3 * face.size_px).clip(rgb.shape[1], rgb.shape[0])
    larger = enlarge(np.ascontiguousarray(rgb[box.y0 : box.y1, box.x0 : box.x1]))
    points = (face.points - np.array([box.x0, box.y0, 0], np.float32)) * 2
    return larger, Face(points.astype(np.float32), face.score, face.track_id, face.identity, face.source)


def _unroll(rgb: RGB8, face: Face, density: int) -> _View:
    mesh = with_skirt(face.points)
    box = Box.around(mesh, 4).clip(rgb.shape[1], rgb.shape[0])
    scale = min(1.0, density / face.size_px)  # filter before sampling, so that a fine picture does not alias
    crop = rgb[box.y0 : box.y1, box.x0 : box.x1]
    size = (max(2, round(box.width * scale)), max(2, round(box.height * scale)))
    crop = cv2.resize(crop, size, interpolation=cv2.INTER_AREA) if scale < 1 else crop
    scales = np.array([size[0] / box.width, size[1] / box.height], np.float32)
    place = (mesh[:, :2] - [box.x0, box.y0]) * scales - 0.5
    canvas = rasterise(topology().atlas * density, atlas_shape(density))
    carried = canvas.carry(np.concatenate([place, normals(mesh)], 1).astype(np.float32))
    where = cv2.merge(list(carried[:2]))
    seen = cv2.remap(crop, where, None, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    ramp = np.clip((carried[4] - 0.12) / 0.5, 0, 1)
    trust = ramp * ramp * min(1.0, face.size_px / density)
    return _View(seen.astype(np.float32), trust.astype(np.float32), cv2.merge(list(carried[2:])))


def _merge(views: list[_View], density: int) -> tuple[RGB8, Float, Float]:
    """Add to the best view what other views, and then the other half of the face, know better."""
    shape = atlas_shape(COARSE_DENSITY)
    zone = zones(COARSE_DENSITY, 0.1)

    def coarse(image: Float) -> Float:
        return cv2.resize(image, (shape[1], shape[0]), interpolation=cv2.INTER_AREA)

    first = views[0]
    light = known = detail = trust = None
    for view in (*views, *[_mirrored(view, density) for view in views]):
        here_light, here_known = _lit_and_known(coarse(view.rgb), coarse(view.trust), coarse(view.normals), zone)
        full = (first.rgb.shape[1], first.rgb.shape[0])
        ratio = view.rgb / np.maximum(cv2.resize(here_light, full, interpolation=cv2.INTER_LINEAR), 4)
        if detail is None or trust is None or light is None or known is None:
            detail, trust, light, known = ratio, view.trust, here_light, here_known
            continue
        # Switch over within a narrow range of trust: a mean of two views would blur both.
        take = np.clip((view.trust * 0.8 - trust) / 0.15 + 0.5, 0, 1)
        take = cv2.GaussianBlur(take, (0, 0), 0.03 * density)
        detail += take[..., None] * (ratio - detail)
        trust = np.maximum(trust, view.trust * 0.8)
        known += coarse(take)[..., None] * (here_known - known)
    assert detail is not None and light is not None and known is not None
    detail /= cv2.resize(_stray_light(coarse(detail), zone.skin * known[..., 0]), (detail.shape[1], detail.shape[0]))[
        ..., None
    ]
    detail = np.where(detail > 1, 1 + _KNEE * np.tanh((detail - 1) / _KNEE), detail)
    light = np.sqrt(light * _flip(light, COARSE_DENSITY))  # a lamp at one side goes too
    full_light = cv2.resize(light, (detail.shape[1], detail.shape[0]), interpolation=cv2.INTER_LINEAR)
    texture = np.clip(detail * full_light + 0.5, 0, 255).astype(np.uint8)
    return texture, light.astype(np.float32), known.astype(np.float32)


def _lit_and_known(rgb: Float, trust: Mask01, normals: Float, zone: Zones) -> tuple[Float, Float]:
    """Of one coarse view: the light on its skin [h,w,3], and `SourceAtlas.known`."""
    core = zone.core * (trust > 0.15)
    plain = skin_likelihood(rgb, core)
    shading = fit_shading(rgb, normals, zone.skin * (trust > 0.02), core)
    covered = covered_share(skin_likelihood(rgb, core, shading), zone, COARSE_DENSITY, zone.beard, crossing=False)
    # Shading fitted to stubble takes it for shade; the light on cheeks and nose does not.
    wide = light_field(rgb, core * plain, _WIDE_REACH * COARSE_DENSITY)
    stubble = covered_share(skin_likelihood(rgb, core, wide), zone, COARSE_DENSITY, zone.beard, crossing=False)
    covered += zone.beard * np.maximum(stubble - covered, 0)
    light = light_field(rgb, zone.skin * plain * (1 - covered) * (trust + 0.02), LIGHT_REACH * COARSE_DENSITY)
    if grows_beard(rgb, covered, zone, trust, COARSE_DENSITY):
        covered = covered * (1 - zone.beard)
    covered = covered * (1 - thin_cover(covered, zone.skin, COARSE_DENSITY))
    shade = relief(shading, zone.skin * (trust + 0.02), LIGHT_REACH * COARSE_DENSITY)
    certain = np.clip(trust * 4, 0, 1) * (1 - covered)
    return light, np.dstack([certain, shade * zone.sides, normals[..., 2]]).astype(np.float32)


def _stray_light(detail: Float, skin: Mask01) -> Mask01:
    """[h,w] coarse: the lopsided part of the detail's broad shading. Faces are even, so it is light from a side."""
    lightness = np.log(np.maximum(detail.mean(2), 0.05))
    sigma = _STRAY_REACH * COARSE_DENSITY
    weight = cv2.GaussianBlur(skin, (0, 0), sigma) + 1e-3
    broad = cv2.GaussianBlur(lightness * skin, (0, 0), sigma) / weight
    return np.exp(
        (broad - _flip(broad, COARSE_DENSITY)) / 2 * np.minimum(weight, _flip(weight, COARSE_DENSITY))
    ).astype(np.float32)


def _flip(image: Float, density: int) -> Float:
    """An atlas image as its mirror image."""
    atlas, flipped = topology().atlas, topology().atlas[topology().mirror]
    middle = float((atlas[:, 0] + flipped[:, 0]).mean()) * density
    matrix = np.array([[-1, 0, middle - 1], [0, 1, 0]], np.float32)
    size = (image.shape[1], image.shape[0])
    return cv2.warpAffine(image, matrix, size, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)


def _mirrored(view: _View, density: int) -> _View:
    """The same view as if seen from the other side; never trusted as much as the real side."""
    turned = _flip(view.normals, density) * np.array([-1, 1, 1], np.float32)
    return _View(_flip(view.rgb, density), _flip(view.trust, density) * 0.75, turned)
