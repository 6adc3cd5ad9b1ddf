"""What a run over several targets says: a line for each file as it ends, and a table with the sum at the end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from secondface.cli.details import said
from secondface.cli.language import gettext as _
from secondface.cli.receipts import bill, result_object, usage_of
from secondface.cli.screen import Screen, problem_object
from secondface.domain.pricing import PriceRow, format_micros
from secondface.errors import SecondfaceError

if TYPE_CHECKING:
    from secondface.cli.folder_run import Row


def show_passed_over(screen: Screen, paths: Sequence[Path]) -> None:
    """Files that are no media, each on a line of its own."""
    for path in paths:
        if screen.mode == "json":
            screen.json_line({"target": str(path), "state": "passed_over"})
        screen.note(_("{path} is neither a picture nor a video; passed over.").format(path=path))


def show_row(screen: Screen, row: Row, price: PriceRow) -> None:
    """One target, as soon as it ended."""
    if screen.mode == "json":
        screen.json_line(_row_object(row, price))
        return
    if row.error is not None and screen.mode == "quiet":
        screen.complain(f"{row.target}: {row.error.code}: {said(row.error.detail)}")
    words = {"done": _("done"), "there": _("done before"), "failed": _("failed"), "cancelled": _("cancelled")}
    sign = {"done": "✓", "there": "·", "failed": "✗", "cancelled": "✗"}[row.state]
    screen.line(f"{sign} {row.target} → {row.output}: {words[row.state]}{_why(row.error)}")


def show_summary(screen: Screen, rows: Sequence[Row], price: PriceRow, *, left: int, code: int) -> None:
    """The table of all targets, and the sum."""
    total = sum(_micros(row, price) for row in rows)
    counts = {state: sum(row.state == state for row in rows) for state in ("done", "there", "failed", "cancelled")}
    if screen.mode == "json":
        frames = sum(row.report.frames for row in rows if row.report)
        active = sum(row.report.device_active_ms for row in rows if row.report)
        screen.json_line({
            "summary": {
                **counts, "left": left, "frames": frames, "device_active_ms": active,
                "total_micros": total, "total": format_micros(total), "exit_code": code,
            }
        })  # fmt: skip
        return
    screen.heading(_("Files"))
    header = (_("file"), _("kind"), _("frames"), _("people"), _("seconds"), _("cost"), _("result"))
    screen.rows([tuple("  " * (not k) + word for k, word in enumerate(header)), *(_cells(row, price) for row in rows)],
                right=(2, 3, 4, 5))  # fmt: skip
    parts = [
        _("{number} done").format(number=counts["done"]),
        _("{number} done before").format(number=counts["there"]),
        _("{number} failed").format(number=counts["failed"] + counts["cancelled"]),
    ]
    if left:
        parts.append(_("{number} not begun").format(number=left))
    screen.line("  " + " · ".join([*parts, format_micros(total)]), "bold")


def _row_object(row: Row, price: PriceRow) -> dict[str, object]:
    made: dict[str, object] = {"target": str(row.target), "output": str(row.output), "state": row.state}
    if row.report is not None:
        made |= result_object(row.report, price)
    if row.error is not None:
        made["error"] = problem_object(row.error)
    return made


def _cells(row: Row, price: PriceRow) -> tuple[str, ...]:
    kinds = {"still": _("picture"), "video": _("video")}
    report = row.report
    figures = (kinds[report.kind], str(report.frames), str(report.faces)) if report else ("", "", "")
    results = {"done": row.output.name, "there": _("done before"), "failed": "", "cancelled": ""}
    result = row.error.code if row.error else results[row.state]
    cost = format_micros(_micros(row, price)) if report else ""
    return (f"  {row.target.name}", *figures, f"{row.seconds:.1f}", cost, result)


def _micros(row: Row, price: PriceRow) -> int:
    return bill(usage_of(row.report), price).total_micros if row.report else 0


def _why(error: SecondfaceError | None) -> str:
    return f" ({error.code}: {_(type(error).title())} {said(error.detail)})" if error else ""
