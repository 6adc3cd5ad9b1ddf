"""The sheet as a page: larger pictures, tables of figures, links to the outputs in full."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

from PIL import Image

from tools.quality_sheet.entries import Entry, Sheet, joined
from tools.quality_sheet.figures import Figure

_STYLE = """
:root { color-scheme: light dark; font: 15px/1.4 system-ui, sans-serif; }
body { margin: 2rem auto; max-width: 1500px; padding: 0 1rem; }
article { display: flex; flex-wrap: wrap; gap: 1rem; margin: 0 0 2.5rem; align-items: start; }
article h3 { flex-basis: 100%; margin: 0; }
article h3 small { font-weight: normal; opacity: .65; }
article img { max-width: min(100%, 1160px); height: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
td { padding: .1rem .6rem .1rem 0; }
td.bound { opacity: .65; }
tr.good td.value { color: #0a7a3c; }
tr.bad td { background: #c00; color: #fff; opacity: 1; padding-left: .4rem; }
"""


def write_page(sheet: Sheet, folder: Path) -> None:
    """Write index.html and its pictures."""
    failing = "".join(f"<li>{escape(line)}" for line in sheet.failing) or "<li>none"
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><title>Quality of the swap</title>",
        f"<meta name=viewport content='width=device-width'><style>{_STYLE}</style>",
        "<h1>Quality of the swap</h1>", _table(sheet.summary),
        f"<p>Outside their bounds:<ul>{failing}</ul>", "<p><a href=sheet.png>All of it as one picture</a>",
    ]  # fmt: skip
    for number, (title, entries) in enumerate(sheet.chapters):
        parts.append(f"<h2>{escape(title)}</h2>")
        parts += [_article(entry, folder, f"{number}_{place:02d}") for place, entry in enumerate(entries)]
    (folder / "index.html").write_text("\n".join(parts) + "\n", encoding="utf-8")


def _article(entry: Entry, folder: Path, number: str) -> str:
    name = f"{number}_{re.sub('[^A-Za-z0-9]+', '_', entry.title)}.jpg"
    Image.fromarray(joined(entry.pictures)).save(folder / "crops" / name, quality=92)
    output = escape(entry.output.relative_to(folder).as_posix())
    title = f"{escape(entry.title)} <small>{escape(entry.remark)}</small>"
    return (
        f"<article><h3>{title}</h3><a href='{output}'><img loading=lazy src='crops/{name}' "
        f"alt='source, target and output'></a>{_table(entry.figures)}</article>"
    )


def _table(figures: tuple[Figure, ...]) -> str:
    states = {True: "good", False: "bad", None: ""}
    rows = "".join(
        f"<tr class='{states[figure.holds]}'><td>{escape(figure.name)}<td class=value>{escape(figure.value)}"
        f"<td class=bound>{escape(figure.bound)}"
        for figure in figures
    )
    return f"<table>{rows}</table>"
