"""Encoding pictures of more than eight bits: PNG of 16, AVIF of 10 or 12.

Decides how samples and descriptions are laid down in formats that Pillow writes in eight bits only.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from secondface.errors import EncodeFailed
from secondface.media.png_chunks import chunk, profile_chunk, text_chunk, with_chunks, xmp_chunk
from secondface.media.tone import Words


@dataclass(frozen=True, slots=True)
class Descriptions:
    """What stands beside the pixels; exif without its `Exif` header, cicp as primaries and transfer."""

    exif: bytes | None = None
    xmp: bytes | None = None
    profile: bytes | None = None
    cicp: tuple[int, int] | None = None
    texts: Sequence[tuple[str, str]] = ()


def png16(words: Words, alpha: npt.NDArray[np.uint16] | None, about: Descriptions) -> bytes:
    """A PNG of words [h,w] or [h,w,3]."""
    png = _encoded(".png", _layers(words, alpha), [cv2.IMWRITE_PNG_COMPRESSION, 4])
    stored: list[bytes] = []
    if about.cicp is not None:
        stored.append(chunk(b"cICP", bytes((*about.cicp, 0, 1))))
    if about.profile:
        stored.append(profile_chunk(about.profile))
    if about.exif:
        stored.append(chunk(b"eXIf", about.exif))
    if about.xmp:
        stored.append(xmp_chunk(about.xmp))
    stored += [text_chunk(key, text) for key, text in about.texts]
    return with_chunks(png, b"".join(stored))


def avif_deep(
    words: Words, alpha: npt.NDArray[np.uint16] | None, about: Descriptions, depth: int, quality: int
) -> bytes:
    """An AVIF of 10 or 12 bits from words [h,w,3]."""
    # to the nearest: a code that was spread over 16 bits must come back as itself
    top = np.uint32((1 << depth) - 1)
    codes = [
        ((layer * top + np.uint32(32_767)) // np.uint32(65_535)).astype(np.uint16)
        for layer in (words, *(() if alpha is None else (alpha,)))
    ]
    settings = [cv2.IMWRITE_AVIF_DEPTH, depth, cv2.IMWRITE_AVIF_QUALITY, quality, cv2.IMWRITE_AVIF_SPEED, 7]
    kinds: list[int] = []
    bodies: list[npt.NDArray[np.uint8]] = []
    for kind, body in (
        (cv2.IMAGE_METADATA_EXIF, about.exif), (cv2.IMAGE_METADATA_XMP, about.xmp),
        (cv2.IMAGE_METADATA_ICCP, about.profile),
    ):  # fmt: skip
        if body:
            kinds.append(kind)
            bodies.append(np.frombuffer(body, np.uint8))
    layers = _layers(codes[0], codes[1] if alpha is not None else None)
    done, encoded = cv2.imencodeWithMetadata(".avif", layers, kinds, bodies, settings)
    if not done:
        raise EncodeFailed("AVIF")
    content = bytearray(encoded.tobytes())
    at = content.find(b"colrnclx")
    if about.cicp is not None and at > 0:
        # OpenCV cannot be told; these bytes count, whatever the picture inside says
        content[at + 8 : at + 12] = struct.pack(">HH", *about.cicp)
    return bytes(content)


def _layers(words: npt.NDArray[np.uint16], alpha: npt.NDArray[np.uint16] | None) -> npt.NDArray[np.uint16]:
    """Blue first, as OpenCV wants it; gray with alpha becomes colour."""
    if words.ndim == 2 and alpha is None:
        return words
    colour = np.repeat(words[..., None], 3, axis=2) if words.ndim == 2 else words[..., ::-1]
    return np.ascontiguousarray(colour if alpha is None else np.dstack([colour, alpha]))


def _encoded(suffix: str, layers: npt.NDArray[Any], settings: list[int]) -> bytes:
    done, encoded = cv2.imencode(suffix, layers, settings)
    if not done:
        raise EncodeFailed(suffix)
    return encoded.tobytes()
