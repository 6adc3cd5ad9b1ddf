"""Receipts of deletions as people read them."""

from __future__ import annotations

from secondface.cli.job_views import moment
from secondface.cli.language import gettext as _
from secondface.cli.screen import Screen
from secondface.spec.trust import DeletionPage, DeletionView


def show_deletions(screen: Screen, page: DeletionPage) -> None:
    """Each receipt with its files."""
    if not page.data:
        screen.line(_("Nothing of this job was deleted."))
    for each in page.data:
        _show(screen, each)


def _show(screen: Screen, deletion: DeletionView) -> None:
    what = {"inputs": _("inputs"), "output": _("result")}
    screen.heading(_("Deleted: {what}").format(what=", ".join(what[each] for each in deletion.what)))
    screen.rows([
        ("  " + _("job"), deletion.job), ("  " + _("moment"), moment(deletion.at_ms)),
        ("  " + _("because"), _("somebody asked") if deletion.reason == "asked" else _("its time was over")),
        ("  " + _("by"), deletion.by), ("  " + _("receipt"), deletion.receipt),
        ("  " + _("place in the audit"), _("a few seconds from now") if deletion.position is None
         else str(deletion.position)),
    ])  # fmt: skip
    screen.rows([
        ("  " + each.name, f"{each.size_bytes} B", each.sha256[:16],
         _("stays: {job} needs it").format(job=each.kept_for) if each.kept_for else _("gone"))
        for each in deletion.files
    ], right=(1,), dim=(2,))  # fmt: skip
