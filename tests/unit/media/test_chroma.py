from __future__ import annotations

import numpy as np
import pytest

from secondface.media.chroma import CENTRE, LEFT, TOP_LEFT, ChromaSite, enlarged, reduced

SITES = [CENTRE, LEFT, TOP_LEFT, ChromaSite("last", "middle"), ChromaSite("middle", "last")]
OFFSET = {"first": 0.5, "middle": 1.0, "last": 1.5}
"""Of a sample from the edge of its cell of two pixels, whose centres are at 0.5 and 1.5."""


def plane(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return (3 * x[None] + 5 * y[:, None]).astype(np.float32)


@pytest.mark.parametrize("site", SITES, ids=str)
def test_a_slope_is_sampled_and_rebuilt_where_its_samples_lie(site: ChromaSite) -> None:
    pixels = plane(np.arange(32) + 0.5, np.arange(24) + 0.5)
    samples = plane(2 * np.arange(16) + OFFSET[site.x], 2 * np.arange(12) + OFFSET[site.y])
    inner = slice(2, -2), slice(2, -2)
    np.testing.assert_allclose(enlarged(samples, 1, 1, site)[inner], pixels[inner], atol=1e-3)
    np.testing.assert_allclose(reduced(pixels, 1, 1, site)[inner], samples[inner], atol=1e-3)


@pytest.mark.parametrize("site", SITES, ids=str)
@pytest.mark.parametrize("shifts", [(1, 1), (1, 0), (0, 1), (2, 0), (0, 0)])
@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.float32])
def test_one_colour_stays_itself(site: ChromaSite, shifts: tuple[int, int], kind: type) -> None:
    samples = np.full((5, 7), 200, kind)
    large = enlarged(samples, *shifts, site)
    assert large.shape == (5 << shifts[1], 7 << shifts[0])
    assert set(np.unique(large)) == {200}
    small = reduced(np.full((9, 13), 200, kind), *shifts, site)
    assert small.shape == (-(-9 >> shifts[1]), -(-13 >> shifts[0]))
    assert set(np.unique(small)) == {200}


@pytest.mark.parametrize("clockwise", [0, 90, 180, 270])
@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("site", SITES, ids=str)
def test_samples_turn_with_the_picture(site: ChromaSite, clockwise: int, mirrored: bool) -> None:
    pixels = plane(np.arange(16) + 0.5, np.arange(16) + 0.5)

    def turned(values: np.ndarray) -> np.ndarray:
        return np.rot90(values[:, ::-1] if mirrored else values, -clockwise // 90)

    after = reduced(np.ascontiguousarray(turned(pixels)), 1, 1, site.turned(clockwise, mirrored))
    expected = turned(reduced(pixels, 1, 1, site))
    np.testing.assert_allclose(after[1:-1, 1:-1], expected[1:-1, 1:-1], atol=1e-3)
