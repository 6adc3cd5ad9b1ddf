"""Makes docs/images/result.jpg: source, target and result side by side, all of people who do not exist.

python -m tools.build_readme_picture [SOURCE TARGET]     # pictures; without them, two of ../shared/media
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from PIL import Image

import secondface

ROOT = Path(__file__).resolve().parents[1]
PORTRAITS = ROOT.parent / "shared" / "media" / "portraits"
DEFAULT = (PORTRAITS / "synth_P010_woman_bun_light_front.jpg", PORTRAITS / "synth_P009_selfie_smile.jpg")
HEIGHT = 640


def build(source: Path, target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.png"
        secondface.run(source, target, result)
        pictures = [_scaled(path) for path in (source, target, result)]
    gap = 8
    width = sum(picture.width for picture in pictures) + gap * (len(pictures) - 1)
    sheet = Image.new("RGB", (width, HEIGHT), "white")
    left = 0
    for picture in pictures:
        sheet.paste(picture, (left, 0))
        left += picture.width + gap
    out = ROOT / "docs" / "images" / "result.jpg"
    out.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(out, quality=88)


def _scaled(path: Path) -> Image.Image:
    with Image.open(path) as picture:
        rgb = picture.convert("RGB")
    return rgb.resize((round(rgb.width * HEIGHT / rgb.height), HEIGHT), Image.Resampling.LANCZOS)


if __name__ == "__main__":
    given = [Path(argument) for argument in sys.argv[1:3]]
    build(*(given if len(given) == 2 else DEFAULT))
