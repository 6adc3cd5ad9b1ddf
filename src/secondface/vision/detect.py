"""Where faces are in a picture: boxes and six rough points, from two detectors and, for small faces, tiles.

Decides what counts as a candidate; whether a candidate is a face is for the mesh to say. No files, no tracking.
The detectors are MediaPipe BlazeFace, full range (mid and near) and back camera (small and far).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import chain

import cv2
import numpy as np
import numpy.typing as npt

from secondface.frames import RGB8, Box, Float, Frame, Sessions
from secondface.vision.align import Transform, apply, scale_of, square_to_frame
from secondface.vision.frame_levels import FrameLevels, crop_level

THUMBNAIL = 384
"""Least longest side of what the coarse pass looks at: half again the larger network's input."""
MAX_TILES_A_SIDE = 8
TILE = 640
CONFIRM_SCALE = 3.0
CONFIRM_SCORE = 0.2
SAME_FACE_IOU = 0.3
INSIDE_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class Detection:
    """A candidate: box x0, y0, x1, y1 in frame pixels, score 0..1, and [6,2] points: the eyes (left in the picture
    first when upright), nose tip, mouth centre, ears."""

    box: tuple[float, float, float, float]
    score: float
    points: Float

    @property
    def place(self) -> tuple[Float, float, float]:
        """Centre [2], length of the longer side, and turn in radians by the line of the eyes."""
        x0, y0, x1, y1 = self.box
        across = self.points[1] - self.points[0]
        centre = np.array([(x0 + x1) / 2, (y0 + y1) / 2], np.float32)
        return centre, max(x1 - x0, y1 - y0), float(np.arctan2(across[1], across[0]))

    def moved(self, x: float, y: float, scale: float = 1.0) -> Detection:
        """The same candidate after scaling and then shifting the picture."""
        x0, y0, x1, y1 = (v * scale for v in self.box)
        points = (self.points * scale + np.array([x, y])).astype(np.float32)
        return Detection((x0 + x, y0 + y, x1 + x, y1 + y), self.score, points)


class BlazeNet:
    """One BlazeFace network with its anchors: cells per side and anchors per cell for each of its strides."""

    def __init__(self, sessions: Sessions, name: str, side: int, cells: Sequence[tuple[int, int]]) -> None:
        self._session = sessions.get(name)
        self.side = side
        grids: list[npt.NDArray[np.float64]] = []
        for count, copies in cells:
            y, x = np.mgrid[0:count, 0:count]
            centres = np.stack([x + 0.5, y + 0.5], -1).reshape(-1, 2) * (side / count)
            grids.append(np.repeat(centres, copies, 0))
        self._anchors = np.concatenate(grids)

    def candidates(self, rgb: RGB8, min_score: float) -> list[Detection]:
        """All raw candidates of a picture, before suppression, in its pixels."""
        height, width = rgb.shape[:2]
        scale = self.side / max(height, width)
        new_w, new_h = max(1, round(width * scale)), max(1, round(height * scale))
        left, top = (self.side - new_w) // 2, (self.side - new_h) // 2
        canvas = np.full((1, self.side, self.side, 3), -1, np.float32)
        interpolation = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
        small = cv2.resize(rgb, (new_w, new_h), interpolation=interpolation)
        canvas[0, top : top + new_h, left : left + new_w] = small.astype(np.float32) / 127.5 - 1
        regressors, logits = sorted(self._session.run({"input": canvas}).values(), key=lambda a: -a.shape[-1])
        score = 1 / (1 + np.exp(-np.clip(logits[0, :, 0].astype(np.float64), -60, 60)))
        keep = np.flatnonzero(score >= min_score)
        values = regressors[0, keep].astype(np.float64)
        back, offset = np.array([width / new_w, height / new_h]), np.array([left, top])
        centre = (values[:, :2] + self._anchors[keep] - offset) * back
        half = values[:, 2:4] * back / 2
        points = (values[:, 4:].reshape(-1, 6, 2) + self._anchors[keep, None] - offset) * back
        boxes = np.concatenate([centre - half, centre + half], 1)
        return [
            Detection(tuple(box.tolist()), float(s), p.astype(np.float32))
            for box, s, p in zip(boxes, score[keep], points, strict=True)
        ]


