"""Who a face is: a 128-number descriptor, and the distance that means "the same person".

Decides the alignment that dlib's network expects; must not know tracks or files.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from secondface.frames import RGB8, ArrayFrame, Float, Frame, Sessions
from secondface.vision.align import fit_similarity, invert
from secondface.vision.frame_levels import crop_level
from secondface.vision.mesh_indices import mesh_indices

SIDE = 150
PADDING = 0.25
SAME_PERSON = 0.5
"""Two different women of one photo measured 0.56; the network's authors use 0.6 for clean frontal pictures."""


class Identifier:
    """dlib's face recognition ResNet on chips aligned to its five-point template with 25 % padding."""

    def __init__(self, sessions: Sessions) -> None:
        self._session = sessions.get("face_id_dlib128")
        indices = mesh_indices()
        self._rows = np.array(indices.dlib5)
        self._template = (np.array(indices.dlib5_template) + PADDING) / (1 + 2 * PADDING) * SIDE

    def describe(self, picture: Frame | RGB8, points: Float) -> Float:
        """[128] descriptor of the face whose mesh [478,3] lies at `points` in the picture."""
        frame: Frame = ArrayFrame(picture) if isinstance(picture, np.ndarray) else picture
        to_chip = fit_similarity(points[self._rows, :2], self._template)
        chip = crop_level(frame, invert(to_chip), SIDE)
        if chip is None:
            chip = np.zeros((SIDE, SIDE, 3), np.uint8)
        # The mean with the mirrored chip: it brings a profile nearer to other pictures of its person.
        batch = np.stack([chip, chip[:, ::-1]]).transpose(0, 3, 1, 2)
        both = self._session.run({"input": np.ascontiguousarray(batch, np.float32)})["descriptor"]
        return both.mean(0).astype(np.float32)


def distance(a: Float, b: Float) -> float:
    """Euclidean distance of two descriptors; at most SAME_PERSON for one person."""
    return float(np.linalg.norm(a - b))


class PeopleGallery:
    """Who has been seen in one video: a few descriptors per number. Numbers start at 0 and are never reused."""

    MAX_VIEWS = 6
    NEW_VIEW = 0.25

    def __init__(self) -> None:
        self._views: dict[int, list[Float]] = {}
        self._next = 0

    def new_person(self) -> int:
        """A number nobody has yet."""
        number = self._next
        self._next += 1
        self._views[number] = []
        return number

    def distance(self, number: int, descriptor: Float) -> float | None:
        """To the nearest view of that person; None before any view is known."""
        views = self._views[number]
        return min(distance(v, descriptor) for v in views) if views else None

    def recognise(self, descriptor: Float, absent: Iterable[int], limit: float = SAME_PERSON) -> int | None:
        """Which of the `absent` people this is, if any."""
        measured = [(self.distance(n, descriptor), n) for n in absent]
        near = [(d, n) for d, n in measured if d is not None and d <= limit]
        return min(near)[1] if near else None

    def add_view(self, number: int, descriptor: Float) -> None:
        """Remember how that person looks, if it looks new."""
        views = self._views[number]
        nearest = self.distance(number, descriptor)
        if nearest is None or nearest > self.NEW_VIEW:
            views.append(descriptor)
            # The first view is the one that the source was chosen by; it stays.
            del views[1 : len(views) - self.MAX_VIEWS + 1]

    def everyone(self) -> list[int]:
        """All numbers given so far, oldest first."""
        return list(self._views)
