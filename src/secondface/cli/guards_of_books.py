"""Checks of what the database holds: who has which keys, and what plans let pass."""

from __future__ import annotations

from collections.abc import Iterator

from secondface.cli.commands import Session
from secondface.cli.guard import Guard
from secondface.cli.language import gettext as _
from secondface.confidential import open_to_others, without_password

_SHOWN = 5


def database(own: Session) -> Iterator[Guard]:
    """Who else could reach the database."""
    from secondface.compose.security import database_exposure

    topic, found = _("database"), database_exposure(own.settings)
    if found is None:
        yield Guard(topic, "note", _("there is none yet"))
    elif found.file is not None:
        shut = not open_to_others(found.file) or not open_to_others(found.file.parent)
        yield (
            Guard(topic, "on", _("{path} is its owner's alone").format(path=found.file))
            if shut else
            Guard(topic, "off", _("{path} is open to other users").format(path=found.file),
                  f"chmod 700 {found.file.parent}")
        )  # fmt: skip
    else:
        place = without_password(own.settings.database.get_secret_value())
        safe = found.on_this_machine or found.encrypted
        how = _("on this machine") if found.on_this_machine else _("encrypted") if safe else _("not encrypted")
        yield Guard(
            topic, "on" if safe else "off", f"{place}: {how}", "" if safe else _("Add ?sslmode=verify-full to its URL.")
        )
        if found.listens not in ("", "localhost", "127.0.0.1", "::1"):
            seen = _("its server listens on {addresses}").format(addresses=found.listens)
            yield Guard(
                topic, "note", seen, _("See that pg_hba.conf and a firewall let the service in and nobody else.")
            )


def operators_keys(own: Session) -> Iterator[Guard]:
    """Keys that may do everything, and never end."""
    from secondface.compose.security import books_of

    topic, books = _("operators' keys"), books_of(own.settings)
    if books is None:
        yield Guard(topic, "note", _("no service has begun here yet"))
        return
    mighty = [key for key in books.keys if "admin" in key.scopes]
    endless = [key.id for key in mighty if key.expires_ms is None]
    if endless:
        seen = _("{number} of {all} never end: {names}").format(
            number=len(endless), all=len(mighty), names=_some(endless)
        )
        yield Guard(
            topic, "off", seen,
            _("`secondface keys create operator --days 90`, then `secondface keys revoke` for the old one."),
        )  # fmt: skip
    else:
        yield Guard(topic, "on", _("{number}, and each of them ends").format(number=len(mighty)))


def visible_label(own: Session) -> Iterator[Guard]:
    """Accounts that may leave the visible label off."""
    from secondface.compose.security import books_of

    topic, books = _("visible label"), books_of(own.settings)
    if books is None:
        yield Guard(topic, "note", _("no service has begun here yet"))
        return
    free = [each.id for each in books.accounts if each.plan.label_optional]
    if free:
        seen = _("{number} accounts may leave it off: {names}").format(number=len(free), names=_some(free))
        yield Guard(topic, "note", seen, _("Their plans say so; the other marks stay."))
    else:
        yield Guard(topic, "on", _("no account may leave it off"))


def second_approval(own: Session) -> Iterator[Guard]:
    """Accounts whose jobs with several faces wait for nobody."""
    from secondface.compose.security import books_of

    topic, books = _("second approval"), books_of(own.settings)
    if books is None:
        yield Guard(topic, "note", _("no service has begun here yet"))
        return
    free = [each.id for each in books.accounts if each.plan.approval_above_faces is None]
    if free:
        seen = _("{number} accounts need none, however many faces: {names}").format(number=len(free), names=_some(free))
        yield Guard(topic, "note", seen, _("`approval_above_faces` in their plans makes such jobs wait."))
    else:
        yield Guard(topic, "on", _("every account needs one for many faces"))


def _some(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (" …" if len(names) > _SHOWN else "")
