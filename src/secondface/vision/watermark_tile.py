"""The tile of the invisible watermark: which pattern stands for which bit, and the tile that holds an identity.

The picture, its shortest side taken as 320 units, is covered with one tile of 128x128 units again and again, so that
any part of it that is larger than a tile holds everything. Each bit adds or takes away a pattern of the tile's middle
frequencies; one more pattern, which is always there, is what a detector looks for first.

Decides the patterns, which must stay the same for ever; must not know pictures.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from secondface.vision.watermark_code import CODED_BITS, Bits, coded

TILE = 128
SHORTEST_SIDE = 320
"""Units along a picture's shortest side. Fewer make the pattern coarse enough to be seen, more are lost by codecs."""

Coefficients: TypeAlias = npt.NDArray[np.float32]
"""[n]: real parts, then imaginary parts, of the tile's used frequencies."""
Spectrum: TypeAlias = npt.NDArray[np.complex64]
"""[128, 65] as numpy's rfft2 gives it."""
Tile: TypeAlias = npt.NDArray[np.float32]
"""[128, 128]"""

_LOWEST, _HIGHEST = 0.04, 0.35
"""Cycles a unit: below lies most of a picture's own content, above what codecs and halving throw away."""
_SYNC_SHARE = 0.15
"""Of the tile's power; enough to be found wherever the bits can be read."""
_SEED = b"secondface watermark 1"
_RINGS = 8
_LEAST_SIDE, _LONGEST = 48, 64


@dataclass(frozen=True)
class Carriers:
    """The patterns, as coefficients of unit length that are orthogonal to each other."""

    places: npt.NDArray[np.intp]
    """[n/2] Where in a flattened spectrum the used frequencies lie."""
    bits: npt.NDArray[np.float32]
    """[160, n]"""
    sync: Coefficients
    rings: npt.NDArray[np.intp]
    """[n] Which of the rings around frequency zero a coefficient belongs to; each holds as many."""

    @property
    def band(self) -> npt.NDArray[np.bool_]:
        """[128, 65] Which frequencies are used."""
        used = np.zeros(TILE * (TILE // 2 + 1), np.bool_)
        used[self.places] = True
        return used.reshape(TILE, TILE // 2 + 1)

    def coefficients(self, spectrum: Spectrum) -> Coefficients:
        """The used frequencies of a spectrum."""
        used = spectrum.ravel()[self.places]
        return np.concatenate([used.real, used.imag]).astype(np.float32)

    def spectrum(self, coefficients: Coefficients) -> Spectrum:
        """The other way round; what is not used is zero."""
        half = len(self.places)
        flat = np.zeros(TILE * (TILE // 2 + 1), np.complex64)
        flat[self.places] = coefficients[:half] + 1j * coefficients[half:]
        return flat.reshape(TILE, TILE // 2 + 1)

    def mixed(self, signs: npt.NDArray[np.floating]) -> Coefficients:
        """The coefficients of a tile whose bits have these signs, of unit power where all are -1 or 1."""
        data = np.float32(np.sqrt((1 - _SYNC_SHARE) / CODED_BITS)) * (signs.astype(np.float32) @ self.bits)
        return np.asarray(data + np.float32(np.sqrt(_SYNC_SHARE)) * self.sync, np.float32)


@lru_cache(maxsize=1)
def carriers() -> Carriers:
    """The patterns of this watermark; the same on every machine, up to rounding."""
    places, radius = _used_frequencies()
    count = 2 * len(places)
    # numpy's own generators may change from one version to the next; a hash does not
    stream = hashlib.shake_256(_SEED).digest((CODED_BITS + 1) * (-(-count // 8)))
    signs = np.unpackbits(np.frombuffer(stream, np.uint8)).reshape(CODED_BITS + 1, -1)[:, :count]
    wanted = signs.astype(np.float64) * 2 - 1
    # Gram and Schmidt's answer by three large calls: the many small ones of a QR wait for each other's threads, for
    # seconds on a busy machine, where nobody can stop them.
    rows = (np.linalg.inv(np.linalg.cholesky(wanted @ wanted.T)) @ wanted).astype(np.float32)
    rank = np.empty(len(places), np.intp)
    rank[np.argsort(radius, kind="stable")] = np.arange(len(places)) * _RINGS // len(places)
    return Carriers(places, rows[:CODED_BITS], rows[CODED_BITS], np.concatenate([rank, rank]))


def tile_of(identity: int, tilt: float = 0.0) -> Tile:
    """The tile that holds an identity, of mean 0 and variance 1; each frequency counts by its length to the -`tilt`.

    It begins at a place of its own: of two watermarks over each other, a later run's and an earlier one's, each is
    noise for the other, where at one place their bits would cancel.
    """
    own = carriers()
    bits: Bits = coded(identity)
    spectrum = own.spectrum(own.mixed(bits.astype(np.float32) * 2 - 1))
    tile = np.fft.irfft2(spectrum * np.maximum(_radius(), _LOWEST) ** -tilt, (TILE, TILE))
    down, right = divmod(int.from_bytes(hashlib.sha256(identity.to_bytes(8, "big")).digest()[:2], "big") // 4, TILE)
    return np.roll(tile / tile.std(), (down, right), (0, 1)).astype(np.float32)


def can_hold(height: int, width: int) -> bool:
    """Whether there are pixels enough for a watermark, and no strip that would be mostly tiles beside each other."""
    return min(height, width) >= _LEAST_SIDE and max(height, width) <= _LONGEST * min(height, width)


def units(height: int, width: int) -> tuple[int, int]:
    """Height and width of a picture in the watermark's units."""
    scale = SHORTEST_SIDE / min(height, width)
    return max(1, round(height * scale)), max(1, round(width * scale))


def _used_frequencies() -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]:
    """The places of the used frequencies in a flattened spectrum, and how far each is from zero."""
    radius = _radius()
    used = (radius >= _LOWEST) & (radius <= _HIGHEST)
    used[:, 0] = False  # there, a coefficient and its mirror image are not independent
    places = np.flatnonzero(used)
    return places, radius.ravel()[places]


def _radius() -> npt.NDArray[np.float64]:
    """[128, 65] Length of each frequency of a spectrum, in cycles a unit."""
    return np.hypot(np.fft.fftfreq(TILE)[:, None], np.fft.rfftfreq(TILE)[None])
