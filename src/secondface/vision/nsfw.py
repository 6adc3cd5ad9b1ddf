"""How likely a picture is one for adults, by Yahoo's open_nsfw.

Decides how a picture is prepared for that network; must not know what follows from its number.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from secondface.frames import RGB8, Float, Sessions

MODEL = "nsfw_open"
_SQUEEZED, _SEEN = 256, 224
_MEAN_BGR = np.array([104, 117, 123], np.float32)
_QUALITY = 75
_MOST_ROWS = 16


class NsfwScorer:
    """The network and its preparation: squeezed to 256x256, the middle 224x224, as JPEG, blue first, minus the mean.

    The JPEG is its authors' own, and not for nothing: without it a smooth patch of skin scored 0.21, with it 0.06.
    """

    def __init__(self, sessions: Sessions) -> None:
        self._session = sessions.get(MODEL)

    def scores(self, pictures: Sequence[RGB8]) -> list[float]:
        """For each picture [h,w,3]: 0 for one that anybody may see, to 1. Raises ModelFailed, Cancelled."""
        found: list[float] = []
        for first in range(0, len(pictures), _MOST_ROWS):
            rows = np.stack([_prepared(picture) for picture in pictures[first : first + _MOST_ROWS]])
            found += [float(row[1]) for row in self._session.run({"input:0": rows})["outputs"]]
        return found


def _prepared(rgb: RGB8) -> Float:
    height, width = rgb.shape[:2]
    # Averaging over areas is for shrinking only: enlarged by it, a picture is a mosaic.
    how = cv2.INTER_AREA if min(height, width) >= _SQUEEZED else cv2.INTER_LINEAR
    squeezed = cv2.resize(rgb, (_SQUEEZED, _SQUEEZED), interpolation=how)
    edge = (_SQUEEZED - _SEEN) // 2
    middle = np.ascontiguousarray(squeezed[edge : edge + _SEEN, edge : edge + _SEEN, ::-1])
    packed = cv2.imencode(".jpg", middle, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])[1]
    seen = np.asarray(cv2.imdecode(packed, cv2.IMREAD_COLOR), np.float32)
    return np.ascontiguousarray(seen - _MEAN_BGR)
