"""The bar of a run: frames, frames a second, time left, device seconds, cost so far."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, SpinnerColumn, TextColumn
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
    columns = (
        SpinnerColumn(style=ACCENT),
        TextColumn("{task.description}"),
        BarColumn(bar_width=None, complete_style=ACCENT, finished_style="green"),
        TextColumn("{task.fields[facts]}", style="dim"),
    )
    with Bar(*columns, console=screen.err, transient=True, expand=True) as bar:
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
