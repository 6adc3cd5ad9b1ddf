"""478 points on a face, from a detection or from where the face was a frame ago.

Decides the crop, the decoding and how sure it is that the points lie on a face; keeps nothing between calls.
The network is MediaPipe's attention mesh: a 468-point mesh, and finer lips, eyes and irises that replace its points.
"""

from __future__ import annotations

import numpy as np

from secondface.frames import Face, Float, Frame, Sessions
from secondface.vision.align import Transform, apply, scale_of, square_to_frame
from secondface.vision.detect import Detection
from secondface.vision.frame_levels import crop_level
from secondface.vision.mesh_indices import EYE_CORNERS, mesh_indices

SIDE = 192
CROP_SCALE = 1.5
"""The network was trained on squares one and a half times as long as the face's longer side."""
MIN_SCORE = 0.5
MIN_FACE_PX = 8.0
REFINED = (
    ("output_lips", "lips"), ("output_left_eye", "left_eye"), ("output_right_eye", "right_eye"),
    ("output_left_iris", "left_iris"), ("output_right_iris", "right_iris"),
)  # fmt: skip


class FaceMesher:
    """Runs the mesh network on crops of frames; reads only the pixels of the crop."""

    def __init__(self, sessions: Sessions, min_score: float = MIN_SCORE) -> None:
        self._session = sessions.get("face_mesh_478")
        self.min_score = min_score
        indices = mesh_indices()
        self._rows = {output: np.array(getattr(indices, name)) for output, name in REFINED}
        self._irises = tuple(zip((indices.left_iris, indices.right_iris), indices.lids, strict=True))

    def from_detection(self, frame: Frame, detection: Detection, refinements: int = 2) -> Face | None:
        """The face at a detection; each refinement crops again around the points found before it."""
        face = self._measure(frame, crop_of_detection(detection))
        for _ in range(refinements):
            if face is None:
                return None
            face = self._measure(frame, crop_of_points(face.points))
        return face if face is not None and face.score >= self.min_score else None

    def follow(self, frame: Frame, previous_points: Float) -> Face | None:
        """The face near where its points [478,3] were before; None when no face is there any more."""
        face = self._measure(frame, crop_of_points(previous_points))
        return face if face is not None and face.score >= self.min_score else None

    def _measure(self, frame: Frame, to_frame: Transform) -> Face | None:
        if not scale_of(to_frame) * SIDE >= MIN_FACE_PX * CROP_SCALE:  # also where points are not numbers
            return None
        crop = crop_level(frame, to_frame, SIDE)
        if crop is None:
            return None
        out = self._session.run({"input_1": crop[None].astype(np.float32) / 255})
        points = np.zeros((478, 3), np.float32)
        points[:468] = out["output_mesh_identity"].reshape(-1, 3)
        for name, rows in self._rows.items():
            points[rows, :2] = out[name].reshape(-1, 2)
        for iris, eyelid in self._irises:
            points[list(iris), 2] = points[list(eyelid), 2].mean()
        score = 1 / (1 + np.exp(-float(out["conv_faceflag"].reshape(-1)[0])))
        points[:, :2] = apply(to_frame, points[:, :2])
        points[:, 2] *= scale_of(to_frame)
        return Face(points, float(score))


def disagreement(points: Float, detection: Detection) -> float:
    """Mean distance of a mesh's eyes, nose and mouth from a detection's, in face lengths; below 0.12 on a face."""
    own = np.stack([points[list(group), :2].mean(0) for group in (*EYE_CORNERS, (1,), (13, 14))])
    length = float(np.ptp(points[:468, :2], axis=0).max())
    return float(np.linalg.norm(detection.points[:4] - own, axis=1).mean()) / max(length, 1e-6)


def crop_of_detection(detection: Detection) -> Transform:
    """Crop to frame: the upright square around a detection, turned so that the eyes are level."""
    x0, y0, x1, y1 = detection.box
    across = detection.points[1] - detection.points[0]
    angle = float(np.arctan2(across[1], across[0]))
    centre = np.array([(x0 + x1) / 2, (y0 + y1) / 2])
    return square_to_frame(centre, max(x1 - x0, y1 - y0) * CROP_SCALE, angle, SIDE)


def crop_of_points(points: Float) -> Transform:
    """Crop to frame: the upright square around a mesh, turned so that the eyes' outer corners are level."""
    across = points[263, :2] - points[33, :2]
    angle = float(np.arctan2(across[1], across[0]))
    low, high = points[:468, :2].min(0), points[:468, :2].max(0)
    return square_to_frame((low + high) / 2, float((high - low).max()) * CROP_SCALE, angle, SIDE)
