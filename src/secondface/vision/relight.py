"""The target's light for the source's skin: a gain per pixel, and how much of the source is to be seen there.

All on the coarse canvas of a layout: light, masks and tone are smooth. Must not see the frame's full resolution.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from secondface.frames import Float, Mask01
from secondface.vision.face_cover import LipsPlace, covered_share, lips_agreement
from secondface.vision.mesh_layout import CoarseZones, FaceLayout
from secondface.vision.shading import fit_shading
from secondface.vision.skin_light import light_field, skin_likelihood
from secondface.vision.source_atlas import LIGHT_REACH, SourceAtlas
from secondface.vision.texture_match import luma

DARK_OFFSET = 5.0
"""Added before colours are divided, so that near-black pixels keep finite ratios."""
_HARD_LIGHT_REACH = 0.045
"""Edges of hard light and of cast shadows are kept down to this scale, in face widths."""
_RELIEF = 0.12
"""Log lightness by which nose and cheeks model a face in even light; what goes beyond is light."""
_RIM_REACH = 0.03
"""Detail finer than this, in face widths, is the source's up to the rim."""
_LIPS_COVERED, _LIPS_SEEN = 0.30, 0.42
"""Agreement with the look of lips below which a hand hides them, and above which nothing does."""


@dataclass(frozen=True)
class Relit:
    """What the full resolution needs; every field [h,w] or [h,w,3] coarse."""

    gain: Float
    """Factor on the source's colours (both with DARK_OFFSET added)."""
    alpha: Mask01
    """How much of the source is seen."""
    skin: Mask01
    """Plain skin, where grain shows."""
    light: Float
    """The target's light field."""
    colour: float
    """How colourful the target's detail is beside the source's, 0..1."""
    lips_seen: float
    """How much the target's mouth looks like one; see `lips_agreement`."""


def relight(
    layout: FaceLayout, small: Float, openings: Mask01, atlas: SourceAtlas, occlusion: bool, lips_before: float | None
) -> Relit:
    """Light and masks for one face: `small` is the target on the coarse canvas, `openings` its eyeballs and mouth."""
    bent = layout.bend_small(small)
    zone = layout.zones(atlas)
    core = zone.core * (layout.seen > 0.3)
    shading = fit_shading(bent, layout.normals, zone.skin, core * skin_likelihood(bent, core))
    plain = skin_likelihood(bent, core, shading)
    free = np.ones_like(layout.seen)
    lips = 1.0
    if occlusion:
        free -= covered_share(bent, shading, zone, core, layout.coarse_width)
        place = LipsPlace(zone.lips * (1 - openings), zone.lip, zone.lips_look)
        lips = lips_agreement(bent, place, layout.seen, layout.coarse_width)
        steady = lips if lips_before is None else 0.7 * lips_before + 0.3 * lips
        hidden = np.clip((_LIPS_SEEN - steady) / (_LIPS_SEEN - _LIPS_COVERED), 0, 1)
        free *= 1 - np.float32(hidden) * zone.beard
    skin = zone.skin * free * (np.float32(0.3) + np.float32(0.7) * plain)  # lit skin is skin, of whatever colour
    light = _light_at_scales(bent, skin * (layout.seen + np.float32(0.02)), layout.coarse_width)
    alpha = layout.soften(zone.inside * layout.seen * zone.certain) * (free * np.float32(layout.trust))
    shown = alpha * (1 - openings)
    sampled = layout.sample_small(atlas) + np.float32(DARK_OFFSET)
    gain = (light + np.float32(DARK_OFFSET)) / np.maximum(zone.light + np.float32(DARK_OFFSET), 1)
    np.clip(gain, 0.05, 12, out=gain)
    lifted = bent + np.float32(DARK_OFFSET)
    gain *= _rim_factor(lifted, sampled * gain, skin * layout.seen * zone.certain, zone, layout.coarse_width)
    gain *= _tone_factor(small, bent, sampled * gain, shown, layout.heart)
    colour = _colourfulness(lifted, sampled * gain, light + np.float32(DARK_OFFSET), shown)
    return Relit(layout.soften(gain), alpha, zone.skin * free * layout.seen, light, colour, lips)


def _light_at_scales(rgb: Float, skin: Mask01, width_px: float) -> Float:
    """[h,w,3] the broad light on the skin, and of finer light only what is too strong to be the relief of a face."""
    broad = light_field(rgb, skin, LIGHT_REACH * width_px)
    fine = light_field(rgb, skin, _HARD_LIGHT_REACH * width_px)
    step = cv2.log((luma(fine) + np.float32(DARK_OFFSET)) / (luma(broad) + np.float32(DARK_OFFSET)))
    hard = np.sign(step) * np.maximum(np.abs(step) - np.float32(_RELIEF), 0)
    return broad * np.exp(hard)[..., None]


def _rim_factor(there: Float, new: Float, skin: Mask01, zone: CoarseZones, width_px: float) -> Float:
    """[h,w,3] factor that makes the new skin meet the target's at the rim, fading out towards the middle."""
    reach = _RIM_REACH * width_px
    weight = skin[..., None]
    have, wanted = (cv2.GaussianBlur(image * weight, (0, 0), reach) for image in (new, there))
    strength = (1 - zone.middle) * np.clip(cv2.GaussianBlur(skin, (0, 0), reach) * 4, 0, 1)
    ratio = np.clip((wanted + np.float32(0.1)) / (have + np.float32(0.1)), 0.5, 2)
    return 1 + strength[..., None] * (ratio - 1)


def _tone_factor(small: Float, bent: Float, new: Float, shown: Mask01, heart: Mask01) -> Float:
    """[3] factor that gives the swapped face the mean colour that the target's face had."""
    weight = heart * shown
    coverage = float(weight.sum())
    if coverage < 16:
        return np.ones(3, np.float32)
    # The mean over the heart of (1 - shown) bent + shown factor new is to be that of the target.
    wanted = (small - bent) * heart[..., None] + (bent + np.float32(DARK_OFFSET)) * weight[..., None]
    have = np.minimum(new, 255 + DARK_OFFSET) * weight[..., None]
    factor = wanted.sum((0, 1), dtype=np.float64) / np.maximum(have.sum((0, 1), dtype=np.float64), 1)
    return np.clip(factor, 0.8, 1.25).astype(np.float32)


def _colourfulness(there: Float, new: Float, light: Float, shown: Mask01) -> float:
    """How colourful the target's detail is beside the new one's, 0..1: a grey picture must not get rosy lips."""
    tints = np.array([[1, -1, 0], [0, 1, -1]], np.float32)

    def spread(image: Float) -> float:
        return float((np.abs(cv2.transform(image / light, tints)) * shown[..., None]).sum())

    return min(1.0, 1.25 * (spread(there) + 1e-3) / (spread(new) + 1e-3))
