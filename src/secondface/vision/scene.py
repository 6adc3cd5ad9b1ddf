"""Where one shot ends and the next begins, judged on tiny thumbnails.

Decides "same", "suspect" or "cut" for each frame in turn; must not know faces. What is compared is structure, so that a
light that changes colour or strength is no cut, and the best of several shifts, so that a moving camera is none.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

import cv2
import numpy as np

from secondface.frames import RGB8, Float, Frame, FrameWork, SceneChange

LONGEST = 64
SHIFT = 4
CUT, SUSPECT, OVER_USUAL = 0.5, 0.2, 3.0


def following(frames: Iterable[Frame]) -> Iterator[FrameWork]:
    """Each frame of a video, with how it goes on from the one before; it is looked at once, for all who ask."""
    cuts = CutDetector()
    for frame in frames:
        yield FrameWork(frame, change=cuts.update(frame.thumbnail(LONGEST)))
        del frame


class CutDetector:
    """Feed it every frame's thumbnail (longest side 64), in order."""

    def __init__(self) -> None:
        self._before: Float | None = None
        self._usual: deque[float] = deque(maxlen=12)

    def update(self, thumbnail: RGB8) -> SceneChange:
        """Whether this frame goes on from the one before; the first frame is "same"."""
        now = _structure(thumbnail)
        before, self._before = self._before, now
        if before is None:
            return "same"
        if before.shape != now.shape:
            self._usual.clear()
            return "cut"
        change = _change(before, now)
        usual = float(np.median(self._usual)) if self._usual else 0.0
        verdict: SceneChange = "same"
        if change > SUSPECT and change > OVER_USUAL * usual:
            verdict = "cut" if change > CUT else "suspect"
        if verdict == "cut":
            self._usual.clear()
        else:
            self._usual.append(change)
        return verdict


def _structure(thumbnail: RGB8) -> Float:
    """Luma without its local brightness and contrast."""
    luma = cv2.cvtColor(thumbnail, cv2.COLOR_RGB2GRAY).astype(np.float32)
    luma = cv2.GaussianBlur(luma, (0, 0), 1.0)
    local = cv2.GaussianBlur(luma, (0, 0), 10.0)
    spread = np.sqrt(cv2.GaussianBlur((luma - local) ** 2, (0, 0), 10.0)) + 4.0
    return ((luma - local) / spread).astype(np.float32)


def _change(before: Float, now: Float) -> float:
    """0 for the same structure, about 1 for unrelated pictures: one minus the best correlation over small shifts."""
    height, width = now.shape
    margin = min(SHIFT, height // 4, width // 4)
    inner = now[margin : height - margin, margin : width - margin]
    if inner.std() < 0.05 and before.std() < 0.05:
        return 0.0
    match = cv2.matchTemplate(before, np.ascontiguousarray(inner), cv2.TM_CCOEFF_NORMED)
    return float(1 - match.max())
