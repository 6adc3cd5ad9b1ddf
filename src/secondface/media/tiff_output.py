"""TIFF files, of 8 or 16 bits, with whatever stands beside the pixels.

Decides how pixels and tags lie in the file; Pillow writes no 16-bit colour. Must not know where they come from.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Samples: TypeAlias = npt.NDArray[Any]
"""uint8 or uint16."""


def tiff(
    colours: Samples, alpha: Samples | None, tags: dict[int, tuple[int, bytes]], exif: bytes | None = None
) -> bytes:  # fmt: skip
    """A TIFF of gray [h,w] or RGB [h,w,3], and alpha [h,w] of the same type.

    `tags` are further ones by number, as a TIFF type and little-endian bytes.

    `exif` is a little-endian TIFF without pixels, as EXIF always is: the file grows behind it.
    """
    samples = colours[..., None] if colours.ndim == 2 else colours
    if alpha is not None and colours.ndim == 2:
        # few readers know gray with alpha
        samples = np.repeat(samples, 3, axis=2)
    photometric = _BLACK_IS_ZERO if samples.shape[2] == 1 else _RGB
    if alpha is not None:
        samples = np.dstack([samples, alpha])
    height, width, count = samples.shape
    rows = max(1, (1 << 20) // (width * count * samples.itemsize))
    strips = [_even(_strip(samples[top : top + rows])) for top in range(0, height, rows)]
    described = _even(exif) if exif is not None and exif[:4] == b"II*\0" else b"II*\0\0\0\0\0"
    starts = np.cumsum([len(described), *map(len, strips)])
    values: dict[int, tuple[int, bytes]] = tags | {
        256: (_LONG, _longs(width)), 257: (_LONG, _longs(height)),
        258: (_SHORT, _shorts(*[8 * samples.itemsize] * count)),
        259: (_SHORT, _shorts(_DEFLATE)), 262: (_SHORT, _shorts(photometric)),
        273: (_LONG, _longs(*starts[:-1])), 277: (_SHORT, _shorts(count)), 278: (_LONG, _longs(rows)),
        279: (_LONG, _longs(*map(len, strips))), 284: (_SHORT, _shorts(1)), 317: (_SHORT, _shorts(_DIFFERENCES)),
        339: (_SHORT, _shorts(*[1] * count)),
    }  # fmt: skip
    if alpha is not None:
        values[338] = (_SHORT, _shorts(_UNASSOCIATED))
    at = int(starts[-1])
    return b"II*\0" + struct.pack("<I", at) + described[8:] + b"".join(strips) + _directory(values, described, at)


_SHORT, _LONG = 3, 4
_BLACK_IS_ZERO, _RGB = 1, 2
_SIZES = {1: 1, 2: 1, _SHORT: 2, _LONG: 4, 7: 1}
_DEFLATE, _DIFFERENCES, _UNASSOCIATED = 8, 2, 2


def _directory(values: dict[int, tuple[int, bytes]], described: bytes, start: int) -> bytes:
    """The directory that lies at `start`, with the rows of that in `described`, and behind it what fits into no row."""
    rows = {number: row for number, row in _rows_of(described).items() if number not in values}
    room = start + 2 + 12 * (len(rows) + len(values)) + 4
    behind = b""
    for number, (kind, value) in values.items():
        head = struct.pack("<HHI", number, kind, len(value) // _SIZES[kind])
        if len(value) <= 4:
            rows[number] = head + value.ljust(4, b"\0")
        else:
            rows[number] = head + struct.pack("<I", room + len(behind))
            behind += _even(value)
    body = b"".join(row for _, row in sorted(rows.items()))
    return struct.pack("<H", len(rows)) + body + struct.pack("<I", 0) + behind


def _rows_of(described: bytes) -> dict[int, bytes]:
    """The rows of the first directory, whose offsets stay true as long as the file begins with `described`."""
    at = struct.unpack_from("<I", described, 4)[0]
    if at < 8:
        return {}
    count = struct.unpack_from("<H", described, at)[0]
    rows = [described[at + 2 + 12 * index :][:12] for index in range(count)]
    return {struct.unpack_from("<H", row)[0]: row for row in rows}


def _even(content: bytes) -> bytes:
    return content + b"\0" * (len(content) % 2)


def _strip(samples: Samples) -> bytes:
    differences = samples.copy()
    differences[:, 1:] -= samples[:, :-1]
    return zlib.compress(differences.tobytes(), 4)


def _shorts(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}H", *values)


def _longs(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)
