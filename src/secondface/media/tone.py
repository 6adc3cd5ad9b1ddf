"""From the light that a signal means to a picture for an ordinary display, and back: tone and gamut.

Decides how HDR and wide gamut look in eight-bit sRGB; the map goes both ways, so that what is changed in the picture
can be put back into the signal. Must not know planes or files.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

import cv2
import numpy as np
import numpy.typing as npt

from secondface.frames import RGB8
from secondface.media import transfer
from secondface.media.primaries import BT709_PRIMARIES, is_known, is_wide, luma_weights, rgb_to_rgb
from secondface.media.ycbcr import ColourSpace

Words: TypeAlias = npt.NDArray[np.uint16]
"""[height, width, 3] signal R'G'B' over the whole 16-bit range."""
Signal: TypeAlias = npt.NDArray[np.float32]
"""[height, width, 3] signal R'G'B', 0..255 with fractions."""
Light: TypeAlias = npt.NDArray[np.float32]
"""[height, width, 3] linear light."""
Table: TypeAlias = npt.NDArray[np.float32 | np.uint8 | np.uint16]
"""A curve, sampled at each word (65536) or byte (256)."""

WHITE = 203.0
"""cd/m2 of diffuse white in HDR (BT.2408): what is paper there is paper here."""
_KNEE = 0.6
"""Up to this part of diffuse white, where skin lies, nothing changes; highlights share the rest."""
_PEAK = 1000.0
"""cd/m2 that full white is written as: what most HDR is graded for, and HLG's nominal peak. More than that reads as
full white too, and stays what it is unless it is painted over."""
_HLG_GAMMA = 1.2
_TOP = 65535


class DisplayMap(Protocol):
    """The two directions between a signal and what an ordinary display shows for it."""

    @property
    def white(self) -> int:
        """The level of 255 at which white letters are as bright as paper; in HDR more would glare (BT.2408)."""
        ...

    def shown(self, words: Words) -> RGB8:
        """What vision and an eight-bit display get."""
        ...

    def shown_deep(self, words: Words) -> Words:
        """The same over the 16-bit range, for whole pictures that become SDR."""
        ...

    def signal(self, rgb: RGB8) -> Signal:
        """The signal that is shown as `rgb`; shown() of it is `rgb` again."""
        ...


def display_map(space: ColourSpace) -> DisplayMap | None:
    """The map of `space`; None where the signal itself is what a display shows (SDR of about BT.709's gamut)."""
    primaries = space.primaries if is_known(space.primaries) else BT709_PRIMARIES
    if space.transfer == transfer.HLG:
        return _hybrid(primaries)
    if space.transfer in (transfer.PQ, transfer.LINEAR) or is_wide(primaries):
        return _by_channel(space.transfer, primaries)
    return None


def compressed(light: transfer.Curve, peak: float) -> transfer.Curve:
    """Light in units of diffuse white, 0..peak, to 0..1: a line up to the knee, then a shoulder that ends in `peak`."""
    over, top = np.maximum(light - _KNEE, 0) / (1 - _KNEE), (peak - _KNEE) / (1 - _KNEE)
    return np.where(light <= _KNEE, light, _KNEE + (1 - _KNEE) * over * (1 + over / top**2) / (1 + over))


def expanded(shown: transfer.Curve, peak: float) -> transfer.Curve:
    """What compressed() gives `shown` for."""
    rest, top = np.maximum(shown - _KNEE, 0) / (1 - _KNEE), (peak - _KNEE) / (1 - _KNEE)
    over = top**2 / 2 * (np.sqrt((1 - rest) ** 2 + 4 * rest / top**2) - (1 - rest))
    return np.where(shown <= _KNEE, shown, _KNEE + (1 - _KNEE) * over)


