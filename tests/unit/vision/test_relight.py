"""The target's light on the source's skin, on drawn faces whose light is known."""

from __future__ import annotations

import numpy as np
import pytest

from secondface.frames import ArrayFrame
from secondface.vision.mesh_layout import FaceLayout, lay_out
from secondface.vision.mesh_topology import MESH_POINTS
from secondface.vision.relight import DARK_OFFSET, Relit, relight
from secondface.vision.source_atlas import SourceAtlas, build_atlas
from tests.unit.vision.drawn_faces import DARK, PALE, TAN, face, mesh, picture, turned

POINTS = mesh(180, 200, 200)


def atlas_of(skin: tuple[int, int, int]) -> SourceAtlas:
    points = mesh(340, 300, 300)
    return build_atlas([(picture(points, (600, 600), skin), face(points))])


def light_up(
    rgb: np.ndarray, atlas: SourceAtlas, points: np.ndarray = POINTS, *, occlusion: bool = True
) -> tuple[FaceLayout, Relit, np.ndarray]:
    """The layout, the relit face, and the new colours where they are seen in full."""
    layout = lay_out(ArrayFrame(rgb), face(points), np.zeros((MESH_POINTS, 2), np.float32), 0.06)
    assert layout is not None
    box = layout.box
    small = layout.shrink(rgb[box.y0 : box.y1, box.x0 : box.x1])
    relit = relight(layout, small, layout.shrink(layout.openings()), atlas, occlusion, None)
    new = (layout.sample_small(atlas) + DARK_OFFSET) * relit.gain - DARK_OFFSET
    return layout, relit, new[(relit.alpha > 0.9) & (relit.skin > 0.9)]


@pytest.mark.parametrize("skin", [TAN, PALE, DARK])
@pytest.mark.parametrize("source", [TAN, PALE, DARK])
def test_skin_takes_the_tone_of_the_target_however_far_apart(
    skin: tuple[int, int, int], source: tuple[int, int, int]
) -> None:
    _, _, new = light_up(picture(POINTS, skin=skin), atlas_of(source))
    assert np.median(new, axis=0) == pytest.approx(skin, rel=0.1, abs=5)


def test_coloured_and_one_sided_light_are_kept() -> None:
    rgb = picture(POINTS).astype(float)
    rgb *= np.linspace(1.2, 0.4, 400)[None, :, None] * np.array([1.1, 0.9, 0.7])
    rgb = np.clip(rgb, 0, 255).astype(np.uint8)
    layout, relit, _ = light_up(rgb, atlas_of(PALE))
    atlas = atlas_of(PALE)
    new = (layout.sample_small(atlas) + DARK_OFFSET) * relit.gain - DARK_OFFSET
    box = layout.box
    there = layout.shrink(rgb[box.y0 : box.y1, box.x0 : box.x1])
    shown = (relit.alpha > 0.9) & (relit.skin > 0.9)
    middle = shown.shape[1] // 2
    for half in (np.s_[:, : middle - 15], np.s_[:, middle + 15 :]):
        assert np.median(new[half][shown[half]], 0) == pytest.approx(
            np.median(there[half][shown[half]], 0), rel=0.15, abs=5
        )


def test_the_shade_on_a_sources_cheeks_does_not_come_along() -> None:
    """A face lit from the front darkens towards its sides; on a target turned away that would be a grey patch."""
    lit, points = picture(mesh(340, 300, 300), (600, 600)), mesh(340, 300, 300)
    layout = lay_out(ArrayFrame(lit), face(points), np.zeros((MESH_POINTS, 2), np.float32), 0.06)
    assert layout is not None
    part = lit[layout.box.y0 : layout.box.y1, layout.box.x0 : layout.box.x1]
    part[:] = part * (0.4 + 0.6 * np.clip(layout.enlarge(layout.normals[..., 2]), 0.2, 1))[..., None]
    away, atlas = mesh(180, 200, 200, pose=turned(yaw=30)), build_atlas([(lit, face(points))])
    layout, relit, _ = light_up(picture(away, noise=0), atlas, away)
    new = ((layout.sample_small(atlas) + DARK_OFFSET) * relit.gain - DARK_OFFSET).mean(2)
    facing = layout.zones(atlas).facing
    turned_here = layout.normals[..., 2] - facing > 0.2
    shown = (relit.alpha > 0.9) & (relit.skin > 0.9)
    at_side, in_middle = (np.median(new[shown & part]) for part in (turned_here, facing > 0.9))
    assert at_side == pytest.approx(in_middle, rel=0.08)


