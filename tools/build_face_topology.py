"""Rebuild src/secondface/vision/face_topology.json: the canonical face, its triangles, atlas coordinates and mirror.

The canonical face is the mean of the meshes of the synthetic frontal portraits, made symmetric. Usage:
    python tools/build_face_topology.py ../shared/media/portraits
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

from secondface.frames import RGB8, ArrayFrame, Box, Face, Float
from secondface.models.sessions import OrtSessions
from secondface.vision.face_cover import lightness_detail
from secondface.vision.mesh_shape import align_rigid, lip_rings
from secondface.vision.mesh_topology import OUTER_LIPS, atlas_shape, topology
from secondface.vision.source_atlas import COARSE_DENSITY, build_atlas
from secondface.vision.track import FaceTracker

DESTINATION = Path(__file__).parent.parent / "src/secondface/vision/face_topology.json"
MESH_POINTS = 468
CYLINDER_RADIUS = 0.75
"""Of the unwrapping cylinder, in face widths: smaller gives the cheeks' sides more room in the atlas."""


def frontal_faces(folder: Path) -> list[tuple[RGB8, Face]]:
    """The synthetic frontal portraits in `folder` with their faces."""
    tracker, found = FaceTracker(OrtSessions()), list[tuple[RGB8, Face]]()
    for path in sorted(folder.glob("synth_*_front.jpg")):
        bgr = cv2.imread(str(path))
        if bgr is None:
            raise SystemExit(f"cannot read {path}")
        rgb = np.ascontiguousarray(bgr[..., ::-1])
        found.append((rgb, tracker.still(ArrayFrame(rgb))[0]))
    return found


def lips_look(folder: Path) -> dict[str, object]:
    """The mean lightness detail around closed, beardless lips, in hundredths, on an atlas of COARSE_DENSITY."""
    looks = list[Float]()
    for rgb, face in frontal_faces(folder):
        texture, _ = build_atlas([(rgb, face)]).level_for(COARSE_DENSITY)
        texture = cv2.resize(texture, atlas_shape(COARSE_DENSITY)[::-1], interpolation=cv2.INTER_AREA)
        looks.append(lightness_detail(texture.astype(np.float32), COARSE_DENSITY))
    mean = np.median(looks, 0)
    box = Box.around(topology().atlas[list(OUTER_LIPS)] * COARSE_DENSITY, 8)
    rows = np.round(mean[box.y0 : box.y1, box.x0 : box.x1] * 100).astype(int).tolist()
    return {"density": COARSE_DENSITY, "x": box.x0, "y": box.y0, "rows": rows}


def mean_shape(meshes: list[Float]) -> Float:
    """Generalised Procrustes mean, centred, one unit wide."""
    mean = meshes[0].astype(np.float64)
    for _ in range(5):
        aligned = [align_rigid(mesh, mean) for mesh in meshes]
        mean = np.mean(aligned, 0)
        mean = (mean - mean.mean(0)) / np.ptp(mean[:, 0])
    return mean.astype(np.float32)


def mirror_pairs(shape: Float) -> npt.NDArray[np.int64]:
    """For each point the index of its mirror image: closest pairs first, after a flip that is fitted to the face."""
    flipped = shape * np.array([-1, 1, 1], np.float32)
    fitted = flipped  # the portraits are frontal, so the flip alone is close
    for _ in range(10):
        distance = np.linalg.norm(fitted[:, None] - shape[None], axis=2)
        pairs = _pair_up(distance + distance.T)
        fitted = align_rigid(flipped[pairs], shape)[pairs]
    return pairs


def _pair_up(cost: npt.NDArray[np.floating]) -> npt.NDArray[np.int64]:
    partner = np.full(len(cost), -1)
    for flat in np.argsort(cost, axis=None):
        i, j = divmod(int(flat), len(cost))
        if partner[i] < 0 and partner[j] < 0:
            partner[i], partner[j] = j, i
    return partner


def unwrap(shape: Float) -> Float:
    """Cylindrical atlas coordinates, not yet scaled."""
    depth = shape[:, 2] - shape[:, 2].max()
    u = CYLINDER_RADIUS * np.arctan2(shape[:, 0], CYLINDER_RADIUS - 0.55 - depth)
    return np.stack([u, shape[:, 1]], 1).astype(np.float32)


