"""The light on a face is kept for two frames, moved along with it, and dropped where the face changed."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from secondface.frames import ArrayFrame
from secondface.vision.kept_light import KeptLight, glance
from secondface.vision.mesh_layout import FaceLayout, lay_out
from secondface.vision.mesh_topology import MESH_POINTS
from secondface.vision.relight import Relit, relight
from secondface.vision.source_atlas import SourceAtlas, build_atlas
from tests.unit.vision.drawn_faces import PALE, face, mesh, picture

POINTS = mesh(180, 200, 200)
STILL = np.zeros((MESH_POINTS, 2), np.float32)


@pytest.fixture(scope="module")
def atlas() -> SourceAtlas:
    points = mesh(340, 300, 300)
    return build_atlas([(picture(points, (600, 600), PALE), face(points))])


def seen(rgb: np.ndarray, points: np.ndarray, earlier: np.ndarray | None = None) -> tuple[FaceLayout, np.ndarray]:
    layout = lay_out(ArrayFrame(rgb), face(points), STILL, 0.06, earlier)
    assert layout is not None
    box = layout.box
    return layout, layout.shrink(rgb[box.y0 : box.y1, box.x0 : box.x1])


def kept_of(rgb: np.ndarray, atlas: SourceAtlas) -> tuple[KeptLight, Relit]:
    layout, small = seen(rgb, POINTS)
    relit = relight(layout, small, layout.shrink(layout.openings()), atlas, True, None)
    return KeptLight(relit, layout.coarse_points, glance(small, layout)), relit


def moved(by: tuple[float, float], scale: float = 1.0) -> np.ndarray:
    points = mesh(180 * scale, 200, 200)
    points[:, :2] += np.array(by, np.float32)
    return points


def test_a_face_that_moves_looks_the_same_and_is_served_twice(atlas: SourceAtlas) -> None:
    kept, _ = kept_of(picture(POINTS), atlas)
    points = moved((9.0, -5.0), 1.04)
    layout, small = seen(picture(points), points)
    assert [kept.serves(glance(small, layout)) for _ in range(3)] == [True, True, False]


def test_what_moves_over_a_face_is_looked_at_anew(atlas: SourceAtlas) -> None:
    kept, _ = kept_of(picture(POINTS), atlas)
    rgb = picture(POINTS)
    cv2.rectangle(rgb, (110, 190), (165, 300), (40, 60, 80), -1)
    layout, small = seen(rgb, POINTS)
    assert not kept.serves(glance(small, layout))


def test_another_light_is_looked_at_anew(atlas: SourceAtlas) -> None:
    kept, _ = kept_of(picture(POINTS), atlas)
    layout, small = seen((picture(POINTS) * 0.95).astype(np.uint8), POINTS)
    assert not kept.serves(glance(small, layout))


def test_open_lips_are_nothing_new(atlas: SourceAtlas) -> None:
    kept, _ = kept_of(picture(POINTS), atlas)
    rgb = picture(POINTS)
    lips = POINTS[[13, 14], :2].mean(0).astype(int)
    cv2.ellipse(rgb, tuple(int(at) for at in lips), (14, 5), 0, 0, 360, (40, 15, 15), -1)
    layout, small = seen(rgb, POINTS)
    assert kept.serves(glance(small, layout))


def test_what_was_found_moves_along_with_the_face(atlas: SourceAtlas) -> None:
    rgb = picture(POINTS).astype(np.float32)
    rgb *= np.linspace(1.2, 0.5, 400, dtype=np.float32)[None, :, None]  # one side in shade
    kept, _ = kept_of(np.clip(rgb, 0, 255).astype(np.uint8), atlas)
    points = moved((12.0, 8.0), 1.1)
    later = picture(points).astype(np.float32) * np.linspace(1.2, 0.5, 400, dtype=np.float32)[None, :, None]
    layout, small = seen(np.clip(later, 0, 255).astype(np.uint8), points, kept.points)
    anew = relight(layout, small, layout.shrink(layout.openings()), atlas, True, None)
    carried = kept.moved_to(layout)
    shown = anew.alpha > 0.9
    assert carried.gain.shape == anew.gain.shape
    assert np.abs(carried.alpha - anew.alpha)[layout.covered > 0.9].mean() < 0.02
    assert np.abs(carried.gain / anew.gain - 1)[shown].mean() < 0.06
    assert carried.alpha[layout.covered == 0].max(initial=0) < 0.02
