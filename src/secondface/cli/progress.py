"""The bar of a run, over one file or several: frames, frames a second, time left, device seconds, cost so far."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.progress import BarColumn, ProgressColumn, SpinnerColumn, TextColumn
from rich.progress import Progress as Bar

from secondface.cli.language import gettext as _
from secondface.cli.screen import ACCENT, Screen
from secondface.domain.pricing import PriceRow, format_micros

if TYPE_CHECKING:
    from secondface.pipeline.engine import Progress

OnProgress = Callable[["Progress"], None]


@contextmanager
def progress_bar(screen: Screen, price: PriceRow) -> Generator[OnProgress | None]:
    """A bar on stderr that the run feeds; None where nobody looks (a pipe, --quiet, --json)."""
    if screen.mode != "people" or not screen.err.is_terminal:
        yield None
        return
    with Bar(*_columns(), console=screen.err, transient=True, expand=True) as bar:
        task = bar.add_task(_("loading models"), total=None, facts="")

        def tell(progress: Progress) -> None:
            bar.update(
                task,
                description=_("working"),
                completed=progress.done,
                total=progress.total,
                facts=facts(progress, price),
            )

        yield tell


class FolderBar:
    """One bar over all files of a run, measured in bytes of input; it does nothing where nobody looks."""

    def __init__(self, bar: Bar | None, price: PriceRow, files: Sequence[Path]) -> None:
        self._bar = bar
        self._price = price
        self._sizes = {path: _size(path) for path in files}
        self._ended_bytes = 0
        self._ended_files = 0
        self._current = Path()
        self._task = bar.add_task("", total=sum(self._sizes.values()), facts="") if bar else None

    def begin(self, path: Path) -> None:
        self._current = path
        self._show(0.0, "")

    def tell(self, progress: Progress) -> None:
        share = progress.done / progress.total if progress.total else 0.0
        self._show(min(1.0, share), facts(progress, self._price))

    def end(self, path: Path) -> None:
        self._ended_bytes += self._sizes[path]
        self._ended_files += 1
        self._show(0.0, "")

    def _show(self, share: float, words: str) -> None:
        if self._bar is None or self._task is None:
            return
        number = min(self._ended_files + 1, len(self._sizes))
        self._bar.update(
            self._task,
            description=_("file {number} of {total}: {name}").format(
                number=number, total=len(self._sizes), name=escape(self._current.name)
            ),
            completed=self._ended_bytes + share * self._sizes.get(self._current, 0),
            facts=words,
        )


@contextmanager
def folder_bar(screen: Screen, price: PriceRow, files: Sequence[Path]) -> Generator[FolderBar]:
    """The bar of a run over several files."""
    if screen.mode != "people" or not screen.err.is_terminal:
        yield FolderBar(None, price, files)
        return
    # Lines that are printed meanwhile go above the bar, unless they go to a file or a pipe.
    above = screen.out.is_terminal
    with Bar(*_columns(), console=screen.err, transient=True, expand=True, redirect_stdout=above) as bar:
        yield FolderBar(bar, price, files)


def _size(path: Path) -> int:
    try:
        return max(1, path.stat().st_size)
    except OSError:
        return 1


def _columns() -> tuple[ProgressColumn, ...]:
    return (
        SpinnerColumn(style=ACCENT),
        TextColumn("{task.description}"),
        BarColumn(bar_width=None, complete_style=ACCENT, finished_style="green"),
        TextColumn("{task.fields[facts]}", style="dim"),
    )


def facts(progress: Progress, price: PriceRow) -> str:
    """`212/750 · 31.4 fps · 0:17 left · 6.8 device s · ¥0.0021`."""
    parts = [f"{progress.done}/{progress.total}" if progress.total else str(progress.done)]
    parts.append(_("{rate} fps").format(rate=f"{progress.per_second:.1f}"))
    if progress.total and progress.per_second > 0:
        left_s = round(max(0, progress.total - progress.done) / progress.per_second)
        parts.append(_("{time} left").format(time=f"{left_s // 60}:{left_s % 60:02d}"))
    parts.append(_("{seconds} device s").format(seconds=f"{progress.device_active_ms / 1000:.1f}"))
    parts.append(format_micros(price.charge_micros(progress.device_active_ms)))
    return " · ".join(parts)
