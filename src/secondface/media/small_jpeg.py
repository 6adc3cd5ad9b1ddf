"""Small pictures as JPEG, to be sent to whoever judges them: no metadata, nothing of the original file."""

from __future__ import annotations

import cv2
import numpy as np

from secondface.errors import InternalFault
from secondface.frames import RGB8


def small_jpeg(rgb: RGB8, quality: int = 85) -> bytes:
    """A picture [h,w,3] as a baseline JPEG."""
    done, content = cv2.imencode(".jpg", np.ascontiguousarray(rgb[:, :, ::-1]), [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not done:
        raise InternalFault("a small picture could not be encoded")
    return content.tobytes()