class FaceDetector:
    """Both detectors, merged. `min_score` is the least probability of a candidate."""

    def __init__(self, sessions: Sessions, min_score: float = 0.5) -> None:
        self.min_score = min_score
        self.near = BlazeNet(sessions, "face_detect_full192", 192, [(48, 1)])
        self.far = BlazeNet(sessions, "face_detect_back256", 256, [(16, 2), (8, 6)])

    def detect(self, rgb: RGB8, nets: Sequence[BlazeNet] | None = None) -> list[Detection]:
        """Candidates of a whole picture [h,w,3], best first."""
        return suppress(self._raw(rgb, nets))

    def detect_frame(
        self, frame: Frame, tiled: bool, nets: Sequence[BlazeNet] | None = None, *, parts: Sequence[Box] = (),
        pool: Executor | None = None,
    ) -> list[Detection]:  # fmt: skip
        """Candidates of a frame, best first: a coarse pass over a thumbnail and, if `tiled`, `parts` or all tiles.

        With a `pool` the tiles are looked at side by side; what is found is the same.
        """
        wanted = (parts or tiles(frame.width, frame.height)) if tiled else ()

        def look(tile: Box) -> list[Detection]:
            return self.raw_in_tile(frame, tile)

        in_tiles = pool.map(look, wanted) if pool is not None else map(look, wanted)
        small = _small(frame)
        scale = frame.width / small.shape[1]
        found = [d.moved(0, 0, scale) for d in self._raw(small, nets)]
        return suppress([*found, *chain.from_iterable(in_tiles)])

    def detect_turned(self, frame: Frame) -> list[Detection]:
        """Candidates of a frame that lies on its side or on its head."""
        small = _small(frame)
        scale = frame.width / small.shape[1]
        height, width = small.shape[:2]
        found: list[Detection] = []
        for quarter_turns, turned_size in ((1, (height, width)), (2, (width, height)), (3, (height, width))):
            turned = np.ascontiguousarray(np.rot90(small, quarter_turns))
            to_frame = square_to_frame(np.zeros(2), 1, quarter_turns * np.pi / 2, 1)
            to_frame[:, 2] = np.array([width, height]) / 2 - to_frame[:, :2] @ (np.array(turned_size) / 2)
            found += [_carried(d, to_frame * scale) for d in self._raw(turned, None)]
        return suppress(found)

    def raw_in_tile(self, frame: Frame, tile: Box) -> list[Detection]:
        """Raw candidates that the far network sees inside one tile and that its edges do not cut, in frame pixels."""
        found = self._raw(frame.read(tile), [self.far])
        return [d.moved(tile.x0, tile.y0) for d in found if _whole(d, tile, frame)]

    def confirm(self, frame: Frame, centre: Float, length: float, angle: float) -> list[Detection]:
        """What the near network sees in a level square three times as long as a supposed face, in frame pixels.

        It answers to foliage and animals far less than the far network and the mesh do: on 230 faces (15 px and up,
        profiles among them) and 271 false candidates, its points within 0.12 face lengths of the mesh's told all apart.
        """
        to_frame = square_to_frame(centre, CONFIRM_SCALE * length, angle, self.near.side)
        crop = crop_level(frame, to_frame, self.near.side)
        if crop is None:
            return []
        found = suppress(self.near.candidates(crop, CONFIRM_SCORE))
        return [_carried(d, to_frame) for d in found]

    def _raw(self, rgb: RGB8, nets: Sequence[BlazeNet] | None) -> list[Detection]:
        return [d for net in nets or (self.near, self.far) for d in net.candidates(rgb, self.min_score)]


