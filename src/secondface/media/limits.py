"""How large an input may be before it is refused unread.

Decides numbers only; settings choose them, every reader checks its header against them before it decodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from secondface.errors import MediaCorrupt, MediaTooLarge


@dataclass(frozen=True, slots=True)
class Limits:
    """Largest picture and video, in pixels and seconds; None means no limit."""

    still_pixels: int = 89_000_000
    video_pixels: int = 8192 * 4352
    longest_side: int = 32_767
    duration_s: Fraction | None = None
    streams: int = 64

    def check_size(self, name: str, width: int, height: int, *, video: bool) -> None:
        """MediaTooLarge (or MediaCorrupt for a side of 0) unless a picture of that size may be decoded."""
        most = self.video_pixels if video else self.still_pixels
        if width <= 0 or height <= 0:
            raise MediaCorrupt(f"{name}: the header says {width}x{height}")
        if width * height > most or max(width, height) > self.longest_side:
            raise MediaTooLarge(f"{name}: {width}x{height}; the limit is {most} pixels", width=width, height=height)

    def check_streams(self, name: str, count: int) -> None:
        """MediaTooLarge when a container has more streams than anybody needs."""
        if count > self.streams:
            raise MediaTooLarge(f"{name}: {count} streams; the limit is {self.streams}")

    def check_duration(self, name: str, duration: Fraction | None) -> None:
        """MediaTooLarge when a video is known to be longer than allowed."""
        if self.duration_s is not None and duration is not None and duration > self.duration_s:
            raise MediaTooLarge(f"{name}: {float(duration):.1f} s; the limit is {float(self.duration_s):.0f} s")
