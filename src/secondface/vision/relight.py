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
from secondface.vision.per_pixel import times, total
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
_GUESSED = np.float32(0.06)
"""How much the fitted shading counts beside skin: amid a beard it knows better than the nearest half-hidden pixel."""
_RIM_REACH = 0.04
"""Detail finer than this, in face widths, is the source's up to the rim."""
_RIM_WIDTH = 0.08
"""How far inside its rim the new face takes on the colours that the target has there, in face widths."""
_EVEN_LIGHT, _HARD_LIGHT = 0.2, 0.3
"""Spread of the log light on a face below which nothing of the following is done, and above which all of it."""
_TARGET_SHADE = 0.7
"""The part of the target's light and shade, as a power, that falls on the middle of the new face; all at the rim."""
_OWN_SHADE = 0.15
"""The part of the source's own light and shade that is taken off there."""
_SAME_VIEW, _OTHER_VIEW = 0.2, 0.1
"""A place is seen so much more squarely (cosine) before its shade is changed, and by so much more all of it."""
_LIPS_COVERED, _LIPS_SEEN = 0.30, 0.42
"""Agreement with the look of lips below which a hand hides them, and above which nothing does."""


_LIP_NEIGHBOURHOOD = 0.02
"""In face widths: hair within about twice this above the lip is a moustache over it."""
_SHAVEN, _MOUSTACHE = 0.45, 0.75
"""The part of that skin which is covered, where nothing hangs over the lip, and where all of it does."""


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
    shading = fit_shading(bent, layout.normals, zone.skin, core)
    plain = skin_likelihood(bent, core, shading)
    free = np.ones_like(layout.seen)
    lips = 1.0
    if occlusion:
        free -= covered_share(plain, zone, layout.coarse_width)
        free *= 1 - np.float32(_moustache(1 - free, zone, layout.coarse_width)) * zone.upper_lip
        place = LipsPlace(zone.lips * (1 - openings), zone.lip, zone.lips_look)
        lips = lips_agreement(bent, place, layout.seen, layout.coarse_width)
        steady = lips if lips_before is None else 0.7 * lips_before + 0.3 * lips
        hidden = np.clip((_LIPS_SEEN - steady) / (_LIPS_SEEN - _LIPS_COVERED), 0, 1)
        free *= 1 - np.float32(hidden) * zone.beard
    # Half-covered pixels say nothing of the light: deep in a beard they would be all that is near. What is free and of
    # another colour than skin may be skin in another light.
    skin = zone.skin * np.maximum(2 * free - 1, 0) * (np.float32(0.3) + np.float32(0.7) * plain)
    certain = skin * (layout.seen + np.float32(0.02))
    light = _light_at_scales(
        bent + times(shading - bent, _GUESSED / (certain + _GUESSED)), certain + _GUESSED, layout.coarse_width
    )
    sampled = layout.sample_small(atlas) + np.float32(DARK_OFFSET)
    bare = _bare_share(sampled, zone.light + np.float32(DARK_OFFSET))
    depth = _depth(zone.inside * zone.certain * layout.seen, layout.coarse_width)
    alpha = layout.soften(zone.inside * layout.seen * zone.certain) * (free * np.float32(layout.trust))
    alpha *= _thinned_out((1 - bare) * zone.skin * zone.beard, zone.middle, layout.coarse_width)
    shown = alpha * (1 - openings)
    gain = (light + np.float32(DARK_OFFSET)) / np.maximum(zone.light + np.float32(DARK_OFFSET), 1)
    np.clip(gain, 0.05, 12, out=gain)
    lifted = bent + np.float32(DARK_OFFSET)
    meeting = skin * layout.seen * zone.certain * bare
    hardness = _hardness(light, depth * alpha)
    changed = np.float32(1 - hardness) * _turned_to_view(layout, zone.facing)  # in hard light a face keeps its shade
    gain = times(gain, cv2.exp(-zone.relief * changed))
    outer = 1 - zone.middle
    rim = np.maximum(1 - depth, outer * outer * outer)
    gain *= _rim_factor(lifted, sampled * gain, meeting, rim, layout.coarse_width)
    gain = times(gain, cv2.exp(np.float32(hardness) * depth * _own_light(light, zone.light, depth * alpha)))
    gain = cv2.transform(gain, np.diag(_tone_factor(small, bent, sampled * gain, shown, layout.heart())))
    colour = _colourfulness(lifted, sampled * gain, light + np.float32(DARK_OFFSET), shown)
    return Relit(layout.soften(gain), alpha, zone.skin * free * layout.seen, light, colour, lips)


def _moustache(covered: Mask01, zone: CoarseZones, width_px: float) -> float:
    """0..1: how much a moustache hangs over the upper lip; of the source's only a shadow would be seen through it."""
    around = zone.skin * cv2.GaussianBlur(zone.upper_lip, (0, 0), _LIP_NEIGHBOURHOOD * width_px)
    share = float((covered * around).sum()) / max(float(around.sum()), 1e-3)
    return min(max((share - _SHAVEN) / (_MOUSTACHE - _SHAVEN), 0.0), 1.0)


def _turned_to_view(layout: FaceLayout, facing: Float) -> Mask01:
    """[h,w] how much more squarely than in the source's picture a place is seen: there its shade would be a patch."""
    return np.clip((layout.normals[..., 2] - facing - _SAME_VIEW) / _OTHER_VIEW, 0, 1)


