"""The canonical face is whole, even and right side out."""

from __future__ import annotations

from collections import Counter

import cv2
import numpy as np
import pytest

from secondface.vision.mesh_shape import lip_rings
from secondface.vision.mesh_topology import (
    INNER_LIPS,
    LEFT_BROW,
    LEFT_EYE,
    MESH_POINTS,
    OUTER_LIPS,
    OVAL,
    RIGHT_BROW,
    RIGHT_EYE,
    atlas_shape,
    lips_look,
    topology,
    with_skirt,
    zones,
)

DENSITY = 128


def at(mask: np.ndarray, vertices: tuple[int, ...]) -> float:
    """The mask's value in the middle of some vertices, on the atlas."""
    x, y = topology().atlas[list(vertices)].mean(0) * DENSITY
    return float(mask[int(y), int(x)])


def areas(points: np.ndarray) -> np.ndarray:
    a, b, c = (points[topology().triangles[:, k]].astype(np.float64) for k in range(3))
    return ((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]) / 2


def test_mirroring_twice_changes_nothing_and_once_flips_the_face() -> None:
    mirror = topology().mirror
    assert (mirror[mirror] == np.arange(len(mirror))).all()
    flipped = topology().points[mirror[:MESH_POINTS]] * [-1, 1, 1]
    assert np.abs(flipped - topology().points).max() < 1e-3
    atlas = topology().atlas
    assert np.ptp(atlas[:, 0] + atlas[mirror, 0]) < 0.01
    assert np.abs(atlas[:, 1] - atlas[mirror, 1]).max() < 0.01


def test_mirroring_maps_features_onto_features() -> None:
    mirror = topology().mirror
    assert {int(mirror[i]) for i in OVAL} == set(OVAL)
    assert {int(mirror[i]) for i in RIGHT_EYE} == set(LEFT_EYE)
    assert {int(mirror[i]) for i in RIGHT_BROW} == set(LEFT_BROW)
    assert {int(mirror[i]) for i in OUTER_LIPS} == set(OUTER_LIPS)
    assert {int(mirror[i]) for i in INNER_LIPS} == set(INNER_LIPS)


def in_mouth() -> np.ndarray:
    """Which triangles lie between the lips, where the atlas has no room."""
    return np.asarray(np.isin(topology().triangles, INNER_LIPS).all(axis=1))


def test_no_triangle_is_flat_and_none_lies_over_another_on_the_atlas() -> None:
    drawn = areas(topology().atlas)
    assert np.abs(drawn[~in_mouth()]).min() > 5e-7
    assert np.abs(drawn[in_mouth()]).sum() < 1e-3
    # Laid edge to edge, triangles cover just what they add up to.
    height, width = atlas_shape(512)
    covered = np.zeros((height, width), np.uint8)
    for triangle in topology().triangles:
        polygon = np.round(topology().atlas[triangle] * 512 * 16).astype(np.int32)
        cv2.fillConvexPoly(covered, polygon, 1, cv2.LINE_8, 4)
    assert float(covered.sum()) / 512**2 == pytest.approx(np.abs(drawn).sum(), rel=0.02)


def test_triangles_hang_together() -> None:
    triangles = topology().triangles
    assert triangles.min() == 0
    assert triangles.max() == MESH_POINTS + len(OVAL) - 1
    edges = Counter(tuple(sorted((int(t[k]), int(t[(k + 1) % 3])))) for t in triangles for k in range(3))
    assert set(edges.values()) <= {1, 2}
    border = {vertex for edge, count in edges.items() if count == 1 for vertex in edge}
    assert border == set(range(MESH_POINTS, MESH_POINTS + len(OVAL)))
    used = set(triangles.ravel().tolist())
    assert used == set(range(MESH_POINTS + len(OVAL)))


