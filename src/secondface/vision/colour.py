"""Colour correction: exposure, white balance, contrast and saturation, set by hand or measured, steady through a video.

Decides curves and their limits; must not know faces, files or the request.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np
import numpy.typing as npt

from secondface.frames import RGB8, Box, Frame

Curve = npt.NDArray[np.float64]
"""[256] display values 0..1, one for each input level."""

_LUMA = np.array([0.2126, 0.7152, 0.0722])
_SHOULDER = 0.6  # light above this is rolled off instead of clipped
_MEASURED_SIDE = 256
_ORDINARY_LIGHT = (0.08, 0.4)  # median light of pictures whose exposure is left alone
_SETTLE = 0.06  # share of the way to a frame's own measure: about half a second at 25 fps


@dataclass(frozen=True, slots=True)
class ColourLook:
    """What to change; the default changes nothing."""

    exposure: float = 0.0
    """Stops of light: +1 doubles it."""
    temperature: float = 0.0
    """-1 cooler .. +1 warmer."""
    tint: float = 0.0
    """-1 greener .. +1 more magenta."""
    contrast: float = 0.0
    """-1 flatter .. +1 stronger; black and white stay."""
    saturation: float = 0.0
    """-1 grey .. +1 twice as vivid."""

    @property
    def neutral(self) -> bool:
        return self == ColourLook()

    def plus(self, other: ColourLook) -> ColourLook:
        return ColourLook(*(mine + theirs for mine, theirs in zip(self._values(), other._values(), strict=True)))

    def towards(self, other: ColourLook, share: float) -> ColourLook:
        """The look that lies `share` (0..1) of the way from this one to another."""
        pairs = zip(self._values(), other._values(), strict=True)
        return ColourLook(*(mine + share * (theirs - mine) for mine, theirs in pairs))

    def _values(self) -> tuple[float, ...]:
        return self.exposure, self.temperature, self.tint, self.contrast, self.saturation


class ColourCorrector:
    """Applies a look to frames in order; with `auto`, what each frame lacks is measured and followed slowly."""

    def __init__(self, look: ColourLook | None = None, *, auto: bool = False) -> None:
        self._look = look or ColourLook()
        self._auto = auto
        self._measured: ColourLook | None = None
        self._scene = 0

    def correct(self, frame: Frame, scene: int = 0, box: Box | None = None) -> Box | None:
        """Correct the frame, or only `box` of it; returns what was written, None for a look that changes nothing."""
        look = self.look_for(frame, scene)
        if look.neutral:
            return None
        region = box or Box(0, 0, frame.width, frame.height)
        frame.write(region, apply_look(frame.read(region), look))
        return region

    def look_for(self, frame: Frame, scene: int = 0) -> ColourLook:
        """The look of this frame: what was asked for and, with `auto`, what the scene was measured to lack."""
        if not self._auto:
            return self._look
        measured = measure_look(frame.thumbnail(_MEASURED_SIDE))
        if self._measured is None or scene != self._scene:
            self._measured, self._scene = measured, scene
        else:
            self._measured = self._measured.towards(measured, _SETTLE)
        return self._look.plus(self._measured)


def apply_look(rgb: RGB8, look: ColourLook) -> RGB8:
    """The picture [h,w,3] with a look; a neutral look gives the same pixels."""
    if look.neutral:
        return rgb.copy()
    out = np.asarray(cv2.LUT(rgb, _curves(look)), np.uint8)
    if look.saturation == 0:
        return out
    keep = max(0.0, 1 + look.saturation)
    matrix = keep * np.eye(3) + (1 - keep) * np.tile(_LUMA, (3, 1))
    return np.asarray(cv2.transform(out, matrix), np.uint8)


def measure_look(rgb: RGB8) -> ColourLook:
    """What a picture [h,w,3] lacks: a grey balance and mid exposure, within limits that keep its mood.

    Shades of grey (Finlayson and Trezzi 2004, Minkowski norm 6) over pixels that are neither clipped nor strongly
    coloured; a picture with few such pixels is taken as it is.
    """
    light = _decode(rgb.reshape(-1, 3) / 255)
    high, low = light.max(1), light.min(1)
    usable = light[(high < 0.95) & (high > 0.01) & (low > 0.35 * high)]
    if len(usable) < 0.02 * len(light):
        return ColourLook()
    red, green, blue = np.log2(np.power(np.power(usable, 6).mean(0), 1 / 6))
    middle = float(np.median(light @ _LUMA))
    # Only a part of what is measured, and nothing for ordinary light: sunset and night must not turn into noon.
    return ColourLook(
        exposure=float(np.clip(0.7 * np.log2(np.clip(middle, *_ORDINARY_LIGHT) / max(middle, 1e-3)), -0.5, 1.2)),
        temperature=float(np.clip(0.5 * (blue - red) / (2 * _WARMTH), -0.35, 0.35)),
        tint=float(np.clip(0.5 * (green - (red + blue) / 2) / _TINT, -0.25, 0.25)),
    )


_WARMTH, _TINT = 0.5, 0.5  # stops that a temperature or tint of 1 moves red, blue and green


@lru_cache(maxsize=64)
def _curves(look: ColourLook) -> npt.NDArray[np.uint8]:
    """[1,256,3] for cv2.LUT: exposure and white balance in light, contrast on display values."""
    gains = np.exp2([_WARMTH * look.temperature, -_TINT * look.tint, -_WARMTH * look.temperature])
    gains *= 2**look.exposure / float(gains @ _LUMA)
    light = _decode(np.arange(256) / 255)
    curves = [_contrasted(_encode(_exposed(light, float(gain))), look.contrast) for gain in gains]
    return np.round(np.stack(curves, axis=1)[None] * 255).astype(np.uint8)


def _exposed(light: Curve, gain: float) -> Curve:
    """Light times gain; where that nears white, a shoulder of the same slope leads to white."""
    brighter = light * gain
    if gain <= 1:
        return brighter
    over = np.clip((brighter - _SHOULDER) / (gain - _SHOULDER), 0, 1)
    slope = (gain - _SHOULDER) / (1 - _SHOULDER)
    return np.where(
        brighter <= _SHOULDER, brighter, _SHOULDER + (1 - _SHOULDER) * slope * over / (1 + (slope - 1) * over)
    )


def _contrasted(values: Curve, contrast: float) -> Curve:
    if contrast >= 0:
        return values + contrast * (values * values * (3 - 2 * values) - values)
    inverse = 0.5 - np.sin(np.arcsin(1 - 2 * np.clip(values, 0, 1)) / 3)
    return values - contrast * (inverse - values)


def _decode(display: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """sRGB display values to light, both 0..1."""
    return np.where(display <= 0.04045, display / 12.92, ((display + 0.055) / 1.055) ** 2.4)


def _encode(light: Curve) -> Curve:
    return np.where(light <= 0.0031308, light * 12.92, 1.055 * np.power(np.maximum(light, 1e-9), 1 / 2.4) - 0.055)
