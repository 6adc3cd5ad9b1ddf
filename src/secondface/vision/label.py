"""The visible label: what it says, how large it is, in which corner it stands, and how it is painted.

Decides text, size, layout and corner; must not know files, settings or the request. The glyphs come from the fonts that
OpenCV 5 carries (Rubik for Latin, WenQuanYi Micro Hei for Chinese), so nothing has to be installed beside the package.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Protocol, runtime_checkable

import cv2
import numpy as np
import numpy.typing as npt

from secondface.frames import RGB8, Box, Face, Frame, FrameBatch, Mask01

LabelLanguages = Literal["zh+en", "zh", "en"]
LabelPosition = Literal["auto", "bottom-right", "bottom-left", "top-right", "top-left"]
Corner = Literal["bottom-right", "bottom-left", "top-right", "top-left"]
Lines = tuple[str, ...]

GLYPH_SHARE = 0.05
"""Least height of a capital letter, as a share of the picture's shortest side."""

_CORNERS: tuple[Corner, ...] = ("bottom-right", "bottom-left", "top-right", "top-left")
_LAYOUTS: dict[LabelLanguages, tuple[Lines, ...]] = {
    "zh+en": (("AI生成 · AI-generated",), ("AI生成", "AI-generated")),
    "zh": (("AI生成",),),
    "en": (("AI-generated",), ("AI-", "generated")),
}
_LEGIBLE_GLYPH_PX = 9  # below this the strokes of 生成 run together
_WEIGHT = 430
_PLATE, _OUTLINE, _INK = 0.62, 0.45, 250  # opacity, opacity, level: white text keeps 4.5:1 on a white ground


@dataclass(frozen=True, slots=True)
class LabelArt:
    """A rendered label: a pixel becomes `pixel * keep / 255 + add`, [h,w] both."""

    keep: npt.NDArray[np.uint8]
    add: npt.NDArray[np.uint8]
    glyph_px: int
    """Height of a capital letter's ink, measured on the rendered pixels."""

    @property
    def width(self) -> int:
        return int(self.keep.shape[1])

    @property
    def height(self) -> int:
        return int(self.keep.shape[0])


@dataclass(frozen=True, slots=True)
class Placement:
    """Which rendering of the label stands where."""

    art: LabelArt
    box: Box
    corner: Corner
    glyph_share: float
    """Height of a capital letter over the picture's shortest side."""

    @property
    def fits(self) -> bool:
        """False for a picture so small that the label had to be made smaller than the rule asks."""
        return self.glyph_share >= GLYPH_SHARE and self.art.glyph_px >= _LEGIBLE_GLYPH_PX


@runtime_checkable
class _Overlaid(Protocol):
    """A frame that takes something grey without being turned into RGB for it."""

    def overlay(self, box: Box, keep: npt.NDArray[np.uint8], add: npt.NDArray[np.uint8]) -> bool: ...


class LabelPainter:
    """Paints the label into frames; keeps its corner until a cut brings a face under it."""

    def __init__(self, languages: LabelLanguages = "zh+en", position: LabelPosition = "auto") -> None:
        self._languages: LabelLanguages = languages
        self._position: LabelPosition = position
        self._placed: Placement | None = None
        self._place: tuple[int, int, int] | None = None

    @property
    def placement(self) -> Placement | None:
        """Where the last label was painted; None before the first frame."""
        return self._placed

    def paint(self, frame: Frame, faces: Sequence[Face] = (), scene: int = 0) -> Box:
        """Paint the label into `frame`, away from `faces`; returns the only box that was read and written."""
        placed = self._placement_for((frame.width, frame.height, scene), faces)
        if not (isinstance(frame, _Overlaid) and frame.overlay(placed.box, placed.art.keep, placed.art.add)):
            # frames of HDR say how bright letters may be; in all others full white is paper
            white = int(getattr(frame, "graphics_white", 255))
            frame.write(placed.box, _composite(frame.read(placed.box), placed.art, white))
        return placed.box

    def paint_batch(self, batch: FrameBatch) -> list[Box]:
        """Paint each frame of a batch; a new scene's corner is chosen from all its faces that the batch shows."""
        boxes: list[Box] = []
        for work in batch:
            frame = work.frame
            place = (frame.width, frame.height, work.scene)
            if place != self._place:
                self._placement_for(
                    place, [face for other in batch if other.scene == work.scene for face in other.faces]
                )
            boxes.append(self.paint(frame, work.faces, work.scene))
        return boxes

    def _placement_for(self, place: tuple[int, int, int], faces: Sequence[Face]) -> Placement:
        if self._placed is None or place != self._place:
            self._placed = place_label(place[0], place[1], faces, self._languages, self._corners())
            self._place = place
        return self._placed

    def _corners(self) -> list[Corner]:
        if self._position != "auto":
            return [self._position]
        # A label that jumps at every cut draws the eye: the corner in use goes first.
        in_use = self._placed.corner if self._placed is not None else _CORNERS[0]
        return sorted(_CORNERS, key=lambda corner: corner != in_use)


def place_label(
    width: int,
    height: int,
    faces: Sequence[Face] = (),
    languages: LabelLanguages = "zh+en",
    corners: Sequence[Corner] = _CORNERS,
) -> Placement:
    """The layout and corner that cover least of `faces`; among equals the first corner, in one line before two."""
    shortest = min(width, height)
    margin = _even(round(0.03 * shortest))
    best: tuple[float, Placement] | None = None
    for art in _arts_that_fit(width - 2 * margin, height - 2 * margin, shortest, languages):
        for corner in corners:
            box = _corner_box(corner, art, width, height, margin)
            covered = sum(_covered(face, box, margin) for face in faces)
            if best is None or covered < best[0] - 1e-9:
                best = covered, Placement(art, box, corner, art.glyph_px / shortest)
    if best is None:  # nothing fits inside the margins: the shortest text, as small as the picture needs
        art = _shrunk_art(_LAYOUTS[languages][-1] if languages == "en" else ("AI生成",), width, height)
        box = _corner_box(corners[0], art, width, height, 0)
        return Placement(art, box, corners[0], art.glyph_px / shortest)
    return best[1]


