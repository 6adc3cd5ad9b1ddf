"""A source person's texture: what it is made of, how fine it is, and that building it is repeatable."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from secondface.vision.mesh_topology import LEFT_BROW, MESH_POINTS, OUTER_LIPS, atlas_shape, topology
from secondface.vision.source_atlas import COARSE_DENSITY, SourceAtlas, build_atlas
from tests.unit.vision.drawn_faces import DARK, PALE, TAN, face, mesh, picture, turned


def build(width: float = 340, skin: tuple[int, int, int] = TAN, pose: np.ndarray | None = None) -> SourceAtlas:
    points = mesh(width, 300, 300, pose=pose)
    return build_atlas([(picture(points, (600, 600), skin), face(points))])


def texel(atlas: SourceAtlas, vertices: tuple[int, ...]) -> np.ndarray:
    x, y = topology().atlas[list(vertices)].mean(0) * atlas.density
    return atlas.levels[0][int(y), int(x)].astype(float)


@pytest.mark.parametrize("skin", [TAN, PALE, DARK])
def test_the_atlas_shows_skin_brows_and_lips_where_they_belong(skin: tuple[int, int, int]) -> None:
    atlas = build(skin=skin)
    assert texel(atlas, (50,)) == pytest.approx(skin, rel=0.12, abs=6)
    assert texel(atlas, LEFT_BROW).mean() < 0.85 * np.mean(skin)
    lips = texel(atlas, (17, 14))
    assert lips[0] > 1.5 * lips[1] or skin == DARK
    assert lips[0] / lips[1] > 1.15 * skin[0] / skin[1]


@pytest.mark.parametrize("width", [40, 61, 90, 118, 119, 121, 180, 242, 300, 2000])
def test_a_growing_face_passes_from_level_to_level_without_a_step(width: float) -> None:
    atlas = build()

    def shares(width: float) -> dict[int, float]:
        return {density: share for _, density, share in atlas.levels_for(width)}

    here, later = shares(width), shares(width * 1.005)
    assert sum(here.values()) == pytest.approx(1)
    assert len(here) <= 2
    assert all(abs(here.get(d, 0) - later.get(d, 0)) < 0.05 for d in here.keys() | later.keys())
    coarsest = min(d for d, share in here.items() if share > 0)
    assert coarsest >= 0.95 * width or coarsest == atlas.density


def test_each_level_is_half_as_dense() -> None:
    atlas = build()
    for above, below in zip(atlas.levels, atlas.levels[1:], strict=False):
        assert below.shape[:2] == (above.shape[0] // 2, above.shape[1] // 2)
    assert atlas.levels[0].shape[:2] == atlas_shape(atlas.density)
    assert atlas.light.shape == atlas.known.shape == (*atlas_shape(COARSE_DENSITY), 3)


def test_the_level_is_no_coarser_than_the_target_and_no_finer_than_needed() -> None:
    atlas = build()
    for width in (10, 40, 90, 200, 380, 2000):
        texture, density = atlas.level_for(width)
        assert texture.shape[:2] == pytest.approx(atlas_shape(density), abs=2)
        assert density >= 0.95 * width or density == atlas.density
        assert density < 2.2 * width or density == atlas.density >> (len(atlas.levels) - 1)


@pytest.mark.parametrize(("width", "calls"), [(120, 1), (330, 0)])
def test_a_small_face_is_enlarged_once(width: float, calls: int) -> None:
    asked = list[tuple[int, ...]]()

    def enlarge(rgb: np.ndarray) -> np.ndarray:
        asked.append(rgb.shape)
        return cv2.resize(rgb, None, fx=2, fy=2, interpolation=cv2.INTER_CUBIC)

    points = mesh(width, 300, 300)
    atlas = build_atlas([(picture(points, (600, 600)), face(points))], enlarge)
    assert len(asked) == calls
    assert atlas.density >= width * (1 + calls)


def test_light_and_certainty_of_an_even_face() -> None:
    atlas = build()
    light, certain = atlas.light, atlas.known[..., 0]
    x, y = (topology().atlas[50] * COARSE_DENSITY).astype(int)
    assert light[y, x] == pytest.approx(TAN, rel=0.1)
    assert certain[y, x] > 0.9
    assert 0 <= certain.min() <= certain.max() <= 1.001
    assert np.isfinite(light).all()


def test_a_hand_on_the_cheek_is_not_part_of_the_face() -> None:
    points = mesh(340, 300, 300)
    rgb = picture(points, (600, 600))
    rgb[280:420, :230] = (60, 80, 160)
    certain = build_atlas([(rgb, face(points))]).known[..., 0]
    hidden, free = ((topology().atlas[index] * COARSE_DENSITY).astype(int) for index in (205, 425))
    assert certain[free[1], free[0]] > 0.9
    assert certain[hidden[1], hidden[0]] < certain[free[1], free[0]]


def test_the_far_side_of_a_turned_head_is_taken_from_the_near_side() -> None:
    atlas = build(pose=turned(yaw=35))
    for cheek in (50, 280):
        assert texel(atlas, (cheek,)) == pytest.approx(TAN, rel=0.2)


def test_shape_is_even_and_of_the_best_picture() -> None:
    front, side = mesh(340, 300, 300), mesh(340, 300, 300, pose=turned(yaw=40))
    pictures = [(picture(points, (600, 600)), face(points)) for points in (side, front)]
    atlas = build_atlas(pictures)
    assert atlas.shape.shape == (MESH_POINTS, 3)
    assert np.abs(atlas.shape - front[:MESH_POINTS]).max() < 2


def test_more_pictures_of_the_same_person_change_little_and_repeat_exactly() -> None:
    points = mesh(340, 300, 300)
    one = (picture(points, (600, 600)), face(points))
    single, twice, again = build_atlas([one]), build_atlas([one, one]), build_atlas([one])
    assert all((a == b).all() for a, b in zip(single.levels, again.levels, strict=True))
    assert (single.light == again.light).all() and (single.known == again.known).all()
    assert np.abs(single.levels[0].astype(int) - twice.levels[0].astype(int)).mean() < 2


def test_a_face_half_outside_its_picture_and_a_tiny_one_are_no_fault() -> None:
    for width, x in ((340, 20), (340, 600), (14, 300)):
        points = mesh(width, x, 300)
        atlas = build_atlas([(picture(points, (600, 600)), face(points))])
        assert np.isfinite(atlas.light).all() and np.isfinite(atlas.known).all()


def test_lips_stay_lips_in_every_level() -> None:
    atlas = build()
    for level, texture in enumerate(atlas.levels):
        x, y = topology().atlas[list(OUTER_LIPS)].mean(0) * (atlas.density >> level)
        r, g, _ = texture[int(y), int(x)].astype(int)
        assert r > g
