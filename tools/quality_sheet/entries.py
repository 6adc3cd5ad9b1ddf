"""What stands on the sheet: rows of pictures with a caption and figures. Decides nothing of how it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from tools.quality_sheet.figures import Figure
from tools.quality_sheet.outside import Mesh, Pixels


@dataclass(frozen=True, slots=True)
class Entry:
    """One pair, or one person of a clip."""

    title: str
    remark: str
    pictures: tuple[tuple[Pixels, ...], ...]
    """Rows of square pictures of one size: of a pair source, target and output; of a clip targets over outputs."""
    figures: tuple[Figure, ...]
    output: Path

    @property
    def failing(self) -> list[Figure]:
        return [figure for figure in self.figures if figure.holds is False]


@dataclass(frozen=True, slots=True)
class Sheet:
    """All of it."""

    summary: tuple[Figure, ...]
    chapters: tuple[tuple[str, tuple[Entry, ...]], ...]

    @property
    def failing(self) -> list[str]:
        """One line for each figure outside its bound."""
        lines = [f"{figure.name} {figure.value} {figure.bound}" for figure in self.summary if figure.holds is False]
        entries = (entry for _, chapter in self.chapters for entry in chapter)
        return lines + [
            f"{entry.title}: {figure.name} {figure.value} ({figure.bound})"
            for entry in entries
            for figure in entry.failing
        ]


def head(rgb: Pixels, mesh: Mesh, side: int) -> Pixels:
    """The head around a mesh as a square of `side` pixels, enlarged or area-averaged."""
    low, high = mesh[:468, :2].min(0), mesh[:468, :2].max(0)
    reach = float((high - low).max()) * 0.78
    (x, y), radius = (low + high) / 2, max(4, round(reach))
    left, top = round(float(x)) - radius, round(float(y)) - radius
    edge = max(0, -left, -top, left + 2 * radius - rgb.shape[1], top + 2 * radius - rgb.shape[0])
    wide = cv2.copyMakeBorder(rgb, edge, edge, edge, edge, cv2.BORDER_CONSTANT, value=(128, 128, 128))
    square = wide[top + edge : top + edge + 2 * radius, left + edge : left + edge + 2 * radius]
    way = cv2.INTER_AREA if 2 * radius > side else cv2.INTER_CUBIC
    return np.asarray(cv2.resize(square, (side, side), interpolation=way), np.uint8)


def joined(rows: Sequence[Sequence[Pixels]], gap: int = 4) -> Pixels:
    """Square pictures side by side and rows under each other, on white."""
    side = rows[0][0].shape[0]
    columns = max(len(row) for row in rows)
    sheet = np.full((len(rows) * (side + gap) - gap, columns * (side + gap) - gap, 3), 255, np.uint8)
    for y, row in enumerate(rows):
        for x, picture in enumerate(row):
            sheet[y * (side + gap) :, x * (side + gap) :][:side, :side] = picture
    return sheet