def _arts_that_fit(width: int, height: int, shortest: int, languages: LabelLanguages) -> list[LabelArt]:
    glyph_px = max(int(np.ceil(GLYPH_SHARE * shortest)), _LEGIBLE_GLYPH_PX)
    arts = [render_label(lines, glyph_px) for lines in _LAYOUTS[languages]]
    return [art for art in arts if art.width <= width and art.height <= height]


def _corner_box(corner: Corner, art: LabelArt, width: int, height: int, margin: int) -> Box:
    # Even offsets: in 4:2:0 video the box then shares no chroma sample with its neighbours.
    x0 = margin if corner.endswith("left") else max(0, (width - margin - art.width) & ~1)
    y0 = margin if corner.startswith("top") else max(0, (height - margin - art.height) & ~1)
    return Box(x0, y0, x0 + art.width, y0 + art.height)


def _covered(face: Face, box: Box, margin: int) -> float:
    """How badly a label in `box` hides a face: its points count most, hair and ears beside them a little."""
    near = box.grow(margin)
    x, y = face.points[:, 0], face.points[:, 1]
    hidden = float(np.mean((x >= near.x0) & (x < near.x1) & (y >= near.y0) & (y < near.y1)))
    outline = Box.around(face.points)
    sides, top = outline.width // 8, round(outline.height * 0.35)
    head = Box(outline.x0 - sides, outline.y0 - top, outline.x1 + sides, outline.y1)
    return hidden + 0.1 * box.intersect(head).area / max(1, head.area)


def _composite(rgb: RGB8, art: LabelArt, white: int) -> RGB8:
    ink = art.add if white == 255 else cv2.convertScaleAbs(art.add, alpha=white / 255)
    keep, add = cv2.merge([art.keep] * 3), cv2.merge([ink] * 3)
    return np.asarray(cv2.add(cv2.multiply(rgb, keep, scale=1 / 255), add), np.uint8)


@lru_cache(maxsize=32)
def render_label(lines: Lines, glyph_px: int) -> LabelArt:
    """The label with capital letters at least `glyph_px` pixels high, on its plate; sides are even."""
    size = max(4, int(glyph_px / 0.8))
    while _capital_px(size) < glyph_px:
        size += 1
    pad = max(2, round(0.34 * size))
    ink = _padded_to_even(_ink(lines, size), pad)
    return _art(ink, size, _capital_px(size))


def _shrunk_art(lines: Lines, width: int, height: int) -> LabelArt:
    """The label at its least legible size, area-averaged until it fits; for pictures too small to hold it."""
    art = render_label(lines, _LEGIBLE_GLYPH_PX)
    scale = min(1.0, width / art.width, height / art.height)
    size = max(1, int(art.width * scale)), max(1, int(art.height * scale))
    keep = np.asarray(cv2.resize(art.keep, size, interpolation=cv2.INTER_AREA), np.uint8)
    add = np.asarray(cv2.resize(art.add, size, interpolation=cv2.INTER_AREA), np.uint8)
    return LabelArt(keep, add, int(art.glyph_px * scale))


def _art(ink: Mask01, size: int, glyph_px: int) -> LabelArt:
    height, width = ink.shape
    reach = max(1, round(size / 16))
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * reach + 1, 2 * reach + 1))
    outline = cv2.GaussianBlur(cv2.dilate(ink, kernel), (0, 0), reach / 2 + 0.3)
    keep = (1 - _PLATE * _rounded_plate(width, height, 0.3 * size)) * (1 - _OUTLINE * outline) * (1 - ink)
    layers = (np.round(layer * 255).astype(np.uint8) for layer in (keep, ink * (_INK / 255)))
    return LabelArt(*layers, glyph_px=glyph_px)


def _rounded_plate(width: int, height: int, radius: float) -> Mask01:
    x = np.abs(np.arange(width) + 0.5 - width / 2) - (width / 2 - radius)
    y = np.abs(np.arange(height) + 0.5 - height / 2) - (height / 2 - radius)
    distance = np.hypot(np.maximum(x[None], 0), np.maximum(y[:, None], 0)) - radius
    return np.clip(0.5 - distance, 0, 1).astype(np.float32)


def _ink(lines: Lines, size: int) -> Mask01:
    """Anti-aliased coverage of the lines, cropped to the ink."""
    canvas = np.zeros((size * (2 * len(lines) + 1), size * (max(map(len, lines)) + 2)), np.uint8)
    font = cv2.FontFace("sans")
    for row, line in enumerate(lines):
        cv2.putText(canvas, line, (size, round(size * (1.5 + 1.35 * row))), (255,), font, size, _WEIGHT)
    ys, xs = np.where(canvas > 0)
    return canvas[ys.min() : ys.max() + 1, xs.min() : xs.max() + 1].astype(np.float32) / np.float32(255)


@lru_cache(maxsize=256)
def _capital_px(size: int) -> int:
    """Rows of a capital letter that are at least half ink."""
    return int(np.count_nonzero((_ink(("I",), size) >= 0.5).any(axis=1)))


def _padded_to_even(ink: Mask01, pad: int) -> Mask01:
    height, width = ink.shape
    odd_y, odd_x = height % 2, width % 2
    return np.pad(ink, ((pad, pad + odd_y), (pad, pad + odd_x))).astype(np.float32, copy=False)


def _even(value: int) -> int:
    return value & ~1
