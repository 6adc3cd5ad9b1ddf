"""What hangs in front of a drawn face is found, and the face itself is not."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from secondface.frames import ArrayFrame
from secondface.vision.face_cover import LipsPlace, covered_share, lightness_detail, lips_agreement
from secondface.vision.mesh_layout import CoarseZones, FaceLayout, lay_out
from secondface.vision.mesh_topology import MESH_POINTS
from secondface.vision.shading import fit_shading
from secondface.vision.skin_light import skin_likelihood
from secondface.vision.source_atlas import build_atlas
from tests.unit.vision.drawn_faces import DARK, PALE, TAN, face, mesh, picture

GLOVE, LEAF, HAIR, MUG = (40, 40, 44), (20, 120, 40), (28, 24, 22), (240, 240, 240)


def lay(rgb: np.ndarray, points: np.ndarray) -> tuple[FaceLayout, CoarseZones, np.ndarray]:
    """The layout, its zones and the coarse picture."""
    layout = lay_out(ArrayFrame(rgb), face(points), np.zeros((MESH_POINTS, 2), np.float32), 0.06)
    assert layout is not None
    box = layout.box
    return (
        layout,
        layout.zones(build_atlas([(rgb, face(points))])),
        layout.shrink(rgb[box.y0 : box.y1, box.x0 : box.x1]),
    )


def share(rgb: np.ndarray, clean: np.ndarray, points: np.ndarray) -> np.ndarray:
    """[h,w] coarse; the zones come from the clean picture."""
    layout, zone, _ = lay(clean, points)
    _, _, small = lay(rgb, points)
    core = zone.core * (layout.seen > 0.3)
    light = fit_shading(small, layout.normals, zone.skin, core * skin_likelihood(small, core))
    return covered_share(skin_likelihood(small, core, light), zone, layout.coarse_width)


@pytest.mark.parametrize("skin", [TAN, PALE, DARK])
def test_nothing_covers_a_bare_face(skin: tuple[int, int, int]) -> None:
    points = mesh()
    rgb = picture(points, skin=skin)
    layout, zone, _ = lay(rgb, points)
    found = share(rgb, rgb, points)
    assert (found * zone.core).max() < 0.1
    assert float((found * layout.covered * zone.skin).sum()) < 0.03 * float((layout.covered * zone.skin).sum())


@pytest.mark.parametrize("skin", [TAN, PALE, DARK])
@pytest.mark.parametrize("colour", [GLOVE, LEAF])
def test_what_comes_in_from_below_is_found_where_it_is(
    skin: tuple[int, int, int], colour: tuple[int, int, int]
) -> None:
    points = mesh()
    clean = picture(points, skin=skin)
    rgb = clean.copy()
    rgb[215:, 120:200] = colour
    layout, zone, _ = lay(clean, points)
    found = share(rgb, clean, points)
    scale = layout.coarse_width / layout.width_px
    y, x = (np.arange(size) / scale for size in layout.coarse_shape)
    inside = ((y + layout.box.y0) > 222)[:, None] & (((x + layout.box.x0) > 127) & ((x + layout.box.x0) < 193))[None]
    beside = ((x + layout.box.x0) > 215)[None] & ((y + layout.box.y0) > 0)[:, None]
    where = layout.covered * zone.skin > 0.6
    assert found[inside & where].mean() > 0.85
    assert found[beside & where].mean() < 0.1


def test_a_fringe_is_found_and_a_mole_is_not() -> None:
    points = mesh()
    clean = picture(points)
    fringe = clean.copy()
    fringe[:120] = HAIR
    mole = clean.copy()
    cv2.circle(mole, (150, 210), 4, (70, 45, 35), -1)
    layout, zone, _ = lay(clean, points)
    hidden = zone.skin[:30] * layout.covered[:30] > 0.7
    assert share(fringe, clean, points)[:30][hidden].mean() > 0.7
    assert (share(mole, clean, points) * zone.core).max() < 0.1


@pytest.mark.parametrize("skin", [TAN, PALE, DARK])
def test_a_white_mug_is_found(skin: tuple[int, int, int]) -> None:
    points = mesh()
    clean = picture(points, skin=skin)
    rgb = clean.copy()
    rgb[205:, 115:205] = MUG
    layout, zone, _ = lay(clean, points)
    low_left = np.s_[layout.coarse_shape[0] * 2 // 3 :, : layout.coarse_shape[1] // 2 - 4]
    where = (layout.covered * zone.skin)[low_left] > 0.6
    assert share(rgb, clean, points)[low_left][where].mean() > 0.9


def test_agreement_with_lips_tells_a_mouth_from_a_hand() -> None:
    points = mesh()
    clean = picture(points)
    hand = clean.copy()
    hand[225:290, 140:260] = [int(channel * 1.02) for channel in TAN]
    agreement = list[float]()
    for rgb in (clean, hand):
        layout, zone, small = lay(rgb, points)
        place = LipsPlace(zone.lips, zone.lip, zone.lips_look)
        agreement.append(lips_agreement(small, place, layout.seen, layout.coarse_width))
    assert agreement[0] > 0.5 > 0.3 > agreement[1]


def test_lips_that_are_turned_away_are_taken_to_be_there() -> None:
    layout, zone, small = lay(picture(mesh()), mesh())
    place = LipsPlace(zone.lips, zone.lip, zone.lips_look)
    assert lips_agreement(small, place, np.zeros_like(layout.seen), layout.coarse_width) == 1.0


def test_detail_does_not_know_the_exposure() -> None:
    rgb = np.random.default_rng(0).uniform(60, 200, (64, 64, 3)).astype(np.float32)
    slope = np.linspace(0.6, 1.0, 64, dtype=np.float32)[None, :, None]
    difference = lightness_detail(rgb, 100) - lightness_detail(rgb * slope, 100)
    assert np.abs(difference[8:-8, 8:-8]).mean() < 0.02