@dataclass(frozen=True, slots=True, eq=False)
class _ByChannel:
    """Each channel has its own curve; only the gamut mixes them."""

    light_of_word: Table
    whole_light_of_word: Table
    """The same for pictures that are only looked at: its shoulder has room for the brightest signal."""
    to_709: Table
    from_709: Table
    signal_of_root: Table
    """Signal by the square root of light, which spreads out the dark end where eyes and codes are finest."""
    white: int

    def shown(self, words: Words) -> RGB8:
        return np.asarray(_looked_up(self._light_of(words, self.light_of_word), _byte_of_light()), np.uint8)

    def shown_deep(self, words: Words) -> Words:
        return np.asarray(_looked_up(self._light_of(words, self.whole_light_of_word), _word_of_light()), np.uint16)

    def _light_of(self, words: Words, table: Table) -> Words:
        return _words(cv2.transform(_looked_up(words, table), self.to_709))

    def signal(self, rgb: RGB8) -> Signal:
        return np.asarray(_looked_up(_root(_light(rgb, self.from_709)), self.signal_of_root), np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class _Hybrid:
    """HLG: the display's own gamma works on luminance, between the camera's curve and ours (BT.2100 table 5)."""

    scene_of_word: Table
    luminance: Table
    shown_of_root: Table
    to_709: Table
    from_709: Table
    light_of_root: Table
    signal_of_root: Table
    white: int

    def shown(self, words: Words) -> RGB8:
        return np.asarray(_looked_up(self._light_of(words), _byte_of_light()), np.uint8)

    def shown_deep(self, words: Words) -> Words:
        return np.asarray(_looked_up(self._light_of(words), _word_of_light()), np.uint16)

    def _light_of(self, words: Words) -> Words:
        light = self._with_luminance_to(_looked_up(words, self.scene_of_word), _HLG_GAMMA - 1)
        return _words(cv2.transform(_looked_up(_root(light), self.shown_of_root), self.to_709))

    def signal(self, rgb: RGB8) -> Signal:
        light = _looked_up(_root(_light(rgb, self.from_709)), self.light_of_root)
        scene = self._with_luminance_to(light, 1 / _HLG_GAMMA - 1)
        return np.asarray(_looked_up(_root(scene), self.signal_of_root), np.float32)

    def _with_luminance_to(self, light: Any, power: float) -> Any:
        factor = cv2.pow(np.maximum(cv2.transform(light, self.luminance), np.float32(1e-6)), power)
        return light * factor[:, :, None]


@lru_cache(maxsize=32)
def _by_channel(code: int, primaries: int) -> _ByChannel:
    signal, root = np.linspace(0, 1, _TOP + 1), np.linspace(0, 1, _TOP + 1) ** 2
    match code:
        case transfer.PQ:
            absolute = transfer.pq_light(signal) / WHITE
            light = compressed(np.minimum(absolute, _PEAK / WHITE), _PEAK / WHITE)
            whole = compressed(absolute, transfer.PQ_PEAK / WHITE)
            back = transfer.pq_signal(expanded(root, _PEAK / WHITE) * WHITE)
        case transfer.LINEAR:
            light = whole = signal
            back = root
        case _:
            # the same curve both ways: gray keeps its code
            light = whole = transfer.srgb_light(signal)
            back = transfer.srgb_signal(root)
    to_709 = rgb_to_rgb(primaries, BT709_PRIMARIES)
    return _ByChannel(_table(light), _table(whole), _table(to_709), _table(np.linalg.inv(to_709)), _table(back * 255),
                      _paper() if code == transfer.PQ else 255)  # fmt: skip


@lru_cache(maxsize=8)
def _hybrid(primaries: int) -> _Hybrid:
    signal, root = np.linspace(0, 1, _TOP + 1), np.linspace(0, 1, _TOP + 1) ** 2
    peak = _PEAK / WHITE
    red, blue = luma_weights(primaries)
    to_709 = rgb_to_rgb(primaries, BT709_PRIMARIES)
    return _Hybrid(
        _table(transfer.hlg_scene(signal)), _table(np.array([[red, 1 - red - blue, blue]])),
        _table(compressed(root * peak, peak)), _table(to_709), _table(np.linalg.inv(to_709)),
        _table(expanded(root, peak) / peak), _table(transfer.hlg_signal(root) * 255), _paper(),
    )  # fmt: skip


def _paper() -> int:
    """The level of 255 that diffuse white is shown as."""
    return round(255 * float(transfer.srgb_signal(compressed(np.ones(1), _PEAK / WHITE))[0]))


@lru_cache(maxsize=1)
def _byte_of_light() -> Table:
    light = np.linspace(0, 1, _TOP + 1)
    return np.round(transfer.srgb_signal(light) * 255).astype(np.uint8)


@lru_cache(maxsize=1)
def _word_of_light() -> Table:
    light = np.linspace(0, 1, _TOP + 1)
    return np.round(transfer.srgb_signal(light) * _TOP).astype(np.uint16)


@lru_cache(maxsize=1)
def _light_of_byte() -> Table:
    return _table(transfer.srgb_light(np.linspace(0, 1, 256)))


def _light(rgb: RGB8, matrix: Table) -> Light:
    return np.asarray(cv2.transform(_looked_up(rgb, _light_of_byte()), matrix), np.float32)


def _root(light: Any) -> Words:
    return _words(cv2.sqrt(np.maximum(light, np.float32(0))))


def _words(values: Any) -> Words:
    """0..1 to the 16-bit range, rounded and clipped."""
    multiply: Any = cv2.multiply  # its stub does not know scalars
    return np.asarray(multiply(values, (float(_TOP),) * 4, dtype=cv2.CV_16U), np.uint16)


def _looked_up(index: npt.NDArray[np.uint8 | np.uint16], table: Table) -> npt.NDArray[Any]:
    look_up: Any = cv2.LUT  # its stub does not know 16-bit indices
    return np.asarray(look_up(index, table))


def _table(values: Any) -> Table:
    return np.asarray(values, np.float32)
