"""`secondface audit`: the log of who did what, handed out and checked."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from secondface.cli.commands import Command, Session, json_option, service_options, session, subgroup
from secondface.cli.exits import NEGATIVE, OK
from secondface.cli.language import gettext as _
from secondface.cli.remote import asks_a_service, service
from secondface.errors import FileUnreadable, OutputOccupied

if TYPE_CHECKING:
    from secondface.domain.audit import Finding
    from secondface.spec.trust import AuditFindingView


def group() -> click.Group:
    return subgroup(
        "audit",
        _("The audit of a service: who did what, chained by digests and signed.\n\nThis is for its operators: without "
          "--server it reads the database of this machine's settings, with one it needs a key with the scope admin."),
        [_export_command(), _verify_command(), _key_command()],
    )  # fmt: skip


def _export_command() -> Command:
    return Command(
        "export",
        params=[
            click.Option(["-o", "--output"], required=True, metavar=_("FILE"), help=_("Where the lines go.")),
            click.Option(["-y", "--yes"], is_flag=True, help=_("Overwrite the file.")),
            *service_options(), json_option(),
        ],
        callback=click.pass_context(_export),
        short_help=_("Write the audit as JSON lines."),
        help=_("Write the audit as JSON lines, the last of them signed.\n\n\b\nExample:\n"
               "  secondface audit export -o audit.jsonl"),
    )  # fmt: skip


def _verify_command() -> Command:
    return Command(
        "verify",
        params=[
            click.Argument(["file"], metavar=f"[{_('FILE')}]", required=False),
            click.Option(["--public-key"], metavar=_("DIGITS"),
                         help=_("Whose signature an export must have, where it is not this machine's service; "
                                "`secondface audit key` prints it there.")),
            *service_options(), json_option(),
        ],
        callback=click.pass_context(_verify),
        short_help=_("Find any change of the audit."),
        help=_(
            "Find any entry of the audit that was changed, removed, inserted, moved or cut, in an exported file or, "
            "without one, in the database. Ends with 1 and names the first entry that cannot be trusted.\n\n"
            "\b\n"
            "Example:\n"
            "  secondface audit verify audit.jsonl"
        ),
    )  # fmt: skip


def _key_command() -> Command:
    return Command(
        "key", params=[json_option()], callback=click.pass_context(_key),
        short_help=_("Print the public key of the audit."),
        help=_("Print the public key that the audit of this machine's service is signed with, for others who verify "
               "exports."),
    )  # fmt: skip


def _export(context: click.Context, output: str, yes: bool, json: bool) -> None:
    own, path = _own(context, json=json), Path(output)
    if path.exists() and not yes:
        raise OutputOccupied(output, path=output)
    if asks_a_service(own):
        with service(own) as client:
            client.audit_export(path)
    else:
        from secondface.compose.audit import opened_audit
        from secondface.sdk.files import whole

        with opened_audit(own.settings) as audit, whole(path) as file:
            file.writelines(line.encode() for line in audit.export())
    if json:
        own.screen.object({"output": output})
    else:
        own.screen.line(_("The audit is in {path}.").format(path=output))


def _verify(context: click.Context, file: str | None, public_key: str | None, json: bool) -> int:
    own = _own(context, json=json)
    found = _file_finding(own, Path(file), public_key) if file is not None else _stored_finding(own)
    if json:
        own.screen.object({"whole": found.whole, **_fields(found)})
    else:
        _show(own, found)
    return OK if found.whole else NEGATIVE


def _key(context: click.Context, json: bool) -> None:
    from secondface.compose.stores import signer_of

    own = _own(context, json=json)
    key = signer_of(own.settings).public_key
    if json:
        own.screen.object({"public_key": key})
    else:
        own.screen.line(key)


def _own(context: click.Context, *, json: bool) -> Session:
    own = session(context)
    own.screen.mode = "json" if json else "people"
    return own


def _stored_finding(own: Session) -> Finding | AuditFindingView:
    if asks_a_service(own):
        with service(own) as client:
            return client.audit_check()
    from secondface.compose.audit import opened_audit

    with opened_audit(own.settings) as audit:
        return audit.check()


def _file_finding(own: Session, path: Path, public_key: str | None) -> Finding:
    from secondface.compose.audit import checked_file

    try:
        with path.open(encoding="utf-8", errors="surrogateescape", newline="\n") as lines:
            return checked_file(own.settings, lines, public_key)
    except OSError as error:
        raise FileUnreadable(f"{path}: {error.strerror}", path=str(path)) from error


def _fields(found: Finding | AuditFindingView) -> dict[str, object]:
    from secondface.domain.audit import Finding

    return asdict(found) if isinstance(found, Finding) else found.model_dump(exclude={"whole"})


def _show(own: Session, found: Finding | AuditFindingView) -> None:
    flaws = {
        "entry": _("it was changed, removed, inserted or moved"),
        "rewritten": _("it, or one after it, is not what was signed"),
        "truncated": _("it and what followed it is missing"),
        "signature": _("a signature does not hold"),
        "start": _("what stood before it is not known"),
        "after_end": _("it stands after the signed end"),
        "unknown_key": _("it is whole, but signed with another key than this machine's; --public-key names the one "
                         "to trust"),
    }  # fmt: skip
    if found.flaw is None:
        own.screen.heading(_("The audit is whole."))
    else:
        own.screen.heading(_("Entry {number} cannot be trusted: {why}.").format(
            number=found.first_bad, why=flaws.get(found.flaw, found.flaw)))  # fmt: skip
    own.screen.rows([
        ("  " + _("entries"), str(found.entries)), ("  " + _("last"), str(found.last)),
        ("  " + _("signed up to"), str(found.signed_to)), ("  " + _("signed by"), found.public_key or _("nobody")),
        ("  " + _("signed word outside"), _("compared") if found.anchored else _("not there: a cut end goes unseen")),
    ])  # fmt: skip
