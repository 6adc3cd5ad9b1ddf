"""A part of a file by time: what of each stream lies in it, and where it then begins.

Decides the rules that pictures, packets, chapters and timecodes share; must not open anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from secondface.errors import InvalidOption

_TIMECODE = re.compile(r"(\d\d):(\d\d):(\d\d)([:;.])(\d\d)")


@dataclass(frozen=True, slots=True)
class Trim:
    """The time from `begin` to just before `end`, in seconds of the file's own clock; None for all there is."""

    begin: Fraction | None = None
    end: Fraction | None = None
    origin: Fraction = Fraction(0)
    """What the file's clock shows at its start; `begin` and `end` are counted from there."""

    def __post_init__(self) -> None:
        begin, end = self.begin or Fraction(0), self.end
        if begin < 0 or (end is not None and end <= begin):
            until = f" to {float(end):g} s" if end is not None else ""
            raise InvalidOption(f"from {float(begin):g} s{until}: there is nothing between")

    @property
    def is_whole(self) -> bool:
        return not self.begin and self.end is None

    @property
    def start(self) -> Fraction:
        """The time on the file's clock that becomes 0."""
        return self.origin + (self.begin or 0)

    @property
    def stop(self) -> Fraction | None:
        """The time on the file's clock from which nothing is taken."""
        return None if self.end is None else self.origin + self.end

    def is_before(self, time: Fraction) -> bool:
        """Whether `time` lies before the part; nothing does in a file that is taken from its start."""
        return bool(self.begin) and time < self.start

    def is_after(self, time: Fraction) -> bool:
        return self.stop is not None and time >= self.stop

    def length_of(self, whole: Fraction | None) -> Fraction | None:
        """How long the part of a file of `whole` seconds is. InvalidOption when the file ends before it."""
        begin = self.begin or Fraction(0)
        if whole is None:
            return None if self.end is None else self.end - begin
        if begin and begin >= whole:
            raise InvalidOption(f"from {float(begin):g} s: the video lasts {float(whole):.3f} s")
        return (whole if self.end is None else min(whole, self.end)) - begin

    def clipped(self, start: Fraction, end: Fraction) -> tuple[Fraction, Fraction] | None:
        """What of the time from `start` to `end` lies in the part, counted from its begin; None for nothing."""
        first = max(start, self.start) if self.begin else start
        last = end if self.stop is None else min(end, self.stop)
        return None if last <= first and not (first == start == end) else (first - self.start, last - self.start)


def timecode_after(timecode: str, frames: int, rate: Fraction) -> str:
    """`timecode` (hh:mm:ss:ff, or hh:mm:ss;ff with dropped numbers) moved on by `frames` at `rate` frames a second."""
    match = _TIMECODE.fullmatch(timecode.strip())
    if match is None or frames == 0:
        return timecode
    hours, minutes, seconds, frame = (int(match[group]) for group in (1, 2, 3, 5))
    base = max(1, round(rate))
    dropped = base // 15 if match[4] in ";." and base in (30, 60) else 0
    total_minutes = 60 * hours + minutes
    count = ((3600 * hours + 60 * minutes + seconds) * base + frame) - dropped * (total_minutes - total_minutes // 10)
    return _shown(count + frames, base, dropped, match[4])


def _shown(count: int, base: int, dropped: int, mark: str) -> str:
    if dropped:
        # of every minute but each tenth the first numbers are left out (SMPTE 12M)
        per_minute, per_ten = 60 * base - dropped, 600 * base - 9 * dropped
        tens, rest = divmod(count, per_ten)
        count += 9 * dropped * tens + (dropped * ((rest - dropped) // per_minute) if rest > dropped else 0)
    seconds, frame = divmod(count, base)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours % 24:02d}:{minutes:02d}:{seconds:02d}{mark}{frame:02d}"
