"""The invisible watermark, read: from a picture, a part of one, mirrored, or from frames of a video together.

Decides at which scales and places it is looked for; must not know files. What is believed is for `watermark_code`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import cv2
import numpy as np
import numpy.typing as npt

from secondface.vision.watermark_code import Heard, decoded
from secondface.vision.watermark_tile import TILE, Carriers, Coefficients, Spectrum, Tile, can_hold, carriers, units

Levels: TypeAlias = npt.NDArray[np.uint8 | np.uint16]
"""[height, width] luma of any depth."""
_Residue: TypeAlias = npt.NDArray[np.float32]
"""[height, width] in the watermark's units: what a picture is made of once its own content is flattened."""

_OUTSTANDING = 5.0
"""Standard deviations by which the sync pattern must stand out of all places of the tile. See `decoded`."""
_MOST_PEAKS = 3
"""Watermarks that are looked for at one scale: a picture may have been through here before."""
_PARTS = np.arange(0.9925, 0.72, -0.0025)
"""Shortest sides of parts that were cut out, as shares of the whole picture's."""
_FINER = (-0.00125, 0.0, 0.00125)
_BEST_PARTS = 2
_ROUNDS = 3
_CUT = 2.5


@dataclass(frozen=True, slots=True)
class Reading:
    """A watermark that was found."""

    identity: int
    """64 bits."""
    confidence: float
    """Standard deviations by which its sync pattern stands out; 5 is the least that is looked at."""
    scale: float = 1.0
    """Shortest side over that of the picture which was marked; below 1 where a part was cut out."""
    mirrored: bool = False


class WatermarkReader:
    """Adds up frames of one size, and reads what they have in common."""

    def __init__(self) -> None:
        self._sum: _Residue | None = None
        self.frames = 0

    def add(self, luma: Levels) -> None:
        """One frame more; frames of another size or too small ones are passed over."""
        residue = _residue(luma)
        if residue is None or (self._sum is not None and self._sum.shape != residue.shape):
            return
        self._sum = residue if self._sum is None else self._sum + residue
        self.frames += 1

    def readings(self, *, parts: bool = True) -> tuple[Reading, ...]:
        """All watermarks, the surest first; with `parts` also in what was cut out of a larger picture (0.2 s)."""
        if self._sum is None:
            return ()
        whole = tuple(_at_scale(self._sum, 1.0))
        if whole or not parts:
            return whole
        return tuple(_in_parts(self._sum))


def find(luma: Levels, *, parts: bool = True) -> Reading | None:
    """The watermark in a picture [h,w], or None; a whole picture is answered at once, a part after a search."""
    readings = find_all(luma, parts=parts)
    return readings[0] if readings else None


def find_all(luma: Levels, *, parts: bool = True) -> tuple[Reading, ...]:
    """All watermarks in a picture [h,w], the surest first: two where a marked picture was marked again."""
    reader = WatermarkReader()
    reader.add(luma)
    return reader.readings(parts=parts)


def _residue(luma: Levels) -> _Residue | None:
    """The picture at the watermark's size, high-passed, and each place divided by how busy its surroundings are."""
    height, width = luma.shape
    if not can_hold(height, width):
        return None
    rows, columns = units(height, width)
    eight = luma if luma.dtype == np.uint8 else luma.astype(np.float32) * np.float32(255 / max(1, int(luma.max())))
    how = cv2.INTER_AREA if rows < height else cv2.INTER_CUBIC
    sized = np.asarray(cv2.resize(eight, (columns, rows), interpolation=how), np.float32)
    detail = sized - np.asarray(cv2.GaussianBlur(sized, (0, 0), 1.6), np.float32)
    spread = np.sqrt(np.asarray(cv2.GaussianBlur(detail * detail, (0, 0), 4), np.float32)) + np.float32(1)
    return np.clip(detail / spread, -_CUT, _CUT).astype(np.float32)


def _at_scale(residue: _Residue, scale: float) -> Iterator[Reading]:
    """The watermarks of a picture whose shortest side is `scale` times that of the picture which was marked."""
    straight = _whitened(_folded(residue, scale))
    found: list[tuple[float, Coefficients, bool]] = []
    for mirrored in (False, True):
        spectrum = _mirrored(straight) if mirrored else straight
        for outstanding, place in _peaks(spectrum):
            found.append((outstanding, carriers().coefficients(_moved(spectrum, *place)), mirrored))
    seen: set[int] = set()
    for outstanding, coefficients, mirrored in sorted(found, key=lambda each: -each[0])[:_MOST_PEAKS]:
        identity = _heard_identity(coefficients)
        if identity is not None and identity not in seen:
            seen.add(identity)
            yield Reading(identity, round(outstanding, 1), round(scale, 4), mirrored)


