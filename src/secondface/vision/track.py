"""Faces through a video: one number per person, and points that follow without running the detector on each frame.

Decides which mesh belongs to which track, when to look for new faces, when a track has ended and who someone is. Knows
no files and no sources. One tracker serves one video, its frames in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from secondface.frames import Face, Float, Frame, SceneChange, Sessions
from secondface.vision.detect import Detection
from secondface.vision.find import KEPT_DISAGREEMENT, FaceFinder, VideoSearch, is_visible, same_place
from secondface.vision.frame_levels import FrameLevels
from secondface.vision.identity import SAME_PERSON, Identifier, PeopleGallery
from secondface.vision.mesh import disagreement
from secondface.vision.scene import LONGEST, CutDetector
from secondface.vision.smooth import PointSmoother

SURE_SCORE = 0.9
DIFFERENT_PERSON = 0.65
DESCRIBE_AGES = (5, 15)
DESCRIBE_EVERY = 50
UNSEEN_FRAMES = 13
"""Frames without any detector agreeing, after which one is asked about just this track."""
SEARCH_FRAMES = 25
GAP_FRAMES = 25
FAST_SHARE = 0.03
"""Face lengths a frame; from there on the crop is moved ahead."""
DEFAULT_DT_S = 1 / 25


@dataclass(slots=True, eq=False)
class Track:
    """One face in one shot, without gaps."""

    number: int
    points: Float
    """As measured in the last frame, not smoothed."""
    score: float
    identity: Float
    born: int
    described: int
    seen: int
    """The last frame in which a detector agreed."""
    motion: Float = field(default_factory=lambda: np.zeros(2, np.float32))
    strange: int = 0
    """How many descriptors in a row were somebody else's."""
    smoother: PointSmoother = field(default_factory=PointSmoother)

    @property
    def length(self) -> float:
        return float(np.ptp(self.points[:468, :2], axis=0).max())

    def move(self, face: Face) -> None:
        """Take over where the face is now."""
        self.motion = face.points[:468, :2].mean(0) - self.points[:468, :2].mean(0)
        self.points, self.score = face.points, face.score

    def expected(self) -> Float:
        """Where the mesh should be in the next frame."""
        if float(np.hypot(*self.motion)) < FAST_SHARE * self.length:
            return self.points
        ahead = self.points.copy()
        ahead[:, :2] += self.motion
        return ahead


@dataclass(slots=True)
class _Look:
    """One frame and what was seen in it."""

    frame: Frame
    scene: int
    dt: float
    seen: list[tuple[Track, Face]] = field(default_factory=list[tuple[Track, Face]])


