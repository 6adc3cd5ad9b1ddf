"""The embedded swapper: the source's skin and features, laid over the target's mesh, in the target's light.

A dense-mesh swap. Per face and frame: reshape the target's mesh towards the source's proportions, sample the source's
atlas at the right fineness, give it the target's light, keep what the target must keep (eyes, teeth, hair, whatever hangs
in front), match grain and sharpness, blend. Knows one face at a time; must not know files, tracks or models' files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from secondface.frames import RGB8, Box, Face, Float, Frame, Mask01, Session
from secondface.vision.face_cover import covered_share
from secondface.vision.mesh_layout import FaceLayout, lay_out
from secondface.vision.skin_light import light_field, skin_likelihood
from secondface.vision.source_atlas import LIGHT_REACH, SourceAtlas, build_atlas
from secondface.vision.texture_match import TextureGains, equalise, grain_of, luma, measure

_DARK_OFFSET = 5.0
"""Added before colours are divided, so that near-black pixels keep finite ratios."""


_RIM_REACH = 0.03
"""Detail finer than this, in face widths, is the source's up to the rim."""


@dataclass(frozen=True)
class SwapOptions:
    """How the swap is done; each default is what looked best."""

    shape: float = 1.0
    """How far features move towards the source's proportions, 0..1."""
    feather: float = 0.06
    """Width of the blend along the outline, in face widths."""
    occlusion: bool = True
    """Keep hair, hands, glasses and beards of the target in front."""
    match_texture: bool = True
    match_tone: bool = True


@dataclass(frozen=True)
class SwapSource:
    """A source person, ready to be laid over targets."""

    atlas: SourceAtlas

    @staticmethod
    def build(images: Sequence[tuple[RGB8, Face]], enlarge: Callable[[RGB8], RGB8] | None = None) -> SwapSource:
        """From one or several pictures with their faces; `enlarge` doubles a picture whose face is small."""
        return SwapSource(build_atlas(images, enlarge))


@dataclass
class _Memory:
    """What is remembered of a person between frames, so that nothing flickers."""

    scene: int
    texture: TextureGains | None = None
    colour: float | None = None


class MeshSwapper:
    """Swaps faces in frames that come in order. One swapper serves one stream."""

    def __init__(self, sources: Sequence[SwapSource], person_mask: Session | None = None, options: SwapOptions | None = None) -> None:
        self._sources = tuple(sources)
        self._person_mask = person_mask
        self._options = options or SwapOptions()
        self._memory: dict[int, _Memory] = {}

    def swap(self, frame: Frame, face: Face, scene: int = 0) -> Box | None:
        """Lay the face's source over it, in place; the box that changed, or None where nothing was done."""
        if face.source is None:
            return None
        atlas = self._sources[face.source].atlas
        layout = lay_out(frame, face, atlas.shape, self._options.shape, self._options.feather)
        if layout is None:
            return None
        memory = self._memory.get(face.track_id)
        if memory is None or memory.scene != scene:
            memory = self._memory[face.track_id] = _Memory(scene)
        target = frame.read(layout.box)
        frame.write(layout.box, self._compose(target, layout, atlas, memory))
        return layout.box

    def _compose(self, target: RGB8, layout: FaceLayout, atlas: SourceAtlas, memory: _Memory) -> RGB8:
        options = self._options
        small = layout.shrink(target)
        bent_small = layout.bend_small(small)
        zone = layout.zones(atlas)
        seen = layout.seen
        core = zone.core * (seen > 0.3)
        skin = zone.skin * skin_likelihood(bent_small, core)
        free = np.ones_like(seen)
        if options.occlusion:
            free -= covered_share(bent_small, zone, core, layout.coarse_width)
        light = light_field(bent_small, skin * free * (seen + 0.02), LIGHT_REACH * layout.coarse_width)
        alpha = layout.soften(zone.inside * seen * free * zone.certain)
        gain = (light + _DARK_OFFSET) / np.maximum(zone.light + _DARK_OFFSET, 1)
        sampled = layout.sample_small(atlas)
        gain *= _rim_factor(bent_small, sampled, gain, skin * free * seen * zone.certain, zone.middle, layout.coarse_width)
        openings = layout.openings()
        kept = layout.shrink(openings)
        if options.match_tone:
            gain *= _tone_factor(small, bent_small, sampled, gain, alpha * (1 - kept), layout.heart)
        colour = _colourfulness(bent_small, (sampled + _DARK_OFFSET) * gain, light, alpha * (1 - kept))
        memory.colour = colour if memory.colour is None else memory.colour + 0.2 * (colour - memory.colour)

        bent = layout.bend(target)
        alpha_full = layout.enlarge(alpha) * (1 - openings)
        new = layout.sample(atlas).astype(np.float32)
        new += _DARK_OFFSET
        new *= layout.enlarge(gain)
        new -= _DARK_OFFSET
        if memory.colour < 0.9:
            new = _mute(new, layout.enlarge(light), memory.colour)
        if options.match_texture:
            skin_full = layout.enlarge(zone.skin * free * seen) * alpha_full
            new = self._match_texture(new, bent, alpha_full, skin_full, memory)
        bent += alpha_full[..., None] * (new - bent)
        return layout.paste(target, bent)

    def _match_texture(self, new: Float, bent: Float, alpha: Mask01, skin: Mask01, memory: _Memory) -> Float:
        wanted = measure(luma(new), luma(bent), alpha, skin)
        memory.texture = wanted if memory.texture is None else memory.texture.toward(wanted, 0.25)
        new = equalise(new, memory.texture.bands)
        if memory.texture.grain > 0.1:
            new = new + grain_of(bent) * (skin * memory.texture.grain)[..., None]
        return new