def test_no_triangle_ties_lip_to_lip_but_those_of_the_opening() -> None:
    rings = lip_rings()
    lower, upper = (np.isin(topology().triangles, rings[:, side]).any(1) for side in (slice(1, 10), slice(11, 20)))
    assert (lower & upper & ~in_mouth()).sum() == 0
    assert in_mouth().sum() == 18
    edges = {frozenset((int(t[k]), int(t[(k + 1) % 3]))) for t in topology().triangles for k in range(3)}
    for ring in (OUTER_LIPS, INNER_LIPS, LEFT_EYE, RIGHT_EYE, OVAL):
        assert all(frozenset(pair) in edges for pair in zip(ring, (*ring[1:], ring[0]), strict=True))


def test_the_faces_own_triangles_turn_one_way_when_the_mouth_is_open() -> None:
    points = topology().points[:, :2].copy()
    lower = lip_rings()[:, 1:10]
    points[lower, 1] += 0.2
    own = (topology().triangles < MESH_POINTS).all(1) & ~np.isin(topology().triangles, lower).all(1)
    opened = areas(np.concatenate([points, np.zeros((len(OVAL), 2))]))
    assert (opened[in_mouth()] > 0).all()
    assert (areas(topology().atlas)[own & ~in_mouth()] > 0).all()


def test_the_skirt_lies_outside_the_outline_and_moves_with_the_face() -> None:
    points = topology().points
    skirted = with_skirt(points)
    assert skirted.shape == (MESH_POINTS + len(OVAL), 3)
    assert (skirted[:MESH_POINTS] == points).all()
    middle = points.mean(0)[:2]
    inner = np.linalg.norm(points[list(OVAL), :2] - middle, axis=1)
    outer = np.linalg.norm(skirted[MESH_POINTS:, :2] - middle, axis=1)
    assert (outer > 1.1 * inner).all()
    moved = with_skirt(points * 3 + np.float32(7))
    assert np.abs(moved - (skirted * 3 + 7)).max() < 1e-4
    assert with_skirt(np.concatenate([points, points[:10]])).shape == skirted.shape


def test_zones_are_where_their_names_say() -> None:
    zone = zones(DENSITY, 0.06)
    nose, chin, cheek = (1,), (199,), (50,)
    for mask in (zone.inside, zone.middle, zone.skin, zone.lower_lip, zone.lip, zone.beard, zone.core, *zone.glasses):
        assert mask.shape == atlas_shape(DENSITY)
        assert mask.dtype == np.float32
        assert 0 <= mask.min() <= mask.max() <= 1.0001
    assert at(zone.inside, nose) == at(zone.inside, cheek) == 1
    assert zone.inside[0].max() == zone.inside[:, 0].max() == zone.inside[-1].max() == 0
    assert (zone.middle <= zone.inside + 1e-6).all()
    assert at(zone.skin, cheek) > 0.95
    assert max(at(zone.skin, part) for part in (RIGHT_BROW, LEFT_EYE, OUTER_LIPS)) < 0.05
    assert at(zone.core, cheek) > 0.9 > 0.1 > at(zone.core, chin)
    assert at(zone.beard, chin) == 1
    assert at(zone.beard, cheek) == 0
    assert at(zone.lip, (14, 17)) > 0.9
    for mask, place in zip(zone.glasses, ((168, 6), (118, 101), (347, 330)), strict=True):
        assert at(mask, place) > 0.9


def test_zones_are_even() -> None:
    zone = zones(DENSITY, 0.06)
    atlas = topology().atlas
    middle = float((atlas[:, 0] + atlas[topology().mirror, 0]).mean()) * DENSITY
    shift = round(middle) - zone.inside.shape[1]
    for mask in (zone.inside, zone.middle, zone.skin, zone.lower_lip, zone.core):
        flipped = np.roll(mask[:, ::-1], shift, axis=1)
        assert np.abs(mask - flipped).mean() < 0.01


def test_a_wider_feather_falls_further_in() -> None:
    assert zones(DENSITY, 0.12).inside.sum() < zones(DENSITY, 0.03).inside.sum()


def test_the_look_of_lips_is_dark_between_them_and_nothing_elsewhere() -> None:
    look = lips_look(DENSITY)
    assert look.shape == atlas_shape(DENSITY)
    assert at(look, (13, 14)) < 0
    assert at(look, (10,)) == at(look, (454,)) == 0