def triangulate(uv: Float) -> list[list[int]]:
    """Delaunay triangles on the atlas but for the mouth: those of a closed mouth would tie lip to lip."""
    rings = lip_rings()
    within = set(rings[1:].ravel().tolist())
    outside = [i for i in range(len(uv)) if i not in within]
    edge = set(rings[0].tolist())
    around = [[outside[i] for i in ids] for ids in _delaunay(uv[outside])]
    return [ids for ids in around if not edge.issuperset(ids)] + mouth_triangles()


def mouth_triangles() -> list[list[int]]:
    """The two lips as strips between their four rings, and the opening as one between the lips; mirror images."""
    outer, inner, middle, near = lip_rings()
    triangles = list[list[int]]()
    for i in range(10):
        left = i < 5
        upper, upper_next = (10 + i if i else 0), (11 + i if i < 9 else 10)
        for above, below in ((inner, near), (near, middle), (middle, outer)):
            triangles += _quad(above[i], above[i + 1], below[i + 1], below[i], forward=left)
        for above, below in ((outer, middle), (middle, near), (near, inner)):
            triangles += _quad(above[upper], above[upper_next], below[upper_next], below[upper], forward=not left)
        triangles += _quad(inner[upper], inner[upper_next], inner[i + 1], inner[i], forward=left)
    return triangles


def _quad(a: int, b: int, c: int, d: int, *, forward: bool) -> list[list[int]]:
    """A quadrilateral (clockwise in the picture) as two triangles, or one where two of its corners are the same."""
    halves = ((a, b, c), (a, c, d)) if forward else ((a, b, d), (b, c, d))
    return [[int(i) for i in half] for half in halves if len(set(half)) == 3]


def _delaunay(uv: Float) -> list[list[int]]:
    """Triangles of points [n,2], clockwise in the picture."""
    low, high = uv.min(0) - 1, uv.max(0) + 1
    scale = 4096.0 / float((high - low).max())
    grid = ((uv - low) * scale).astype(np.float32)
    plane = cv2.Subdiv2D((0, 0, 4200, 4200))
    vertex = {plane.insert((float(x), float(y))): i for i, (x, y) in enumerate(grid)}
    triangles = list[list[int]]()
    for corner in plane.getTriangleList().reshape(-1, 3, 2):
        ids = [int(np.abs(grid - point).sum(1).argmin()) for point in corner]
        near = all(float(np.abs(grid[i] - p).sum()) < 0.5 for i, p in zip(ids, corner, strict=True))
        if near and len(set(ids)) == 3:
            a, b, c = grid[ids].astype(np.float64)
            turn = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
            triangles.append(ids if turn > 0 else ids[::-1])
    assert len(vertex) == len(uv)
    return triangles


def main() -> None:
    folder = Path(sys.argv[1])
    shape = mean_shape([face.points[:MESH_POINTS] for _, face in frontal_faces(folder)])
    pairs = mirror_pairs(shape)
    flip = np.array([-1, 1, 1], np.float32)
    for _ in range(10):  # each turn brings the mirror plane closer to x = 0
        shape = align_rigid(shape, (shape + shape[pairs] * flip) / 2)
    upright = (shape + shape[pairs] * flip) / 2
    uv = unwrap(upright.astype(np.float32))
    data = {
        "points": np.round(upright, 5).tolist(),
        "mirror": pairs.tolist(),
        "atlas": np.round(uv, 5).tolist(),
        "triangles": triangulate(uv),
    }
    DESTINATION.write_text(json.dumps(data, separators=(",", ":")) + "\n")
    data["lips"] = lips_look(folder)  # needs the atlas that was just written
    DESTINATION.write_text(json.dumps(data, separators=(",", ":")) + "\n")
    print(f"{len(data['triangles'])} triangles, atlas {np.ptp(uv[:, 0]):.2f} x {np.ptp(uv[:, 1]):.2f}")


if __name__ == "__main__":
    main()
