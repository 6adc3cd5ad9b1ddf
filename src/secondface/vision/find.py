"""Which of the detectors' candidates are faces, in pictures and, a little at a time, in video.

Decides by agreement of three networks: a candidate is a face when the near detector sees it again in a close crop and
the mesh lays its eyes, nose and mouth where that detector has them. Keeps no tracks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from secondface import processors
from secondface.frames import Box, Face, Float, Frame, Sessions
from secondface.vision.detect import TILE, Detection, FaceDetector, suppress, tiles
from secondface.vision.mesh import FaceMesher, disagreement

BIRTH_SCORE = 0.8
"""A cat's face reaches 0.5 for the mesh network, a man's full profile 0.96; foliage may reach 1."""
BIRTH_DISAGREEMENT, KEPT_DISAGREEMENT = 0.12, 0.16
STILL_TILE = 480
UPRIGHT_BONUS = 0.05
LEAST_VISIBLE = 0.3
"""Share of the mesh inside the frame; of a face that has left further, too little is seen to lay a mesh on it."""
_MOST_LOOKS_AT_ONCE = 4
FIRST_PATIENCE, LAST_PATIENCE = 2, 40
"""Looks for which a rejected place is not tried again; twice as many each time, so that foliage costs little."""


class FaceFinder:
    """Finds faces without knowing earlier frames."""

    def __init__(self, sessions: Sessions) -> None:
        self.detector = FaceDetector(sessions)
        self.mesher = FaceMesher(sessions)

    def still(self, frame: Frame) -> list[Face]:
        """All faces of a picture, largest first; heads that lie or hang are found too."""
        parts = tiles(frame.width, frame.height, STILL_TILE)
        # A picture has nothing else to compute meanwhile, and whoever sent it waits.
        with ThreadPoolExecutor(min(_MOST_LOOKS_AT_ONCE, processors.usable()), "look") as pool:
            lying = pool.submit(self.detector.detect_turned, frame)
            standing = self.detector.detect_frame(frame, bool(parts), parts=parts, pool=pool)
        upright = [(d.score, d) for d in standing]
        turned = [(d.score - UPRIGHT_BONUS, d) for d in lying.result()]
        # Best first: a head that hangs also looks like an upright one, but less so.
        found = [d for _, d in sorted(upright + turned, key=lambda pair: -pair[0])]
        faces = self.accept_all(frame, found, [])
        return sorted(faces, key=lambda f: -f.size_px)

    def accept_all(self, frame: Frame, found: Iterable[Detection], taken: Sequence[Float]) -> list[Face]:
        """The faces at detections, without those that are `taken` already."""
        faces: list[Face] = []
        for detection in found:
            face = self.accept(frame, detection, [*taken, *(f.points for f in faces)])
            if face is not None:
                faces.append(face)
        return faces

    def accept(self, frame: Frame, found: Detection, taken: Sequence[Float]) -> Face | None:
        """The face at a detection, unless there is none or it is one of those `taken`."""
        if any(covers(points, found) for points in taken):
            return None
        again = [d for d in self.detector.confirm(frame, *found.place) if _same_candidate(d, found)]
        if not again:
            return None
        face = self.mesher.from_detection(frame, again[0])
        if face is None or face.score < BIRTH_SCORE or not is_visible(face.points, frame):
            return None
        if disagreement(face.points, again[0]) > BIRTH_DISAGREEMENT:
            return None
        return None if any(same_place(face.points, points) for points in taken) else face

    def holds(self, frame: Frame, points: Float) -> bool:
        """Whether there still is a face where a mesh lies."""
        seen = self.detector.confirm(frame, *_place_of(points))
        return any(disagreement(points, d) <= KEPT_DISAGREEMENT for d in seen)


@dataclass(slots=True)
class _Rejected:
    centre: Float
    length: float
    patience: int
    until: int

    def is_near(self, found: Detection) -> bool:
        centre, length, _ = found.place
        return bool(np.linalg.norm(centre - self.centre) < 0.2 * self.length and 0.8 < length / self.length < 1.25)


class VideoSearch:
    """Looks for new faces in a video: everything at once at the start of a shot, else one network or tile a look."""

    def __init__(self, finder: FaceFinder) -> None:
        self._finder = finder
        self._looks = 0
        self._tile = 0
        self._rejected: list[_Rejected] = []

    def everything(self, frame: Frame, taken: Sequence[Float]) -> tuple[list[Face], list[Detection]]:
        """New faces anywhere, and all detections."""
        self._rejected.clear()
        parts = _video_tiles(frame)
        found = self._finder.detector.detect_frame(frame, bool(parts), parts=parts)
        return self._finder.accept_all(frame, found, taken), found

    def next_look(self, frame: Frame, taken: Sequence[Float]) -> tuple[list[Face], list[Detection]]:
        """New faces that the network or tile whose turn it is sees, and its detections."""
        detector = self._finder.detector
        self._looks += 1
        # With nobody in sight small faces matter as much as large ones; else a tile is looked at now and then.
        turn = self._looks % 3 if not taken else (self._looks % 2 if self._looks % 8 else 2)
        parts = _video_tiles(frame)
        if turn == 2 and parts:
            self._tile = (self._tile + 1) % len(parts)
            found = suppress(detector.raw_in_tile(frame, parts[self._tile]))
        else:
            found = detector.detect_frame(frame, False, [detector.near if turn == 1 else detector.far])
        return self._accept(frame, found, taken), found

    def _accept(self, frame: Frame, found: Sequence[Detection], taken: Sequence[Float]) -> list[Face]:
        self._rejected = [r for r in self._rejected if self._looks < r.until + LAST_PATIENCE]
        faces: list[Face] = []
        for detection in found:
            occupied = [*taken, *(f.points for f in faces)]
            before = next((r for r in self._rejected if r.is_near(detection)), None)
            if any(covers(points, detection) for points in occupied) or (before and before.until > self._looks):
                continue
            face = self._finder.accept(frame, detection, occupied)
            if face is None:
                self._reject(detection, before)
            else:
                faces.append(face)
        return faces

    def _reject(self, found: Detection, before: _Rejected | None) -> None:
        centre, length, _ = found.place
        patience = min(2 * before.patience, LAST_PATIENCE) if before else FIRST_PATIENCE
        self._rejected = [r for r in self._rejected if r is not before]
        self._rejected.append(_Rejected(centre, length, patience, self._looks + patience))


def _video_tiles(frame: Frame) -> list[Box]:
    """At most three tiles a long side: faces of 25 pixels in full HD, of 50 in 4K."""
    longest = max(frame.width, frame.height)
    return tiles(frame.width, frame.height, max(TILE, round(longest / 3)), pyramid=False)


def _place_of(points: Float) -> tuple[Float, float, float]:
    """Centre, length and turn of a mesh."""
    low, high = points[:468, :2].min(0), points[:468, :2].max(0)
    across = points[263, :2] - points[33, :2]
    return (low + high) / 2, float((high - low).max()), float(np.arctan2(across[1], across[0]))


def _same_candidate(a: Detection, b: Detection) -> bool:
    (centre_a, length_a, _), (centre_b, length_b, _) = a.place, b.place
    near = float(np.linalg.norm(centre_a - centre_b)) < 0.35 * length_b
    return near and 0.5 < length_a / length_b < 2


def is_visible(points: Float, frame: Frame) -> bool:
    """Whether enough of a mesh lies inside the frame."""
    inside = ((points[:468, :2] >= 0) & (points[:468, :2] < (frame.width, frame.height))).all(1)
    return float(inside.mean()) >= LEAST_VISIBLE


def covers(points: Float, found: Detection) -> bool:
    """Whether a detection is of the face on which this mesh lies."""
    centre, _, _ = _place_of(points)
    return float(np.linalg.norm(found.place[0] - centre)) < 0.4 * float(np.ptp(points[:468, 0]))


def same_place(a: Float, b: Float) -> bool:
    """Whether two meshes lie on the same face."""
    low = np.maximum(a[:468, :2].min(0), b[:468, :2].min(0))
    high = np.minimum(a[:468, :2].max(0), b[:468, :2].max(0))
    shared = float(np.clip(high - low, 0, None).prod())
    smaller = min(float(np.ptp(p[:468, :2], axis=0).prod()) for p in (a, b))
    return shared > 0.5 * smaller
