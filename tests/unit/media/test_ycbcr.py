from __future__ import annotations

import numpy as np
import pytest

from secondface.errors import MediaUnsupported
from secondface.media.ycbcr import ColourSpace, codes_from_rgb, rgb_from_codes


@pytest.mark.parametrize("matrix", [1, 5, 6, 7, 9])
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("depth", [8, 10, 12])
def test_the_two_maps_undo_each_other(matrix: int, full: bool, depth: int) -> None:
    space = ColourSpace(matrix, full)
    there, back = codes_from_rgb(space, depth).astype(float), rgb_from_codes(space, depth).astype(float)
    rgb = np.array([[0, 0, 0], [255, 255, 255], [255, 0, 0], [12, 200, 90]], float)
    codes = rgb @ there[:, :3].T + there[:, 3]
    np.testing.assert_allclose(codes @ back[:, :3].T + back[:, 3], rgb, atol=1e-2)


@pytest.mark.parametrize(
    ("space", "depth", "white", "black"),
    [
        (ColourSpace(1), 8, (235, 128, 128), (16, 128, 128)),
        (ColourSpace(1, full_range=True), 8, (255, 128, 128), (0, 128, 128)),
        (ColourSpace(9), 10, (940, 512, 512), (64, 512, 512)),
    ],
)
def test_white_and_black_have_the_codes_of_the_standard(
    space: ColourSpace, depth: int, white: tuple[int, ...], black: tuple[int, ...]
) -> None:
    factors = codes_from_rgb(space, depth)
    np.testing.assert_allclose(factors[:, :3] @ np.full(3, 255) + factors[:, 3], white, atol=1e-2)
    np.testing.assert_allclose(factors[:, 3], black, atol=1e-3)


def test_bt709_red_is_as_the_standard_says() -> None:
    factors = codes_from_rgb(ColourSpace(1), 8)
    red = factors[:, :3] @ np.array([255, 0, 0]) + factors[:, 3]
    np.testing.assert_allclose(red, [16 + 219 * 0.2126, 128 - 224 * 0.2126 / 1.8556, 240], atol=1e-2)


@pytest.mark.parametrize(
    ("matrix", "size", "expected"), [(2, (640, 480), 6), (2, (1280, 720), 1), (2, (720, 608), 1), (9, (640, 480), 9)]
)
def test_untagged_is_guessed_by_size(matrix: int, size: tuple[int, int], expected: int) -> None:
    assert ColourSpace.tagged(matrix, 0, 2, 2, size=size).matrix == expected


def test_range_comes_from_the_tag_or_the_format() -> None:
    assert not ColourSpace.tagged(1, 0, 1, 1, size=(64, 64)).full_range
    assert ColourSpace.tagged(1, 2, 1, 1, size=(64, 64)).full_range
    assert ColourSpace.tagged(1, 0, 1, 1, size=(64, 64), full=True).full_range


@pytest.mark.parametrize("matrix", [10, 11, 13, 14, 15, 16])
def test_a_matrix_that_is_none_is_refused_by_name(matrix: int) -> None:
    with pytest.raises(MediaUnsupported, match="colour matrix is"):
        ColourSpace.tagged(matrix, 1, 9, 14, size=(64, 64))


@pytest.mark.parametrize("transfer", [9, 10, 17])
def test_a_transfer_of_no_display_is_refused(transfer: int) -> None:
    with pytest.raises(MediaUnsupported, match="transfer is"):
        ColourSpace.tagged(1, 1, 1, transfer, size=(64, 64))


def test_ycgco_is_the_sum_and_difference_that_it_says() -> None:
    factors = codes_from_rgb(ColourSpace(8, full_range=True), 8)
    red, green = (factors[:, :3] @ np.array(colour) + factors[:, 3] for colour in ([255, 0, 0], [0, 255, 0]))
    np.testing.assert_allclose(red, [63.75, 128 - 63.75, 128 + 127.5], atol=1e-3)
    np.testing.assert_allclose(green, [127.5, 255.5, 128], atol=1e-3)


@pytest.mark.parametrize(("primaries", "same_as"), [(1, 1), (9, 9)])
def test_a_matrix_derived_from_primaries_is_the_one_named_after_them(primaries: int, same_as: int) -> None:
    derived = codes_from_rgb(ColourSpace(12, primaries=primaries), 10)
    np.testing.assert_allclose(derived, codes_from_rgb(ColourSpace(same_as), 10), atol=0.1)


def test_p3_primaries_are_kept() -> None:
    found = ColourSpace.tagged(1, 1, 12, 1, size=(1920, 1080))
    assert (found.primaries, found.transfer, found.matrix) == (12, 1, 1)
