"""Alignment of the chip, and who is remembered as whom."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from secondface.frames import ArrayFrame
from secondface.vision.identity import PADDING, SIDE, Identifier, PeopleGallery, distance
from secondface.vision.mesh_indices import mesh_indices


class Chips:
    """Keeps the chips that it is shown."""

    name = "face_id_dlib128"

    def __init__(self) -> None:
        self.batch = np.zeros(0)

    def get(self, name: str) -> Chips:
        return self

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        self.batch = inputs["input"]
        return {"descriptor": np.stack([np.full(128, k, np.float32) for k in range(len(self.batch))])}


def test_the_five_points_land_on_dlibs_template():
    rgb = np.zeros((600, 600, 3), np.uint8)
    points = np.zeros((478, 3), np.float32)
    angle, scale = 0.3, 2.2
    turn = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    template = (np.array(mesh_indices().dlib5_template) + PADDING) / (1 + 2 * PADDING) * SIDE
    places = (template - SIDE / 2) @ turn.T + 300
    points[list(mesh_indices().dlib5), :2] = places
    for x, y in places:
        rgb[int(y) - 4 : int(y) + 5, int(x) - 4 : int(x) + 5] = 255
    chips = Chips()
    descriptor = Identifier(chips).describe(ArrayFrame(rgb), points)
    assert chips.batch.shape == (2, 3, SIDE, SIDE)
    np.testing.assert_array_equal(chips.batch[1], chips.batch[0][:, :, ::-1])
    for x, y in template:
        assert chips.batch[0, 0, int(y), int(x)] > 200
    np.testing.assert_array_equal(descriptor, np.full(128, 0.5))
    np.testing.assert_array_equal(Identifier(chips).describe(rgb, points), descriptor)


def test_a_face_outside_the_frame_still_has_a_descriptor():
    points = np.zeros((478, 3), np.float32)
    points[list(mesh_indices().dlib5), :2] = np.array(mesh_indices().dlib5_template) * 50 - 900
    assert Identifier(Chips()).describe(np.full((40, 40, 3), 9, np.uint8), points).shape == (128,)


def person(*parts: float) -> np.ndarray:
    return np.array([*parts, *[0.0] * (128 - len(parts))], np.float32)


def test_distance_is_euclidean():
    assert distance(person(3), person(0, 4)) == pytest.approx(5)


def test_the_nearest_absent_person_is_recognised():
    gallery = PeopleGallery()
    first, second = gallery.new_person(), gallery.new_person()
    assert (first, second) == (0, 1)
    gallery.add_view(first, person(0.0))
    gallery.add_view(second, person(0.6))
    assert gallery.recognise(person(0.35), [0, 1]) == second
    assert gallery.recognise(person(0.35), [0]) == first
    assert gallery.recognise(person(0, 0.51), [0, 1]) is None
    assert gallery.recognise(person(0.35), []) is None


def test_views_are_few_and_the_first_stays():
    gallery = PeopleGallery()
    number = gallery.new_person()
    assert gallery.distance(number, person(1.0)) is None
    for k in range(40):
        gallery.add_view(number, person(*([0.0] * k), 1.0))
    assert gallery.distance(number, person(1.0)) == 0
    assert gallery.distance(number, person(*([0.0] * 39), 1.0)) == 0
    assert gallery.distance(number, person(*([0.0] * 20), 1.0)) == pytest.approx(2**0.5)


def test_a_view_like_another_is_not_kept_twice():
    gallery = PeopleGallery()
    number = gallery.new_person()
    gallery.add_view(number, person(0.0))
    for k in range(20):
        gallery.add_view(number, person(0.01 * k))
    assert gallery.distance(number, person(0.2)) == pytest.approx(0.2)