def _rim_factor(bent: Float, sampled: Float, gain: Float, skin: Mask01, middle: Mask01, width_px: float) -> Float:
    """[h,w,3] factor on the gain that makes the new skin meet the target's at the rim, fading out towards the middle."""
    new = (sampled + _DARK_OFFSET) * gain
    reach = _RIM_REACH * width_px
    stacked = cv2.GaussianBlur(np.dstack([new * skin[..., None], skin]), (0, 0), reach)
    there = cv2.GaussianBlur((bent + _DARK_OFFSET) * skin[..., None], (0, 0), reach)
    known = stacked[..., 3:]
    ratio = (there + 0.02 * _DARK_OFFSET) / (stacked[..., :3] + 0.02 * _DARK_OFFSET)
    strength = (1 - middle)[..., None] * np.clip(known * 4, 0, 1)
    return (1 + strength * (np.clip(ratio, 0.5, 2) - 1)).astype(np.float32)


def _colourfulness(bent: Float, new: Float, light: Float, alpha: Mask01) -> float:
    """How colourful the target's detail is beside the new one's, 0..1: a grey picture must not get rosy lips."""

    def spread(image: Float) -> float:
        ratio = image / (light + _DARK_OFFSET)
        return float((np.abs(ratio[..., 0] - ratio[..., 1]) * alpha).sum() + (np.abs(ratio[..., 1] - ratio[..., 2]) * alpha).sum())

    return min(1.0, 1.25 * (spread(bent + _DARK_OFFSET) + 1e-3) / (spread(new) + 1e-3))


def _mute(new: Float, light: Float, colour: float) -> Float:
    """Bring the colours of `new` towards that of the light on it, at the same lightness."""
    grey = luma(new) / np.maximum(luma(light), 1)
    return colour * new + (1 - colour) * light * grey[..., None]


def _tone_factor(small: Float, bent: Float, sampled: Float, gain: Float, alpha: Mask01, heart: Mask01) -> Float:
    """[3] factor on the gain that gives the swapped face the mean colour that the target's face had."""
    weight = heart[..., None]
    wanted = (small * weight).sum((0, 1)) / weight.sum()
    factor = np.ones(3, np.float32)
    for _ in range(3):
        new = (sampled + _DARK_OFFSET) * gain * factor - _DARK_OFFSET
        mixed = bent + alpha[..., None] * (np.clip(new, 0, 255) - bent)
        have = (mixed * weight).sum((0, 1)) / weight.sum()
        factor *= np.clip((wanted + _DARK_OFFSET) / (have + _DARK_OFFSET), 0.8, 1.25)
    return np.clip(factor, 0.8, 1.25).astype(np.float32)