def _bare_share(new: Float, light: Float) -> Mask01:
    """[h,w] 1 on the source's skin, 0 on its hair, which is much darker than the light on it."""
    return np.clip(luma(new) / luma(light) * 4 - 2.6, 0, 1)


def _depth(shown: Mask01, width_px: float) -> Mask01:
    """[h,w] 0 at the rim of what is shown, also where the source's picture ends, to 1 a little way inside."""
    closing = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (7, 7))  # creases beside the nose are no rim
    inside = cv2.morphologyEx((shown > 0.5).astype(np.uint8), cv2.MORPH_CLOSE, closing)
    inside = cv2.copyMakeBorder(inside, 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=(0, 0, 0, 0))
    ramp = np.clip(cv2.distanceTransform(inside, cv2.DIST_L2, 3)[1:-1, 1:-1] / (_RIM_WIDTH * width_px), 0, 1)
    return (ramp * ramp * (3 - 2 * ramp)).astype(np.float32)


def _thinned_out(beard: Mask01, middle: Mask01, width_px: float) -> Mask01:
    """[h,w] factor by which a source's beard thins out towards the jaw: beyond it the target has none."""
    soft = cv2.GaussianBlur(beard, (0, 0), 0.02 * width_px)
    return 1 - soft * np.clip((1 - middle) / 0.6, 0, 1)


def _light_at_scales(rgb: Float, skin: Mask01, width_px: float) -> Float:
    """[h,w,3] the broad light on the skin, and of finer light only what is too strong to be the relief of a face."""
    broad = light_field(rgb, skin, LIGHT_REACH * width_px)
    fine = light_field(rgb, skin, _HARD_LIGHT_REACH * width_px)
    step = cv2.log((luma(fine) + np.float32(DARK_OFFSET)) / (luma(broad) + np.float32(DARK_OFFSET)))
    hard = np.sign(step) * np.maximum(np.abs(step) - np.float32(_RELIEF), 0)
    return times(broad, cv2.exp(hard))


def _contrast(light: Float, weight: Mask01) -> Float:
    """[h,w] log lightness beside its mean over `weight`."""
    lightness = cv2.log(luma(light) + np.float32(DARK_OFFSET))
    return lightness - np.float32(float((lightness * weight).sum()) / max(float(weight.sum()), 1e-3))


def _hardness(light: Float, weight: Mask01) -> float:
    """0 in even light to 1 where one part of the face lies in light and another in shade."""
    shade = _contrast(light, weight)
    spread = float(np.sqrt((shade * shade * weight).sum() / max(float(weight.sum()), 1e-3)))
    return min(max((spread - _EVEN_LIGHT) / (_HARD_LIGHT - _EVEN_LIGHT), 0.0), 1.0)


def _own_light(light: Float, own: Float, weight: Mask01) -> Mask01:
    """[h,w] log factor that leaves the new face some of its own shade, and gives it less of the target's.

    Shade follows the shape of a face: all of the target's draws the target, whoever's skin it lies on.
    """
    return np.float32(1 - _OWN_SHADE) * _contrast(own, weight) - np.float32(1 - _TARGET_SHADE) * _contrast(
        light, weight
    )


def _rim_factor(there: Float, new: Float, skin: Mask01, rim: Mask01, width_px: float) -> Float:
    """[h,w,3] factor that makes the new skin meet the target's at the `rim`, fading out towards the middle."""
    reach = _RIM_REACH * width_px
    have, wanted = (_broad(times(image, skin), reach) for image in (new, there))
    strength = rim * np.clip(_broad(skin, reach) * 4, 0, 1)
    ratio = np.clip((wanted + np.float32(0.1)) / (have + np.float32(0.1)), 0.5, 2)
    return times(ratio - 1, strength) + 1


def _broad(image: Float, reach_px: float) -> Float:
    """An image blurred by several pixels, at half its size."""
    height, width = image.shape[:2]
    half = cv2.resize(image, (max(2, width // 2), max(2, height // 2)), interpolation=cv2.INTER_AREA)
    return cv2.resize(cv2.GaussianBlur(half, (0, 0), reach_px / 2), (width, height), interpolation=cv2.INTER_LINEAR)


def _tone_factor(small: Float, bent: Float, new: Float, shown: Mask01, heart: Mask01) -> Float:
    """[3] factor that gives the swapped face the mean colour that the target's face had."""
    weight = heart * shown
    coverage = float(weight.sum())
    if coverage < 16:
        return np.ones(3, np.float32)
    # The mean over the heart of (1 - shown) bent + shown factor new is to be that of the target.
    wanted = times(small - bent, heart) + times(bent + np.float32(DARK_OFFSET), weight)
    have = times(np.minimum(new, 255 + DARK_OFFSET), weight)
    factor = total(wanted) / np.maximum(total(have), 1)
    return np.clip(factor, 0.8, 1.25).astype(np.float32)


def _colourfulness(there: Float, new: Float, light: Float, shown: Mask01) -> float:
    """How colourful the target's detail is beside the new one's, 0..1: a grey picture must not get rosy lips."""
    tints = np.array([[1, -1, 0], [0, 1, -1]], np.float32)

    def spread(image: Float) -> float:
        return float(total(times(np.abs(cv2.transform(image / light, tints)), shown)).sum())

    return min(1.0, 1.25 * (spread(there) + 1e-3) / (spread(new) + 1e-3))