def _small(frame: Frame) -> RGB8:
    return frame.at_least(THUMBNAIL) if isinstance(frame, FrameLevels) else frame.thumbnail(THUMBNAIL)


def _carried(found: Detection, to_frame: Transform) -> Detection:
    """A candidate of an upright crop in frame pixels; its box keeps its size and is not turned."""
    x0, y0, x1, y1 = found.box
    scale = scale_of(to_frame)
    centre = apply(to_frame, np.array([[(x0 + x1) / 2, (y0 + y1) / 2]]))[0]
    half = np.array([x1 - x0, y1 - y0]) * scale / 2
    box = (*(centre - half).tolist(), *(centre + half).tolist())
    return Detection(box, found.score, apply(to_frame, found.points).astype(np.float32))


def tiles(width: int, height: int, side: int = TILE, *, pyramid: bool = True) -> list[Box]:
    """Overlapping squares of `side` for small faces, and a `pyramid` of larger ones; none in a small picture.

    In a tile of 640 a face of 25 pixels is 10 pixels for the network, whose limit is about 6.
    """
    finest = max(side, max(width, height) / MAX_TILES_A_SIDE)
    sides: list[float] = []
    coarse = max(width, height) / 2
    while pyramid and coarse > finest * 1.3:
        sides.append(coarse)
        coarse /= 2
    if max(width, height) > finest * 1.2:
        sides.append(finest)
    return [box for s in sides for box in _grid(width, height, round(s))]


def _grid(width: int, height: int, side: int) -> list[Box]:
    def starts(length: int) -> Iterable[int]:
        count = max(1, int(np.ceil((length - side) / (side * 0.75))) + 1)
        return np.linspace(0, max(0, length - side), count).round().astype(int).tolist()

    return [
        Box(x, y, min(width, x + side), min(height, y + side)) for y in starts(height) for x in starts(width)
    ]  # fmt: skip


def _whole(found: Detection, tile: Box, frame: Frame) -> bool:
    """False when an edge of the tile that is not an edge of the frame cuts the candidate; a neighbour has it whole."""
    x0, y0, x1, y1 = found.box
    slack = 0.05 * (x1 - x0)
    return not (
        (x0 < -slack and tile.x0 > 0) or (y0 < -slack and tile.y0 > 0)
        or (x1 > tile.width + slack and tile.x1 < frame.width)
        or (y1 > tile.height + slack and tile.y1 < frame.height)
    )  # fmt: skip


def suppress(found: Sequence[Detection]) -> list[Detection]:
    """One detection per face, best first: overlapping candidates are averaged by score (BlazeFace, section 3.3)."""
    if not found:
        return []
    boxes = np.array([d.box for d in found])
    scores = np.array([d.score for d in found])
    points = np.stack([d.points for d in found])
    order = np.argsort(-scores, kind="stable")
    out: list[Detection] = []
    while len(order):
        iou, inside = _overlaps(boxes[order[0]], boxes[order])
        same = iou > SAME_FACE_IOU
        same[0] = True
        group = order[same]
        weight = scores[group] / scores[group].sum()
        box = tuple((boxes[group] * weight[:, None]).sum(0).tolist())
        mean = (points[group] * weight[:, None, None]).sum(0).astype(np.float32)
        out.append(Detection(box, float(scores[group[0]]), mean))
        order = order[~same & (inside < INSIDE_SHARE)]
    return out


def _overlaps(box: npt.NDArray[np.float64], boxes: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], ...]:
    """Intersection over union with each of `boxes`, and over the smaller of the two."""
    low, high = np.maximum(box[:2], boxes[:, :2]), np.minimum(box[2:], boxes[:, 2:])
    shared = np.clip(high - low, 0, None).prod(1)
    area, areas = np.prod(box[2:] - box[:2]), (boxes[:, 2:] - boxes[:, :2]).prod(1)
    return shared / (area + areas - shared + 1e-9), shared / (np.minimum(area, areas) + 1e-9)