def test_alpha_is_whole_inside_and_nothing_on_the_outline_and_in_profile() -> None:
    layout, relit, _ = light_up(picture(POINTS), atlas_of(TAN))
    assert 0 <= relit.alpha.min() <= relit.alpha.max() <= 1.0001
    assert relit.alpha[layout.heart() > 0].mean() > 0.8
    edge = np.concatenate([relit.alpha[0], relit.alpha[-1], relit.alpha[:, 0], relit.alpha[:, -1]])
    assert edge.max() < 0.05
    turned_points = mesh(180, 200, 200, pose=turned(yaw=55))
    _, away, _ = light_up(picture(turned_points), atlas_of(TAN), turned_points)
    assert away.alpha.max() < 0.3


def test_what_hangs_in_front_takes_alpha_away_unless_that_is_switched_off() -> None:
    rgb = picture(POINTS)
    rgb[:, 220:] = np.where(np.arange(400)[:, None, None] > 190, np.uint8(40), rgb[:, 220:])
    _, kept, _ = light_up(rgb, atlas_of(TAN))
    _, painted, _ = light_up(rgb, atlas_of(TAN), occlusion=False)
    half = kept.alpha.shape[1] // 2 + 20
    low = kept.alpha.shape[0] // 2 + 15
    assert kept.alpha[low:, half:].mean() < 0.4 * painted.alpha[low:, half:].mean()


def bearded() -> np.ndarray:
    """The face with black hair on all skin below the nose, up to the edge of the lips."""
    shaven, rgb = picture(POINTS), picture(POINTS)
    nose = int(POINTS[2, 1])
    below = np.arange(400)[:, None] > nose + 2
    skin = (np.abs(shaven.astype(int) - np.array(TAN)).max(2) < 25) & below
    rgb[skin] = (24, 20, 18)
    return rgb


def test_under_a_moustache_the_upper_lip_stays_the_targets_and_the_lower_one_does_not() -> None:
    layout, relit, _ = light_up(bearded(), atlas_of(TAN))
    shaven_layout, shaven, _ = light_up(picture(POINTS), atlas_of(TAN))
    zone, other = layout.zones(atlas_of(TAN)), shaven_layout.zones(atlas_of(TAN))
    assert relit.alpha[zone.upper_lip > 0.9].mean() < 0.3
    assert shaven.alpha[other.upper_lip > 0.9].mean() > 0.9
    assert relit.alpha[(zone.lip > 0.9) & (zone.upper_lip < 0.1)].mean() > 0.8


def test_a_beard_is_not_taken_for_shade_on_the_lips_amid_it() -> None:
    layout, relit, _ = light_up(bearded(), atlas_of(TAN))
    lips = layout.zones(atlas_of(TAN)).lip > 0.9
    assert relit.light[lips].mean(0) == pytest.approx(TAN, rel=0.2)


@pytest.mark.parametrize("level", [0, 255])
def test_black_and_white_pictures_are_no_fault(level: int) -> None:
    _, relit, _ = light_up(np.full((400, 400, 3), level, np.uint8), atlas_of(TAN))
    for field in (relit.gain, relit.alpha, relit.skin, relit.light):
        assert np.isfinite(field).all()
    assert relit.gain.min() > 0


def test_a_grey_picture_asks_for_little_colour() -> None:
    grey = np.repeat(picture(POINTS).mean(2, keepdims=True), 3, 2).astype(np.uint8)
    _, in_grey, _ = light_up(grey, atlas_of(TAN))
    _, in_colour, _ = light_up(picture(POINTS), atlas_of(TAN))
    assert in_grey.colour < 0.4 < 0.8 < in_colour.colour