def _in_parts(residue: _Residue) -> Iterable[Reading]:
    """The watermark of the picture that this one was cut out of: the scales at which the sync pattern stands out."""
    tried: list[tuple[float, float]] = []
    for share in _PARTS:
        straight = _whitened(_folded(residue, float(share)))
        best = max(_outstanding(_sync(spectrum)) for spectrum in (straight, _mirrored(straight)))
        tried.append((best, float(share)))
    for best, share in sorted(tried, reverse=True)[:_BEST_PARTS]:
        if best < _OUTSTANDING - 1:
            break
        for finer in _FINER:
            if readings := tuple(_at_scale(residue, share + finer)):
                return readings
    return ()


def _folded(residue: _Residue, scale: float) -> Tile:
    """The sum of all tiles."""
    if scale != 1.0:
        size = max(1, round(residue.shape[1] * scale)), max(1, round(residue.shape[0] * scale))
        residue = np.asarray(cv2.resize(residue, size, interpolation=cv2.INTER_LINEAR), np.float32)
    rows, columns = (-(-side // TILE) * TILE for side in residue.shape)
    padded = np.zeros((rows, columns), np.float32)
    padded[: residue.shape[0], : residue.shape[1]] = residue
    return padded.reshape(rows // TILE, TILE, columns // TILE, TILE).sum((0, 2))


def _whitened(tile: Tile) -> Spectrum:
    """The tile's spectrum, each frequency divided by what is usual around it, so that none drowns the others."""
    spectrum = np.fft.rfft2(tile)
    usual = cv2.GaussianBlur(np.abs(spectrum).astype(np.float32), (0, 0), 3) + np.float32(1e-6)
    return np.asarray(spectrum / usual * carriers().band, np.complex64)


def _mirrored(spectrum: Spectrum) -> Spectrum:
    """The spectrum of the tile that is mirrored left to right, up to where it begins."""
    # of real values, the frequency (y, -x) is the conjugate of (-y, x)
    return np.asarray(np.conj(np.roll(spectrum[::-1], 1, axis=0)), np.complex64)


def _sync(spectrum: Spectrum) -> npt.NDArray[np.floating[Any]]:
    """[128,128]: how well the sync pattern fits if the tile begins there."""
    return np.fft.irfft2(spectrum * _sync_spectrum(), (TILE, TILE))


def _outstanding(fits: npt.NDArray[np.floating[Any]]) -> float:
    return float((fits.max() - fits.mean()) / (fits.std() + 1e-12))


def _peaks(spectrum: Spectrum) -> Iterator[tuple[float, tuple[int, int]]]:
    """Where the tile may begin, the best first, and how far each place stands out."""
    fits = _sync(spectrum)
    mean, spread = float(fits.mean()), float(fits.std()) + 1e-12
    for _ in range(_MOST_PEAKS):
        row, column = divmod(int(np.argmax(fits)), TILE)
        outstanding = (float(fits[row, column]) - mean) / spread
        if outstanding < _OUTSTANDING:
            return
        yield outstanding, (row, column)
        # the slope of a peak is no other one
        rows, columns = (np.arange(place - 3, place + 4) % TILE for place in (row, column))
        fits[np.ix_(rows, columns)] = mean


def _moved(spectrum: Spectrum, row: int, column: int) -> Spectrum:
    """The spectrum of the tile that begins at a place."""
    down = np.exp(2j * np.pi * row * np.fft.fftfreq(TILE))[:, None]
    right = np.exp(2j * np.pi * column * np.fft.rfftfreq(TILE))[None]
    return np.asarray(spectrum * down * right, np.complex64)


def _heard_identity(coefficients: Coefficients) -> int | None:
    """What the coefficients say, if it can be believed.

    Codecs take away some frequencies and leave others: each ring counts as much as it agrees, first with the sync
    pattern alone, then with what was heard too.
    """
    own = carriers()
    expected: Coefficients = own.sync
    for _ in range(_ROUNDS):
        weights = _ring_weights(own, coefficients, expected)
        heard: Heard = np.asarray(own.bits @ (coefficients * weights), np.float32)
        identity = decoded(heard)
        if identity is not None:
            return identity
        expected = own.mixed(np.tanh(1.5 * heard / (np.abs(heard).mean() + 1e-12)))
    return None


def _ring_weights(own: Carriers, coefficients: Coefficients, expected: Coefficients) -> Coefficients:
    count = int(own.rings.max()) + 1
    agreement = np.bincount(own.rings, coefficients * expected, count)
    shares = np.maximum(agreement / (np.bincount(own.rings, expected * expected, count) + 1e-12), 0)
    smooth = np.convolve(np.pad(shares, 1, mode="edge"), (0.25, 0.5, 0.25), "valid")
    return (smooth / (smooth.max() + 1e-12))[own.rings].astype(np.float32)


@lru_cache(maxsize=1)
def _sync_spectrum() -> Spectrum:
    own = carriers()
    return np.asarray(np.conj(own.spectrum(own.sync)), np.complex64)
