"""Swaps the sample media, measures every result from outside, and writes one sheet of it as a page and as a picture.

python -m tools.quality_sheet [--shared ../shared] [--out out/quality] [--only pairs|clips] [--full]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from secondface.frames import Sessions
from secondface.models.sessions import OrtSessions
from tools.quality_sheet.cases import CLIP_RUNS, HARD_PAIRS, PAIRS, ClipRun, Pair, portrait
from tools.quality_sheet.entries import Entry, Sheet, head
from tools.quality_sheet.figures import PairMeasure, measure_clip, measure_pair, median_identity
from tools.quality_sheet.outside import OutsideView, PersonRows, Pixels, pixels
from tools.quality_sheet.page import write_page
from tools.quality_sheet.picture import draw

ROOT = Path(__file__).resolve().parents[2]
_SIDE = 384
_FRAMES_SHOWN = 6
_ASK_EVERY = 5


def main() -> int:
    parser = argparse.ArgumentParser(prog="quality_sheet", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared", help="folder with media/ and tools/")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "quality", help="where the sheet goes")
    parser.add_argument("--only", choices=["pairs", "clips"], help="leave the other half out")
    parser.add_argument(
        "--full", action="store_true", help="ask the report about every frame of the clips, not every fifth"
    )
    words = parser.parse_args()
    if not (words.shared / "tools" / "swap_report.py").is_file():
        print(f"No sheet: the sample media and swap_report.py are not in {words.shared} (--shared PATH says where).")
        return 0
    started = time.monotonic()
    sheet = _Maker(words.shared, words.out).make(words.only, 1 if words.full else _ASK_EVERY)
    draw(sheet, words.out / "sheet.png")
    write_page(sheet, words.out)
    print(f"{len(sheet.failing)} figures outside their bounds", *sheet.failing, sep="\n  ")
    print(f"{words.out / 'index.html'} in {time.monotonic() - started:.0f} s")
    return 0


class _Maker:
    """Runs the cases one after the other and keeps what the sheet shows of them."""

    def __init__(self, shared: Path, out: Path) -> None:
        self._media, self._out = shared / "media", out
        self._view = OutsideView(shared)
        self._sessions: Sessions = OrtSessions("cpu")
        for folder in ("pairs", "clips", "crops"):
            (out / folder).mkdir(parents=True, exist_ok=True)

    def make(self, only: str | None, ask_every: int) -> Sheet:
        judged, hard = (
            ([], []) if only == "clips" else ([self._pair(p) for p in PAIRS], [self._pair(p) for p in HARD_PAIRS])
        )
        clips = [] if only == "pairs" else [entry for run in CLIP_RUNS for entry in self._clip(run, ask_every)]
        summary = (median_identity([measure for _, measure in judged]),) if judged else ()
        return Sheet(
            summary,
            (
                ("Frontal and three-quarter pairs", tuple(entry for entry, _ in judged)),
                ("Hard pairs, not held against bounds", tuple(entry for entry, _ in hard)),
                ("Clips: targets above, outputs below", tuple(clips)),
            ),
        )

    def _pair(self, pair: Pair) -> tuple[Entry, PairMeasure]:
        source, target = portrait(self._media, pair.source), portrait(self._media, pair.target)
        output = self._out / "pairs" / f"{source.stem}-{target.stem}.png"
        measure = measure_pair(self._view, self._sessions, source, target, output)
        before = self._view.picture(target)
        place = self._view.faces(before)[0]
        shown = self._largest_head(self._view.picture(source)), head(before, place, _SIDE)
        after = head(self._view.picture(output), place, _SIDE)
        figures = tuple(measure.rows(judged=pair.judged))
        _tell(entry := Entry(pair.name, pair.remark, ((*shown, after),), figures, output))
        return entry, measure

    def _clip(self, run: ClipRun, ask_every: int) -> list[Entry]:
        sources = [portrait(self._media, source) for source in run.sources]
        target = self._media / "videos" / run.clip
        output = self._out / "clips" / f"{'-'.join(run.sources)}-{target.stem}.mp4"
        measure = measure_clip(self._view, self._sessions, run.name, sources, target, output, ask_every=ask_every)
        entries = list[Entry]()
        for place, (source, person) in enumerate(zip(sources, measure.people, strict=True)):
            rows = self._heads(person, source, target, output)
            figures = (*measure.rows(), *measure.person_rows(place))
            title = f"{run.sources[place]} > {run.clip}"
            remark = f"{place + 1} of {len(sources)} from the left" if len(sources) > 1 else ""
            _tell(entry := Entry(title, remark, rows, figures, output))
            entries.append(entry)
        return entries

    def _heads(
        self, person: PersonRows, source: Path, target: Path, output: Path
    ) -> tuple[tuple[Pixels, ...], tuple[Pixels, ...]]:
        """Targets and outputs of some frames spread over the clip, the source before them."""
        step = max(1, len(person.rows) // _FRAMES_SHOWN)
        chosen = {row.index: row for row in person.rows[step // 2 :: step][:_FRAMES_SHOWN]}
        above = [self._largest_head(self._view.picture(source))]
        below = [above[0] * 0 + 255]
        for (index, before), (_, after) in zip(pixels(target, chosen), pixels(output, chosen), strict=True):
            above.append(head(before, chosen[index].mesh, _SIDE))
            below.append(head(after, chosen[index].mesh, _SIDE))
        return tuple(above), tuple(below)

    def _largest_head(self, rgb: Pixels) -> Pixels:
        return head(rgb, self._view.faces(rgb)[0], _SIDE)


def _tell(entry: Entry) -> None:
    failing = ", ".join(f"{figure.name} {figure.value} ({figure.bound})" for figure in entry.failing)
    print(f"{entry.title:60} {failing or 'holds'}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
