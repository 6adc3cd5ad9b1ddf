"""Networks that see coloured rectangles as faces, so that tracking can be tested without models and in no time.

A rectangle of a saturated colour is a face and its colour is the person; grey is background.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import cv2
import numpy as np

from secondface.frames import ArrayFrame
from secondface.vision.mesh_indices import mesh_indices

RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)
SIX_POINTS = np.array([[-0.2, -0.15], [0.2, -0.15], [0, 0.05], [0, 0.25], [-0.45, -0.1], [0.45, -0.1]])
PLACED = {
    33: (-0.3, -0.15), 133: (-0.1, -0.15), 362: (0.1, -0.15), 263: (0.3, -0.15), 1: (0, 0.05), 2: (0, 0.1),
    13: (0, 0.24), 14: (0, 0.26), 61: (-0.2, 0.25), 291: (0.2, 0.25), 10: (0, -0.5), 152: (0, 0.5),
    234: (-0.5, 0), 454: (0.5, 0),
}  # fmt: skip


def canonical_mesh() -> np.ndarray:
    """[478,2] in a unit square around 0 that the mesh fills."""
    points = np.random.default_rng(7).uniform(-0.45, 0.45, (478, 2))
    for index, place in PLACED.items():
        points[index] = place
    return points


def picture(width: int, height: int, faces: Sequence[tuple[tuple[int, int, int], int, int, int]]) -> np.ndarray:
    """A textured grey picture with (colour, centre x, centre y, side) rectangles, later ones in front."""
    grey = np.random.default_rng(1).integers(60, 200, (height // 20 + 1, width // 20 + 1), np.uint8)
    rgb = np.repeat(cv2.resize(grey, (width, height), interpolation=cv2.INTER_CUBIC)[..., None], 3, 2)
    for colour, x, y, side in faces:
        half = side // 2
        rgb[max(0, y - half) : max(0, y + half), max(0, x - half) : max(0, x + half)] = colour
    return np.ascontiguousarray(rgb)


def frame(index: int, rgb: np.ndarray) -> ArrayFrame:
    return ArrayFrame(rgb, index, index, Fraction(1, 25))


def blobs(rgb: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, int]]:
    """Centre [2], size [2] and person of each rectangle in a picture of 0..255."""
    found: list[tuple[np.ndarray, np.ndarray, int]] = []
    for person in range(3):
        others = np.delete(rgb, person, 2).max(2)
        mask = (rgb[..., person] - others > 100).astype(np.uint8)
        _, _, stats, _ = cv2.connectedComponentsWithStats(mask)
        for x, y, w, h, area in stats[1:]:
            if area >= 4 and area > 0.5 * w * h:
                found.append((np.array([x + w / 2, y + h / 2]), np.array([w, h], float), person))
    return found


class Detector:
    def __init__(self, name: str, side: int, cells: Sequence[tuple[int, int]]) -> None:
        self.name, self.side, self.cells, self.calls = name, side, cells, 0

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        self.calls += 1
        assert inputs["input"].shape == (1, self.side, self.side, 3)
        total = sum(n * n * k for n, k in self.cells)
        regressors = np.zeros((1, total, 16), np.float32)
        logits = np.full((1, total, 1), -9, np.float32)
        n, k = self.cells[0]
        for centre, size, _ in blobs((inputs["input"][0] + 1) * 127.5):
            cell = np.clip((centre * n / self.side).astype(int), 0, n - 1)
            anchor = (cell + 0.5) * self.side / n
            row = (cell[1] * n + cell[0]) * k
            points = centre + SIX_POINTS * size - anchor
            regressors[0, row] = [*(centre - anchor), *size, *points.ravel()]
            logits[0, row] = 3
        return {"a": regressors, "b": logits}


class Mesh:
    name = "face_mesh_478"

    def __init__(self) -> None:
        self.calls = 0

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        self.calls += 1
        found = blobs(inputs["input_1"][0] * 255)
        found.sort(key=lambda blob: float(np.linalg.norm(blob[0] - 96)))
        centre, size = (found[0][0], found[0][1]) if found else (np.array([96.0, 96.0]), np.array([128.0, 128.0]))
        points = np.zeros((478, 3), np.float32)
        points[:, :2] = centre + canonical_mesh() * size
        rows = mesh_indices()
        flat = {"output_mesh_identity": points[:468].ravel()}
        for output, row in (
            ("output_lips", rows.lips), ("output_left_eye", rows.left_eye), ("output_right_eye", rows.right_eye),
            ("output_left_iris", rows.left_iris), ("output_right_iris", rows.right_iris),
        ):  # fmt: skip
            flat[output] = points[list(row), :2].ravel()
        return {**flat, "conv_faceflag": np.array([6.0 if found else -6.0], np.float32)}


class Identity:
    name = "face_id_dlib128"

    def __init__(self) -> None:
        self.calls = 0

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        self.calls += 1
        chips = inputs["input"].transpose(0, 2, 3, 1)
        out = np.zeros((len(chips), 128), np.float32)
        for row, chip in zip(out, chips, strict=True):
            middle = chip[50:100, 50:100].reshape(-1, 3).mean(0)
            row[int(middle.argmax())] = 0.64
        return {"descriptor": out}


class PuppetSessions:
    """Sessions.get for all four networks."""

    def __init__(self) -> None:
        self.near = Detector("face_detect_full192", 192, [(48, 1)])
        self.far = Detector("face_detect_back256", 256, [(16, 2), (8, 6)])
        self.mesh = Mesh()
        self.identity = Identity()

    def get(self, name: str):
        return {s.name: s for s in (self.near, self.far, self.mesh, self.identity)}[name]
