"""What of a damaged video is passed over, as players do, and what is said of it.

Decides when a file is refused after all; must not know containers or streams.
"""

from __future__ import annotations

from fractions import Fraction

import av
from av.error import InvalidDataError

from secondface.errors import MediaCorrupt
from secondface.media.ratios import seconds

_MOST_BEFORE_THE_FIRST = 50
"""Packets that are tried until a file without any picture is given up."""


class Damage:
    """Counts what cannot be decoded on one way through a video."""

    def __init__(self) -> None:
        self._last: Fraction | None = None
        self._first_failure: MediaCorrupt | None = None
        self._skipped = 0
        self._skipped_at = ""
        self._corrupt = 0
        self._corrupt_at = ""
        self._stopped_at = ""

    @property
    def where(self) -> str:
        """The place that has been reached, in words."""
        return f"at {float(self._last):.3f} s" if self._last is not None else "at its start"

    def see(self, picture: av.VideoFrame) -> None:
        """A picture came out of the decoder."""
        self._last = seconds(picture.pts, picture.time_base) or self._last or Fraction(0)
        if picture.is_corrupt:
            self._corrupt += 1
            self._corrupt_at = self._corrupt_at or self.where

    def skip(self, failure: MediaCorrupt) -> None:
        """A packet cannot be decoded; raises `failure` where that is more than damage, or no picture ever came."""
        self._first_failure = self._first_failure or failure
        if not isinstance(failure.__cause__, InvalidDataError):
            raise failure
        self._skipped += 1
        self._skipped_at = self._skipped_at or self.where
        if self._last is None and self._skipped > _MOST_BEFORE_THE_FIRST:
            raise self._first_failure

    def stop(self, failure: MediaCorrupt) -> None:
        """Nothing more can be read of the file; raises `failure` like skip()."""
        if self._last is None or not isinstance(failure.__cause__, InvalidDataError):
            raise self._first_failure or failure
        self._stopped_at = self.where

    def end(self) -> None:
        """The file is at its end; raises the first failure where nothing else came."""
        if self._last is None and self._first_failure is not None:
            raise self._first_failure

    def notes(self) -> tuple[str, ...]:
        """For the user."""
        notes: list[str] = []
        if self._skipped:
            notes.append(
                f"the file is damaged: {self._skipped} packets of the picture could not be decoded and are left out, "
                f"the first {self._skipped_at}"
            )
        if self._corrupt:
            notes.append(f"the file is damaged: {self._corrupt} pictures are not whole, the first {self._corrupt_at}")
        if self._stopped_at:
            notes.append(f"the file is damaged {self._stopped_at}: what comes after is lost")
        return tuple(notes)
