"""The values that rooms hand to each other: pixels, frames, faces, and what a model session looks like.

Decides shapes and units; must not know files, models or settings. numpy only.
All coordinates are in pixels of the upright frame, x to the right, y down, pixel centres at +0.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

RGB8: TypeAlias = npt.NDArray[np.uint8]
"""[height, width, 3], sRGB-like display values, red first."""
Mask01: TypeAlias = npt.NDArray[np.floating]
"""[height, width], 0..1; float32."""
Float: TypeAlias = npt.NDArray[np.floating]
"""float32, although numpy's own types lose sight of that in arithmetic with Python numbers."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle of whole pixels; x1 and y1 are one past the last pixel."""

    x0: int
    y0: int
    x1: int
    y1: int

    @property
    def width(self) -> int:
        return max(0, self.x1 - self.x0)

    @property
    def height(self) -> int:
        return max(0, self.y1 - self.y0)

    @property
    def area(self) -> int:
        return self.width * self.height

    def clip(self, width: int, height: int) -> Box:
        """The part of this box that lies inside a picture of that size."""
        return Box(
            min(max(self.x0, 0), width), min(max(self.y0, 0), height),
            min(max(self.x1, 0), width), min(max(self.y1, 0), height),
        )  # fmt: skip

    def intersect(self, other: Box) -> Box:
        return Box(max(self.x0, other.x0), max(self.y0, other.y0), min(self.x1, other.x1), min(self.y1, other.y1))

    def grow(self, margin: int) -> Box:
        return Box(self.x0 - margin, self.y0 - margin, self.x1 + margin, self.y1 + margin)

    @staticmethod
    def around(points: Float, margin: float = 0.0) -> Box:
        """The smallest box that holds points [n,2+], grown by `margin` pixels."""
        low, high = points[:, :2].min(0) - margin, points[:, :2].max(0) + margin
        return Box(int(np.floor(low[0])), int(np.floor(low[1])), int(np.ceil(high[0])), int(np.ceil(high[1])))


class Frame(Protocol):
    """One picture with its place in time. Only the regions that are read are ever converted to RGB."""

    @property
    def index(self) -> int: ...
    @property
    def pts(self) -> int | None: ...
    @property
    def time_base(self) -> Fraction: ...
    @property
    def width(self) -> int: ...
    @property
    def height(self) -> int: ...
    def read(self, box: Box | None = None) -> RGB8:
        """A copy of the pixels inside `box` (which must lie inside the frame), or of all of them."""
        ...

    def write(self, box: Box, rgb: RGB8) -> None:
        """Replace the pixels inside `box`; pixels outside it keep their exact stored values."""
        ...

    def thumbnail(self, longest: int) -> RGB8:
        """The whole frame, area-averaged so that its longest side is at most `longest`."""
        ...


@dataclass(slots=True)
class Face:
    """One face in one frame."""

    points: Float
    """[478,3] MediaPipe mesh with irises: x, y in frame pixels, z in the same unit (smaller is nearer)."""
    score: float
    """Probability that the points lie on a face, 0..1."""
    track_id: int = 0
    """The same number for the same person through a video, also after a gap or a cut."""
    identity: Float | None = None
    """[128] descriptor; Euclidean distance <= 0.5 means the same person. None where not computed for this frame."""
    source: int | None = None
    """Which source goes onto this face; None leaves it as it is."""

    @property
    def size_px(self) -> float:
        """Width of the face outline."""
        return float(np.ptp(self.points[:468, 0]))


SceneChange: TypeAlias = Literal["same", "suspect", "cut"]
"""How a frame goes on from the one before it."""


@dataclass(slots=True)
class FrameWork:
    """A frame on its way through the steps, with what earlier steps found out about it."""

    frame: Frame
    faces: list[Face] = field(default_factory=list[Face])
    scene: int = 0
    """Rises by one at each cut, so that a step can drop what it remembers."""
    change: SceneChange | None = None
    """None where nobody looked."""


FrameBatch: TypeAlias = list[FrameWork]
"""Up to 32 frames in presentation order."""


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """What a step may know of the stream before the first frame."""

    width: int
    height: int
    frame_count: int | None
    """None when the container does not say."""
    is_still: bool
    average_rate: Fraction | None = None
    """Frames per second as a fraction, only for display and for windows in time."""


class Session(Protocol):
    """A loaded model: named arrays in, named arrays out. Safe to call from several threads."""

    @property
    def name(self) -> str: ...
    def run(self, inputs: Mapping[str, npt.NDArray[np.generic]]) -> dict[str, npt.NDArray[np.float32]]: ...


class Sessions(Protocol):
    """Where loaded models come from: `sessions.get("face_mesh_478")` loads at most once."""

    def get(self, name: str) -> Session: ...


class ArrayFrame:
    """A Frame over one RGB array [h,w,3], which it takes over and changes in place."""

    def __init__(self, rgb: RGB8, index: int = 0, pts: int | None = None, time_base: Fraction = Fraction(1, 1)) -> None:
        self.rgb = rgb
        self.index = index
        self.pts = pts
        self.time_base = time_base

    @property
    def width(self) -> int:
        return int(self.rgb.shape[1])

    @property
    def height(self) -> int:
        return int(self.rgb.shape[0])

    def read(self, box: Box | None = None) -> RGB8:
        view = self.rgb if box is None else self.rgb[box.y0 : box.y1, box.x0 : box.x1]
        return view.copy()

    def write(self, box: Box, rgb: RGB8) -> None:
        self.rgb[box.y0 : box.y1, box.x0 : box.x1] = rgb

    def thumbnail(self, longest: int) -> RGB8:
        scale = longest / max(self.width, self.height)
        if scale >= 1:
            return self.rgb.copy()
        size = (max(1, round(self.height * scale)), max(1, round(self.width * scale)))
        return _area_resize(self.rgb, size)


def _area_resize(rgb: RGB8, size: tuple[int, int]) -> RGB8:
    """Exact box filter to `size` (height, width) by cumulative sums, so that numpy is enough here."""
    rows = _averaged(rgb.astype(np.float64), 0, size[0])
    return np.round(_averaged(rows, 1, size[1])).clip(0, 255).astype(np.uint8)


def _averaged(values: npt.NDArray[np.float64], axis: int, length: int) -> npt.NDArray[np.float64]:
    edges = np.arange(length + 1, dtype=np.float64) * (values.shape[axis] / length)
    total = np.concatenate([np.zeros_like(values.take([0], axis)), np.cumsum(values, axis)], axis)
    low: npt.NDArray[np.intp] = np.floor(edges).astype(np.intp).clip(0, values.shape[axis] - 1)
    part = (edges - low).reshape((-1, 1, 1) if axis == 0 else (1, -1, 1))
    at_edges = total.take(low, axis) * (1 - part) + total.take(low + 1, axis) * part
    return np.diff(at_edges, axis=axis) * (length / values.shape[axis])