class FaceTracker:
    """Tracks up to `max_faces`; looks for new ones at least every `detect_every` frames."""

    def __init__(self, sessions: Sessions, max_faces: int = 8, detect_every: int = 6) -> None:
        self.max_faces = max_faces
        self.detect_every = detect_every
        self.passed_over = 0
        """The most faces that were ever seen at once beyond `max_faces`; the smallest ones are not followed."""
        self._finder = FaceFinder(sessions)
        self._search = VideoSearch(self._finder)
        self._identifier = Identifier(sessions)
        self._cuts = CutDetector()
        self._people = PeopleGallery()
        self._tracks: list[Track] = []
        self._together: dict[int, set[int]] = {}
        """By number: who was seen in the same frame, and so is somebody else."""
        self._lost: dict[int, tuple[Float, int]] = {}
        self._scene = 0
        self._count = -1
        self._search_until = -1
        self._last_time: float | None = None

    def track(self, frame: Frame) -> tuple[list[Face], int]:
        """The faces of the next frame, by number, and the number of its scene."""
        return self.track_batch([frame])[0]

    def track_batch(
        self, frames: Sequence[Frame], changes: Sequence[SceneChange | None] | None = None
    ) -> list[tuple[list[Face], int]]:
        """As `track` for several frames: a face found late is followed back, and smoothing looks both ways.

        `changes` say how each frame goes on from the one before, where that is known.
        """
        looks: list[_Look] = []
        for frame, change in zip(frames, changes or [None] * len(frames), strict=True):
            looks.append(self._look(FrameLevels(frame), change))
            self._follow_back(looks)
        smooth = _smoothed(looks)
        return [
            ([smooth[id(track), k] for track, _ in sorted(look.seen, key=lambda s: s[0].number)], look.scene)
            for k, look in enumerate(looks)
        ]

    def still(self, frame: Frame) -> list[Face]:
        """All faces of a picture, left to right, each with its descriptor; more thorough than a video's frame."""
        frame = FrameLevels(frame)
        faces = self._followed(self._finder.still(frame), self.max_faces)
        faces.sort(key=lambda f: float(f.points[:468, 0].mean()))
        for number, face in enumerate(faces):
            face.track_id = number
            face.identity = self._identifier.describe(frame, face.points)
        return faces

    def _look(self, frame: Frame, change: SceneChange | None) -> _Look:
        self._count += 1
        verdict = change or self._cuts.update(frame.thumbnail(LONGEST))
        if verdict == "cut":
            self._scene += 1
            self._tracks.clear()
            self._lost.clear()
        look = _Look(frame, self._scene, self._time_step(frame))
        self._follow(frame)
        self._find(frame, everything=verdict == "cut" or self._count == 0)
        described: dict[int, Float] = {}
        for track in list(self._tracks):
            if verdict == "suspect" or self._should_describe(track):
                self._describe(frame, track, sudden=verdict == "suspect")
        present = {track.number for track in self._tracks}
        for track in self._tracks:
            self._together.setdefault(track.number, set()).update(present)
            if track.described == self._count:
                described[id(track)] = track.identity
            look.seen.append((track, Face(track.points, track.score, identity=described.get(id(track)))))
        return look

    def _time_step(self, frame: Frame) -> float:
        now = None if frame.pts is None else float(frame.pts * frame.time_base)
        before, self._last_time = self._last_time, now
        if now is None or before is None or not 0 < now - before < 1:
            return DEFAULT_DT_S
        return now - before

    # Following

    def _follow(self, frame: Frame) -> None:
        """Move every track to this frame; those that have left their face end here."""
        kept: list[Track] = []
        for track in sorted(self._tracks, key=lambda t: t.born):
            face = self._finder.mesher.follow(frame, track.expected())
            if (
                face is None
                or self._slipped(frame, track, face)
                or any(same_place(face.points, k.points) for k in kept)
            ):
                self._lose(track)
                continue
            track.move(face)
            kept.append(track)
        self._tracks = kept

    def _slipped(self, frame: Frame, track: Track, face: Face) -> bool:
        """Whether the mesh no longer lies on a face; only asked of a detector when something looks wrong."""
        if not is_visible(face.points, frame):
            return True
        growth = float(np.ptp(face.points[:468, :2], axis=0).max()) / track.length
        jump = float(np.linalg.norm((face.points - track.expected())[:468, :2].mean(0))) / track.length
        unseen = self._count - track.seen >= UNSEEN_FRAMES
        if face.score >= SURE_SCORE and 0.8 < growth < 1.25 and jump < 0.3 and not unseen:
            return False
        if self._finder.holds(frame, face.points):
            track.seen = self._count
            return False
        # A single doubt of the detector about a face that it has simply not met for a while is forgiven.
        return not (unseen and face.score >= SURE_SCORE and self._count - track.seen < 2 * UNSEEN_FRAMES)

    def _lose(self, track: Track) -> None:
        self._lost[track.number] = (track.points, self._count)
        self._search_until = self._count + SEARCH_FRAMES

    # Finding

    def _find(self, frame: Frame, *, everything: bool) -> None:
        taken = [t.points for t in self._tracks]
        lost_now = self._search_until == self._count + SEARCH_FRAMES
        due = not taken or self._count <= self._search_until or self._count % self.detect_every == 0
        if everything or lost_now:
            faces, found = self._search.everything(frame, taken)
        elif due:
            faces, found = self._search.next_look(frame, taken)
        else:
            return
        self._mark_seen(found)
        for face in self._followed(faces, self.max_faces - len(taken)):
            identity = self._identifier.describe(frame, face.points)
            number = self._who(face.points, identity)
            self._people.add_view(number, identity)
            now = self._count
            self._tracks.append(Track(number, face.points, face.score, identity, born=now, described=now, seen=now))

    def _followed(self, faces: Sequence[Face], places: int) -> list[Face]:
        """The largest faces, as many as there are places."""
        self.passed_over = max(self.passed_over, len(faces) - places)
        return sorted(faces, key=lambda f: -f.size_px)[:places]

    def _mark_seen(self, found: Sequence[Detection]) -> None:
        for track in self._tracks:
            if any(disagreement(track.points, d) <= KEPT_DISAGREEMENT for d in found):
                track.seen = self._count

    def _follow_back(self, looks: Sequence[_Look]) -> None:
        """Take faces born in the last look back through the earlier frames of the batch, as far as they are there."""
        for track, face in list(looks[-1].seen):
            if track.born != self._count:
                continue
            points = face.points
            for look in reversed(looks[:-1]):
                if look.scene != looks[-1].scene:
                    break
                earlier = self._finder.mesher.follow(look.frame, points)
                taken = [f.points for _, f in look.seen]
                if earlier is None or earlier.score < SURE_SCORE or any(same_place(earlier.points, p) for p in taken):
                    break
                if not is_visible(earlier.points, look.frame) or not self._finder.holds(look.frame, earlier.points):
                    break
                look.seen.append((track, earlier))
                points = earlier.points

    # Recognising

    def _who(self, points: Float, identity: Float) -> int:
        """The number of a face that has just appeared: somebody absent whom it resembles, or a new person."""
        ranked: list[tuple[float, int]] = []
        for number in self._absent():
            gap = self._people.distance(number, identity)
            stayed = self._just_left(number, points)
            if gap is not None and gap <= (DIFFERENT_PERSON if stayed else SAME_PERSON):
                ranked.append((gap - 0.15 * stayed, number))
        return min(ranked)[1] if ranked else self._people.new_person()

    def _just_left(self, number: int, points: Float) -> bool:
        """Whether that person was lost near here a moment ago."""
        last, when = self._lost.get(number, (points, -GAP_FRAMES - 1))
        length = float(np.ptp(last[:468, :2], axis=0).max())
        away = float(np.linalg.norm((points - last)[:468, :2].mean(0)))
        return self._count - when <= GAP_FRAMES and away < length

    def _absent(self) -> list[int]:
        present = {track.number for track in self._tracks}
        return [number for number in self._people.everyone() if number not in present]

    def _should_describe(self, track: Track) -> bool:
        age = self._count - track.born
        return age in DESCRIBE_AGES or self._count - track.described >= (3 if track.strange else DESCRIBE_EVERY)

    def _describe(self, frame: Frame, track: Track, *, sudden: bool) -> None:
        """Look again who this is: learn a new view, find an older number, or notice that it is somebody else."""
        if track.born == self._count:
            return
        track.identity = self._identifier.describe(frame, track.points)
        track.described = self._count
        gap = self._people.distance(track.number, track.identity)
        if gap is None or gap <= SAME_PERSON:
            track.strange = 0
            self._people.add_view(track.number, track.identity)
            self._join_older_number(track)
            return
        track.strange = track.strange + 1 if gap > DIFFERENT_PERSON else 0
        if track.strange >= (1 if sudden else 2):
            self._tracks.remove(track)
            number = self._people.recognise(track.identity, self._absent())
            if number is None:
                number = self._people.new_person()
            self._people.add_view(number, track.identity)
            now = self._count
            self._tracks.append(Track(number, track.points, track.score, track.identity, now, now, track.seen))

    def _join_older_number(self, track: Track) -> None:
        """A face that first showed itself in profile may turn out to be somebody known."""
        strangers = self._together.get(track.number, set())
        older = [number for number in self._absent() if number < track.number and number not in strangers]
        known = self._people.recognise(track.identity, older)
        if known is not None:
            self._people.add_view(known, track.identity)
            track.number = known


def _smoothed(looks: Sequence[_Look]) -> dict[tuple[int, int], Face]:
    """Finished faces by (id of track, place in the batch)."""
    runs: dict[int, tuple[Track, list[int], list[Face]]] = {}
    for k, look in enumerate(looks):
        for track, face in look.seen:
            _, places, faces = runs.setdefault(id(track), (track, [], []))
            places.append(k)
            faces.append(face)
    out: dict[tuple[int, int], Face] = {}
    for key, (track, places, faces) in runs.items():
        points = track.smoother.smooth([f.points for f in faces], [looks[k].dt for k in places])
        for k, face, steady in zip(places, faces, points, strict=True):
            out[key, k] = Face(steady, face.score, track.number, face.identity)
    return out
