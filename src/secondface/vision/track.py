"""Faces through a video: one number per person, points that follow without the detector, and what is no face at all.

Decides which mesh belongs to which track, when to look for new faces, and when a shot has changed. Knows no files and
no sources. One tracker serves one video, its frames in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from secondface.frames import Face, Float, Frame, Sessions
from secondface.vision.detect import Detection, FaceDetector
from secondface.vision.identity import SAME_PERSON, Identifier, PeopleGallery
from secondface.vision.mesh import FaceMesher
from secondface.vision.scene import LONGEST, CutDetector
from secondface.vision.smooth import PointSmoother

BIRTH_SCORE = 0.8
"""A cat's face reaches 0.5 for the mesh network, a man's full profile 0.96."""
KEEP_SCORE = 0.5
DIFFERENT_PERSON = 0.7
DESCRIBE_EVERY = 48
SEARCH_FRAMES = 12
DEFAULT_DT_S = 1 / 25


@dataclass(slots=True)
class Track:
    """One person in one shot."""

    number: int
    points: Float
    identity: Float
    described: int
    smoother: PointSmoother = field(default_factory=PointSmoother)


class FaceTracker:
    """Tracks up to `max_faces`; looks for new ones at least every `detect_every` frames."""

    def __init__(self, sessions: Sessions, max_faces: int = 8, detect_every: int = 6) -> None:
        self._detector = FaceDetector(sessions)
        self._mesher = FaceMesher(sessions, KEEP_SCORE)
        self._identifier = Identifier(sessions)
        self.max_faces = max_faces
        self.detect_every = detect_every
        self._cuts = CutDetector()
        self._people = PeopleGallery()
        self._tracks: list[Track] = []
        self._scene = 0
        self._count = -1
        self._search_until = -1
        self._last_time: float | None = None

    def track(self, frame: Frame) -> tuple[list[Face], int]:
        """The faces of the next frame, by number, and the number of its scene."""
        self._count += 1
        dt = self._time_step(frame)
        verdict = self._cuts.update(frame.thumbnail(LONGEST))
        fresh = self._count == 0
        if verdict == "cut":
            self._scene += 1
            self._tracks.clear()
            fresh = True
        scores = self._follow(frame)
        if fresh or self._count <= self._search_until or self._count % self.detect_every == 0:
            self._find(frame, scores, fresh)
        faces: list[Face] = []
        for track in sorted(self._tracks, key=lambda t: t.number):
            if verdict == "suspect" or self._count - track.described >= DESCRIBE_EVERY:
                self._verify(frame, track)
            points = track.smoother.smooth(track.points, dt)
            identity = track.identity if track.described == self._count else None
            faces.append(Face(points, scores[track.number], track.number, identity))
        return faces, self._scene

    def still(self, frame: Frame) -> list[Face]:
        """All faces of a picture, left to right, each with its descriptor; more thorough than a video's frame."""
        faces: list[Face] = []
        for found in self._detector.detect_frame(frame, tiled=True):
            face = self._accept(frame, found, [f.points for f in faces])
            if face is not None:
                faces.append(face)
        faces = sorted(faces, key=lambda f: -f.size_px)[: self.max_faces]
        faces.sort(key=lambda f: float(f.points[:468, 0].mean()))
        for number, face in enumerate(faces):
            face.track_id = number
            face.identity = self._identifier.describe(frame, face.points)
        return faces

    def _time_step(self, frame: Frame) -> float:
        now = None if frame.pts is None else float(frame.pts * frame.time_base)
        before, self._last_time = self._last_time, now
        if now is None or before is None or not 0 < now - before < 1:
            return DEFAULT_DT_S
        return now - before

    def _follow(self, frame: Frame) -> dict[int, float]:
        """Move every track to this frame; those without a face, or on another track's face, end here."""
        scores: dict[int, float] = {}
        kept: list[Track] = []
        for track in self._tracks:
            face = self._mesher.follow(frame, track.points)
            if face is None or any(same_place(face.points, k.points) for k in kept):
                self._search_until = self._count + SEARCH_FRAMES
                continue
            track.points = face.points
            scores[track.number] = face.score
            kept.append(track)
        self._tracks = kept
        return scores

    def _find(self, frame: Frame, scores: dict[int, float], fresh: bool) -> None:
        for found in self._detector.detect_frame(frame, tiled=fresh):
            if len(self._tracks) >= self.max_faces:
                return
            face = self._accept(frame, found, [t.points for t in self._tracks])
            if face is None:
                continue
            identity = self._identifier.describe(frame, face.points)
            present = {t.number for t in self._tracks}
            number = self._people.recognise(identity, [n for n in self._people.everyone() if n not in present])
            if number is None:
                number = self._people.new_person()
            self._people.add_view(number, identity)
            self._tracks.append(Track(number, face.points, identity, self._count))
            scores[number] = face.score

    def _accept(self, frame: Frame, found: Detection, taken: Sequence[Float]) -> Face | None:
        """The face at a detection, unless there is none or it is one of those `taken`."""
        x0, y0, x1, y1 = found.box
        centre = np.array([(x0 + x1) / 2, (y0 + y1) / 2])
        if any(np.linalg.norm(centre - p[:468, :2].mean(0)) < 0.4 * np.ptp(p[:468, 0]) for p in taken):
            return None
        face = self._mesher.from_detection(frame, found)
        if face is None or face.score < BIRTH_SCORE or any(same_place(face.points, p) for p in taken):
            return None
        return face

    def _verify(self, frame: Frame, track: Track) -> None:
        track.identity = self._identifier.describe(frame, track.points)
        track.described = self._count
        gap = self._people.distance(track.number, track.identity)
        if gap is not None and gap > DIFFERENT_PERSON:
            present = {t.number for t in self._tracks}
            other = self._people.recognise(track.identity, [n for n in self._people.everyone() if n not in present])
            track.number = self._people.new_person() if other is None else other
            track.smoother = PointSmoother()
        if gap is None or gap <= SAME_PERSON:
            self._people.add_view(track.number, track.identity)


def same_place(a: Float, b: Float) -> bool:
    """Whether two meshes lie on the same face."""
    low = np.maximum(a[:468, :2].min(0), b[:468, :2].min(0))
    high = np.minimum(a[:468, :2].max(0), b[:468, :2].max(0))
    shared = float(np.clip(high - low, 0, None).prod())
    smaller = min(float(np.ptp(p[:468, :2], axis=0).prod()) for p in (a, b))
    return shared > 0.5 * smaller
