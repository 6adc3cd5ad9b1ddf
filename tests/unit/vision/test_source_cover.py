"""What covers a source's skin and goes along with it: beards and the rims of glasses, not hands and hair."""

from __future__ import annotations

import numpy as np
import pytest

from secondface.vision.mesh_topology import atlas_shape, zones
from secondface.vision.source_atlas import COARSE_DENSITY
from secondface.vision.source_cover import thin_cover

SHAPE = atlas_shape(COARSE_DENSITY)
SKIN = np.ones(SHAPE, np.float32)


def bar(width: int) -> np.ndarray:
    """A cover of that many pixels from top to bottom."""
    cover = np.zeros(SHAPE, np.float32)
    cover[:, 100 : 100 + width] = 1
    return cover


@pytest.mark.parametrize("width", [1, 3, 5])
def test_a_rim_is_worn(width: int) -> None:
    cover = bar(width)
    assert thin_cover(cover, SKIN, COARSE_DENSITY)[cover > 0].min() == 1


@pytest.mark.parametrize("width", [12, 30, 80])
def test_a_hand_or_a_strand_of_hair_is_not(width: int) -> None:
    cover = bar(width)
    assert thin_cover(cover, SKIN, COARSE_DENSITY)[cover > 0].max() == 0


def test_nothing_is_worn_where_no_skin_is_expected() -> None:
    zone = zones(COARSE_DENSITY, 0.1)
    lips = zone.lip > 0.9
    worn = thin_cover(np.where(lips, 1, 0).astype(np.float32), zone.skin, COARSE_DENSITY)
    assert worn[lips].mean() < 0.2
