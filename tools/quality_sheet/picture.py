"""The sheet as one PNG, to be looked at as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from tools.quality_sheet.entries import Entry, Sheet, joined
from tools.quality_sheet.figures import Figure

_SIDE, _TEXT, _MARGIN, _GAP = 232, 250, 12, 4
_WIDTH = 2 * (3 * _SIDE + 2 * _GAP + _TEXT + 3 * _MARGIN)
_INK, _FAINT, _GOOD, _BAD = (25, 25, 25), (120, 120, 120), (0, 105, 50), (200, 0, 0)
_SMALL, _BODY, _LARGE = (ImageFont.load_default(size) for size in (13, 15, 24))


def draw(sheet: Sheet, path: Path) -> None:
    """Write the sheet; failing figures are white on red."""
    bands = [_heading("Quality of the swap"), _summary(sheet.summary)]
    for title, entries in sheet.chapters:
        bands.append(_heading(title))
        blocks = [_block(entry) for entry in entries]
        narrow = all(block.width * 2 <= _WIDTH for block in blocks)
        bands += [_beside(blocks[k : k + 2]) for k in range(0, len(blocks), 2)] if narrow else blocks
    height = sum(band.height for band in bands)
    whole = Image.new("RGB", (_WIDTH, height), "white")
    top = 0
    for band in bands:
        whole.paste(band, (0, top))
        top += band.height
    whole.save(path, optimize=True)


def _heading(text: str) -> Image.Image:
    band = Image.new("RGB", (_WIDTH, 48), "white")
    ImageDraw.Draw(band).text((_MARGIN, 12), text, _INK, _LARGE)
    return band


def _summary(figures: Sequence[Figure]) -> Image.Image:
    band = Image.new("RGB", (_WIDTH, 20 * len(figures) + 8), "white")
    _write(ImageDraw.Draw(band), figures, _MARGIN, 4)
    return band


def _block(entry: Entry) -> Image.Image:
    """Title, pictures, and the figures to the right of them."""
    rows = [[cv2.resize(each, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA) for each in row] for row in entry.pictures]
    shown = joined([[np.asarray(each, np.uint8) for each in row] for row in rows], _GAP)
    size = (shown.shape[1] + _TEXT + 3 * _MARGIN, max(shown.shape[0], 19 * len(entry.figures)) + 40)
    block = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(block)
    draw.text((_MARGIN, 6), entry.title, _BAD if entry.failing else _INK, _BODY)
    draw.text((_MARGIN + draw.textlength(entry.title + "   ", _BODY), 8), entry.remark, _FAINT, _SMALL)
    block.paste(Image.fromarray(shown), (_MARGIN, 28))
    _write(draw, entry.figures, shown.shape[1] + 2 * _MARGIN, 28)
    return block


def _write(draw: ImageDraw.ImageDraw, figures: Iterable[Figure], left: int, top: int) -> None:
    for row, figure in enumerate(figures):
        y = top + 19 * row
        line = f"{figure.name}  {figure.value}  {figure.bound}"
        if figure.holds is False:
            draw.rectangle((left - 4, y, left + draw.textlength(line, _SMALL) + 4, y + 17), fill=_BAD)
        colour = {True: _GOOD, False: "white", None: _FAINT}[figure.holds]
        draw.text((left, y + 1), line, colour, _SMALL)


def _beside(blocks: Sequence[Image.Image]) -> Image.Image:
    band = Image.new("RGB", (_WIDTH, max(block.height for block in blocks)), "white")
    for place, block in enumerate(blocks):
        band.paste(block, (place * _WIDTH // 2, 0))
    return band
