"""Checks of what lies on this machine: whose it is, and who else may read it."""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Iterator

from secondface.cli.commands import Session
from secondface.cli.guard import Guard
from secondface.cli.language import gettext as _
from secondface.confidential import open_to_others
from secondface.settings import secret_files, secret_variables


def user(own: Session) -> Iterator[Guard]:
    """Whose the service's files are, which tells who it runs as."""
    folder, topic = own.settings.data_dir.absolute(), _("user")
    if not folder.exists():
        name = _name_of(os.geteuid())
        yield Guard(topic, "note", _("it was never started here; you are {name}").format(name=name))
    elif (number := folder.stat().st_uid) == 0:
        yield Guard(
            topic, "off", _("the service's files belong to root"),
            _("Run it as a user of its own: a hole in it is then no hole in the machine."),
        )  # fmt: skip
    else:
        yield Guard(topic, "on", _("the service's files belong to {name}").format(name=_name_of(number)))


def data_folder(own: Session) -> Iterator[Guard]:
    """Who may read the faces, the journal and the service's own keys, wherever those lie."""
    from secondface.compose.security import service_files

    found = service_files(own.settings)
    if not found:
        yield Guard(_("data folder"), "note", _("{path} is not there yet").format(path=own.settings.data_dir))
        return
    for folder, within in found.items():
        if open_to_others(folder):
            # Modes inside count as soon as the folder itself is open.
            shown = ", ".join(str(path) for path in (folder, *(path for path in within if open_to_others(path))))
            seen = _("open to other users: {paths}").format(paths=shown)
            yield Guard(_("data folder"), "off", seen, f"chmod 700 {folder}")
        else:
            yield Guard(_("data folder"), "on", _("{path} is its owner's alone").format(path=folder))


def secrets(own: Session) -> Iterator[Guard]:  # noqa: ARG001  the shape of a check
    """Where secrets come from, and who may read those files."""
    topic, files = _("secrets"), secret_files()
    for path in files:
        if not path.exists():
            yield Guard(topic, "off", _("{path} is not there").format(path=path))
        elif open_to_others(path):
            yield Guard(topic, "off", _("{path} is open to other users").format(path=path), f"chmod 600 {path}")
        else:
            yield Guard(topic, "on", _("{path} is its owner's alone").format(path=path))
    told = [variable for variable in secret_variables().values() if os.environ.get(variable)]
    if told:
        yield Guard(
            topic, "note", _("in the environment: {names}").format(names=", ".join(told)),
            _("A file (NAME_FILE) is better: whatever is started from the same environment gets it too."),
        )  # fmt: skip
    if not files and not told:
        yield Guard(topic, "on", _("none is set"))


def uploads(own: Session) -> Iterator[Guard]:
    """How long what callers sent and what was made of it is kept."""
    told = own.settings
    yield Guard(
        _("uploads"), "note",
        _("what no job names is removed after {uploads} h; {inputs} h after a job's end its inputs go, after "
          "{outputs} h its result").format(
            uploads=told.upload_keep_h, inputs=told.retain_inputs_h, outputs=told.retain_outputs_h),
        _("SECONDFACE_UPLOAD_KEEP_H, SECONDFACE_RETAIN_INPUTS_H and SECONDFACE_RETAIN_OUTPUTS_H shorten it."),
    )  # fmt: skip


def debugging(own: Session) -> Iterator[Guard]:  # noqa: ARG001  the shape of a check
    """Switches of Python that a service must not run with, as this shell has them."""
    named = ("PYTHONDEVMODE", "PYTHONASYNCIODEBUG", "PYTHONINSPECT", "PYTHONDUMPREFS")
    found = [name for name in named if os.environ.get(name)]
    if found or sys.flags.dev_mode or sys.flags.inspect:
        names = ", ".join(found) or "-X dev"
        yield Guard(
            _("debugging"), "off", _("switches of Python are on: {names}").format(names=names), _("Take them away.")
        )
    else:
        yield Guard(_("debugging"), "on", _("no switch of Python for debugging is on in this shell"))


def _name_of(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
