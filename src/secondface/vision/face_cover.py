"""What hangs in front of a face: hair, beard, glasses, hands, microphones. It stays where it is."""

from __future__ import annotations

import numpy as np

from secondface.frames import Float, Mask01
from secondface.vision.mesh_layout import CoarseZones
from secondface.vision.skin_light import skin_likelihood


def cover(rgb: Float, light: Float, zone: CoarseZones, core: Mask01) -> Mask01:
    """[h,w] coarse: 1 where the face itself is seen, 0 where something covers it."""
    plain = skin_likelihood(rgb, core, light, 1.3)
    return np.maximum(plain, 1 - zone.skin).astype(np.float32)
