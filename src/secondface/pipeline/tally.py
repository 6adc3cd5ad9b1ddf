"""Who was seen and who was swapped, counted while frames pass.

Decides what a run reports about faces; bounded however long the video is.
"""

from __future__ import annotations

from secondface.frames import FrameWork

MAX_GAPS = 32


class FaceTally:
    """Counts of one run. `saw` and `swapped` are each called from one thread, frame by frame."""

    def __init__(self) -> None:
        self.people: set[int] = set()
        """Numbers of all tracks seen; the tracker bounds them."""
        self.passed_over = 0
        """The most faces seen at once beyond those that may be followed."""
        self.label_was_small = False
        """Whether a frame had no room for a visible label of the size that the rule asks."""
        self.frames_looked_at = 0
        self.swapped_frames = 0
        self.faces_swapped = 0
        self.gaps: list[tuple[int, int]] = []
        """The first runs of frames, both ends included, in which nothing was swapped."""

    def saw(self, work: FrameWork) -> None:
        """A frame in which faces were looked for."""
        self.frames_looked_at += 1
        self.people.update(face.track_id for face in work.faces)

    def swapped(self, index: int, faces: int) -> None:
        """A frame, in order, with the number of faces swapped in it."""
        self.faces_swapped += faces
        if faces:
            self.swapped_frames += 1
        elif self.gaps and self.gaps[-1][1] == index - 1:
            self.gaps[-1] = (self.gaps[-1][0], index)
        elif len(self.gaps) < MAX_GAPS:
            self.gaps.append((index, index))
