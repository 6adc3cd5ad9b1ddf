"""The code of the invisible watermark: 64 bits of identity and a CRC-16 in Reed-Solomon(20,10).

Decides which 160 bits stand for an identity, and when what was heard of them is believed; must not know pictures.
"""

from __future__ import annotations

import binascii
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from reedsolo import ReedSolomonError, RSCodec

CODED_BITS = 160

Bits: TypeAlias = npt.NDArray[np.uint8]
"""[160] zeros and ones."""
Heard: TypeAlias = npt.NDArray[np.float32]
"""[160]: above zero for a one; the further from zero, the surer."""

_IDENTITY_BYTES, _CRC_BYTES, _CHECK_BYTES = 8, 2, 10
_ERASURES = (0, 2, 4, 6, 8)
"""How many of the least sure bytes are given up; each costs half as much of the code as a wrong byte."""
_DOUBTFUL_FROM, _SUPPORT = 6, 2.5
"""From so many erasures on, the given-up bytes must speak for what was decoded, by so many standard deviations."""


def coded(identity: int) -> Bits:
    """The bits that stand for an identity of 64 bits."""
    message = identity.to_bytes(_IDENTITY_BYTES, "big")
    message += binascii.crc_hqx(message, 0xFFFF).to_bytes(_CRC_BYTES, "big")
    return np.unpackbits(np.frombuffer(bytes(_codec().encode(message)), np.uint8))


def decoded(heard: Heard) -> int | None:
    """The identity that was heard, or None.

    How often noise passes: a random word is accepted with 8 erasures if its 12 other bytes lie within one wrong byte
    of a code word (12 x 255 / 256^2, 4.7e-2), with 6 within two (1.4e-3), with 4 within three (3e-5); its CRC is
    right once in 65,536; and the erased bytes agree by 2.5 standard deviations once in 160. Together 5e-9 a call.
    The detector calls this at most 18 times a picture, and only where the sync pattern stands 5 standard deviations
    out of 16,384 places, which noise does in at most half of all full searches: less than 1e-7 a picture.
    """
    confidence = np.abs(heard)
    scale = float(confidence.mean()) + 1e-12
    # the chance that a byte holds a wrong bit, by the logistic function of how sure its bits are
    doubt = (1 / (1 + np.exp(3 * confidence / scale))).reshape(-1, 8).sum(axis=1)
    doubtful = np.argsort(-doubt, kind="stable")
    word = bytes(np.packbits(heard > 0))
    for count in _ERASURES:
        erased = [int(place) for place in doubtful[:count]]
        identity = _identity(word, erased)
        if identity is not None and (count < _DOUBTFUL_FROM or _support(identity, heard, erased) >= _SUPPORT):
            return identity
    return None


def _identity(word: bytes, erased: list[int]) -> int | None:
    try:
        message = bytes(_codec().decode(word, erase_pos=erased)[0])
    except (ReedSolomonError, ZeroDivisionError, IndexError):
        # the library trips over some words that are far from all code words
        return None
    content, crc = message[:_IDENTITY_BYTES], message[_IDENTITY_BYTES:]
    if len(message) != _IDENTITY_BYTES + _CRC_BYTES or binascii.crc_hqx(content, 0xFFFF) != int.from_bytes(crc, "big"):
        return None
    return int.from_bytes(content, "big")


def _support(identity: int, heard: Heard, places: list[int]) -> float:
    """How far the bytes at `places` speak for an identity, in standard deviations of noise."""
    signs = (coded(identity).astype(np.float32) * 2 - 1).reshape(-1, 8)[places]
    parts = heard.reshape(-1, 8)[places]
    return float((signs * parts).sum() / (np.sqrt((parts * parts).sum()) + 1e-12))


@lru_cache(maxsize=1)
def _codec() -> RSCodec:
    return RSCodec(_CHECK_BYTES)
