"""The embedded swapper: the source's skin and features, laid over the target's mesh, in the target's light.

A dense-mesh swap. Per face and frame: reshape the target's mesh towards the source's proportions, sample the source's
atlas at the right fineness, give it the target's light, keep what the target must keep (eyes, teeth, hair, whatever
hangs in front), match grain and sharpness, blend. Knows one face at a time; must not know files,
tracks or models' files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from secondface.frames import RGB8, Box, Face, Float, Frame, Mask01
from secondface.vision.kept_light import KeptLight, glance
from secondface.vision.mesh_layout import FaceLayout, lay_out
from secondface.vision.mesh_shape import proportion_step
from secondface.vision.relight import DARK_OFFSET, Relit, relight
from secondface.vision.source_atlas import SourceAtlas, build_atlas
from secondface.vision.texture_match import TextureGains, add_grain, equalise, luma, measure

_MOST_REMEMBERED = 64
"""People at once; a long film has more passers-by than that."""
_MEASURE_EVERY = 3
"""Sharpness, grain and proportions change slowly, so a stream is measured on every third frame."""


@dataclass(frozen=True)
class SwapOptions:
    """How the swap is done; each default is what looked best."""

    shape: float = 0.9
    """How far features move towards the source's proportions, 0..1."""
    feather: float = 0.06
    """Width of the blend along the outline, in face widths."""
    occlusion: bool = True
    """Keep hair, hands, glasses and beards of the target in front."""


@dataclass(frozen=True)
class SwapSource:
    """A source person, ready to be laid over targets."""

    atlas: SourceAtlas

    @staticmethod
    def build(images: Sequence[tuple[RGB8, Face]], enlarge: Callable[[RGB8], RGB8] | None = None) -> SwapSource:
        """From one or several pictures with their faces; `enlarge` doubles the crop of a face that is small."""
        return SwapSource(build_atlas(images, enlarge))


@dataclass
class _Memory:
    """What is remembered of a person between frames, so that nothing flickers."""

    scene: int
    prepared: int = 0
    blended: int = 0
    wanted: Float | None = None
    """How the points are to move, as measured last, in face widths; ..."""
    step: Float | None = None
    """... and how they do, which follows it."""
    texture: TextureGains | None = None
    colour: float | None = None
    lips: float | None = None
    light: KeptLight | None = None


@dataclass(frozen=True)
class PreparedSwap:
    """A face of which only the pixels are still to be made."""

    frame: Frame
    target: RGB8
    layout: FaceLayout
    openings: Mask01
    """`layout.openings()` without blur; `blend` makes softer ones where the target is blurred."""
    relit: Relit
    atlas: SourceAtlas
    colour: float
    memory: _Memory


