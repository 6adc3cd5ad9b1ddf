"""How large an input may be before it is refused unread.

Decides numbers only; settings choose them, every reader checks its header against them before it decodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from secondface.errors import MediaCorrupt, MediaTooLarge

_STILL_COPIES = 7
"""Copies of a still that are alive at the worst moment of a run (measured: 22 bytes for a pixel of three)."""
_PLAIN_SAMPLE_BYTES = 3


@dataclass(frozen=True, slots=True)
class Limits:
    """Largest picture and video, in pixels and seconds; None means no limit."""

    still_pixels: int = 1 << 26
    video_pixels: int = 8192 * 4352
    longest_side: int = 32_767
    duration_s: Fraction | None = None
    streams: int = 64
    still_bytes: int = 2 << 30
    """Working memory of a still; never less than `still_pixels` of eight bits need."""

    @staticmethod
    def of_pixels(most: int | None) -> Limits:
        """The usual limits, but for the pixels of a picture and of a frame where `most` says how many."""
        return Limits() if most is None else Limits(still_pixels=most, video_pixels=most)

    def words(self) -> dict[str, Any]:
        """All of this as JSON values."""
        return {**asdict(self), "duration_s": None if self.duration_s is None else str(self.duration_s)}

    @staticmethod
    def of_words(words: Mapping[str, Any]) -> Limits:
        """The limits that words() told of."""
        own = dict(words)
        own["duration_s"] = None if own["duration_s"] is None else Fraction(own["duration_s"])
        return Limits(**own)

    def check_size(self, name: str, width: int, height: int, *, video: bool) -> None:
        """MediaTooLarge (or MediaCorrupt for a side of 0) unless a picture of that size may be decoded."""
        most = self.video_pixels if video else self.still_pixels
        if width <= 0 or height <= 0:
            raise MediaCorrupt(f"{name}: the header says {width}x{height}")
        if width * height > most or max(width, height) > self.longest_side:
            raise MediaTooLarge(f"{name}: {width}x{height}; the limit is {most} pixels", width=width, height=height)

    def check_memory(self, name: str, width: int, height: int, sample_bytes: int) -> None:
        """MediaTooLarge when a still whose pixels have `sample_bytes` in all needs more memory than is allowed."""
        needed = width * height * sample_bytes * _STILL_COPIES
        if needed > max(self.still_bytes, self.still_pixels * _PLAIN_SAMPLE_BYTES * _STILL_COPIES):
            mebibytes = needed >> 20
            raise MediaTooLarge(f"{name}: {width}x{height} of {sample_bytes} bytes a pixel needs {mebibytes} MiB")

    def check_streams(self, name: str, count: int) -> None:
        """MediaTooLarge when a container has more streams than anybody needs."""
        if count > self.streams:
            raise MediaTooLarge(f"{name}: {count} streams; the limit is {self.streams}")

    def check_duration(self, name: str, duration: Fraction | None) -> None:
        """MediaTooLarge when a video is known to be longer than allowed."""
        if self.duration_s is not None and duration is not None and duration > self.duration_s:
            raise MediaTooLarge(f"{name}: {float(duration):.1f} s; the limit is {float(self.duration_s):.0f} s")