class MeshSwapper:
    """Swaps faces in frames that come in order. One swapper serves one stream."""

    def __init__(self, sources: Sequence[SwapSource], options: SwapOptions | None = None) -> None:
        self._sources = tuple(sources)
        self._options = options or SwapOptions()
        self._memory: dict[int, _Memory] = {}

    def swap(self, frame: Frame, face: Face, scene: int = 0) -> Box | None:
        """Lay the face's source over it, in place; the box that changed, or None where nothing was done."""
        prepared = self.prepare(frame, face, scene)
        return None if prepared is None else self.blend(prepared)

    def prepare(self, frame: Frame, face: Face, scene: int = 0) -> PreparedSwap | None:
        """The first half of a swap: geometry, light and masks. None where nothing is to be done.

        Call it for one face after the other; `blend` may run meanwhile in another thread, on a face of another frame.
        """
        if face.source is None:
            return None
        atlas = self._sources[face.source].atlas
        memory = self._remember(face.track_id, scene)
        step = self._step(memory, face, atlas)
        layout = lay_out(frame, face, step, self._options.feather, memory.light and memory.light.points)
        if layout is None:
            return None
        target = frame.read(layout.box)
        openings = layout.openings()
        relit = self._relit(layout, layout.shrink(target), openings, atlas, memory)
        memory.colour = _ease(memory.colour, relit.colour, 0.2)
        return PreparedSwap(frame, target, layout, openings, relit, atlas, memory.colour, memory)

    def blend(self, prepared: PreparedSwap) -> Box:
        """The second half: all that is done at the frame's own resolution. In the order of `prepare`."""
        box = prepared.layout.box
        prepared.frame.write(box, self._compose(prepared))
        prepared.memory.blended += 1
        return box

    def _step(self, memory: _Memory, face: Face, atlas: SourceAtlas) -> Float:
        """How the points move in this frame."""
        if memory.wanted is None or memory.prepared % _MEASURE_EVERY == 1:  # texture's turn is another one
            memory.wanted = proportion_step(face.points, atlas.shape, self._options.shape)
        memory.prepared += 1
        before = memory.step
        memory.step = memory.wanted if before is None else before + np.float32(0.15) * (memory.wanted - before)
        return memory.step

    def _relit(self, layout: FaceLayout, small: Float, openings: Mask01, atlas: SourceAtlas, memory: _Memory) -> Relit:
        """Light and masks: those of the frame before, moved along, as long as the face looks the same."""
        look = glance(small, layout)
        if memory.light is not None and memory.light.serves(look):
            return memory.light.moved_to(layout)
        relit = relight(layout, small, layout.shrink(openings), atlas, self._options.occlusion, memory.lips)
        memory.lips = _ease(memory.lips, relit.lips_seen, 0.3)
        memory.light = KeptLight(relit, layout.coarse_points, look)
        return relit

    def _remember(self, track_id: int, scene: int) -> _Memory:
        """What is known of that person in this scene; the longest unseen are forgotten."""
        memory = self._memory.pop(track_id, None)
        if memory is None or memory.scene != scene:
            memory = _Memory(scene)
        self._memory[track_id] = memory
        if len(self._memory) > _MOST_REMEMBERED:
            del self._memory[next(iter(self._memory))]
        return memory

    def _compose(self, prepared: PreparedSwap) -> RGB8:
        """The new pixels of the box, with DARK_OFFSET added until the end."""
        layout, relit, memory, target = prepared.layout, prepared.relit, prepared.memory, prepared.target
        alpha = layout.enlarge(relit.alpha)
        blur_px = memory.texture.blur_px if memory.texture else 0.0
        outside = 1 - (layout.openings(blur_px) if blur_px > 0 else prepared.openings)
        new = cv2.multiply(_lifted(layout.sample(prepared.atlas)), layout.enlarge(relit.gain))
        seen = layout.enlarge(layout.covered)
        under = _lifted(cv2.blendLinear(layout.bend(target), target, seen, 1 - seen))
        if prepared.colour < 0.9:
            new = _mute(new, layout.enlarge(relit.light) + np.float32(DARK_OFFSET), prepared.colour)
        skin = layout.enlarge(relit.skin) * alpha * outside
        first = memory.texture is None
        texture = self._texture(memory, new, under, alpha * outside, skin)
        if first and texture.blur_px > 0:
            outside = 1 - layout.openings(texture.blur_px)
        new = add_grain(equalise(new, texture.bands), under, skin, texture.grain)
        alpha *= outside
        mixed = cv2.blendLinear(new, under, alpha, 1 - alpha)
        return cv2.add(mixed, (-DARK_OFFSET,) * 4, dtype=cv2.CV_8U)

    def _texture(self, memory: _Memory, new: Float, under: Float, alpha: Mask01, skin: Mask01) -> TextureGains:
        """How sharp and how grainy the new pixels are to be; measured now and then, eased in between."""
        if memory.texture is None or memory.blended % _MEASURE_EVERY == 0:
            wanted = measure(luma(new), luma(under), alpha, skin)
            memory.texture = wanted if memory.texture is None else memory.texture.toward(wanted, 0.4)
        return memory.texture


def _lifted(image: RGB8) -> Float:
    return image.astype(np.float32) + np.float32(DARK_OFFSET)


def _ease(old: float | None, new: float, rate: float) -> float:
    return new if old is None else old + rate * (new - old)


def _mute(new: Float, light: Float, colour: float) -> Float:
    """Bring the colours of `new` towards that of the light on it, at the same lightness."""
    grey = luma(new) / np.maximum(luma(light), 1)
    return (np.float32(colour) * new + np.float32(1 - colour) * light * grey[..., None]).astype(np.float32)
