"""`secondface doctor`: what works on this machine, what does not, and why."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, get_args

import click

from secondface import __version__, processors
from secondface.cli.commands import Command, Session, json_option, session
from secondface.cli.details import said
from secondface.cli.exits import NEGATIVE, OK
from secondface.cli.language import gettext as _
from secondface.errors import SecondfaceError

State = Literal["ok", "note", "broken"]
_GIB = 2**30
_SOON_DAYS = 30
_SIGNS: dict[State, str] = {"ok": "✓", "note": "·", "broken": "✗"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: what was looked at, whether it works, and what was seen. A note is not a fault."""

    topic: str
    state: State
    detail: str


def command() -> click.Command:
    return Command(
        "doctor",
        params=[
            click.Option(
                ["--security"], is_flag=True, help=_("Say which guards of a service are on, and which are not.")
            ),
            json_option(),
        ],
        callback=click.pass_context(_doctor),
        short_help=_("Say what works on this machine, what does not, and why."),
        help=_(
            "Say what works on this machine, what does not, and why. Ends with 1 if something needed is broken.\n\n"
            "With --security: which guards of a service on this machine are on, and what to do about those that are "
            "not. Nothing is assumed: a line tells what was looked at just now. Ends with 1 if a guard is off."
        ),
    )


def _doctor(context: click.Context, security: bool, json: bool) -> int:
    own = session(context)
    if security:
        from secondface.cli.security import show_guards

        return show_guards(own, json=json)
    findings = list(findings_of(own))
    if json:
        own.screen.object({"findings": [asdict(finding) for finding in findings]})
    own.screen.rows([(_SIGNS[each.state], each.topic, each.detail) for each in findings])
    return NEGATIVE if any(each.state == "broken" for each in findings) else OK


def findings_of(own: Session) -> Iterator[Finding]:
    """All checks, each on its own: one that fails is a finding and stops no other."""
    checks: list[tuple[str, Callable[[], Iterator[Finding]]]] = [
        ("secondface", _program), (_("settings"), lambda: _settings(own)), (_("processor"), _processor),
        (_("memory"), _memory), (_("disk"), _disk), (_("devices"), _devices), (_("models"), _models),
        (_("video encoders"), _encoders), (_("label fonts"), _fonts),
        (_("cage"), _cage), (_("cage of jobs"), lambda: _worker_cage(own)),
        (_("signature"), lambda: _signature(own)),
    ]  # fmt: skip
    for topic, check in checks:
        try:
            yield from check()
        except (SecondfaceError, OSError, ImportError) as error:
            yield Finding(topic, "broken", str(error))


def _program() -> Iterator[Finding]:
    yield Finding(
        "secondface",
        "ok",
        f"{__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}",
    )


def _settings(own: Session) -> Iterator[Finding]:
    from secondface.settings import setting_rows, unknown_variables

    changed = [f"{row.name}={row.value}" for row in setting_rows(own.settings) if row.source != "default"]
    yield Finding(_("settings"), "ok", ", ".join(changed) or _("all at their defaults"))
    for name in unknown_variables(os.environ):
        yield Finding(_("settings"), "note", _("{name} names no setting; is it a slip of the pen?").format(name=name))


def _processor() -> Iterator[Finding]:
    yield Finding(_("processor"), "ok", _("{usable} cores usable").format(usable=processors.usable()))


def _memory() -> Iterator[Finding]:
    import psutil

    memory = psutil.virtual_memory()
    detail = _("{free} of {total} GiB free").format(
        free=f"{memory.available / _GIB:.1f}", total=f"{memory.total / _GIB:.1f}"
    )
    yield Finding(_("memory"), "ok" if memory.available >= _GIB else "note", detail)


def _disk() -> Iterator[Finding]:
    free = shutil.disk_usage(Path.cwd()).free
    detail = _("{free} GiB free in {folder}").format(free=f"{free / _GIB:.1f}", folder=Path.cwd())
    yield Finding(_("disk"), "ok" if free >= _GIB else "note", detail)


def _devices() -> Iterator[Finding]:
    from secondface.models.devices import probe_devices, resolve_device

    for status in probe_devices():
        yield Finding(status.device, "ok" if status.usable else "note", said(status.reason) or _("works"))
    if Path("/dev/nvidia0").exists() and resolve_device("auto") == "cpu":
        yield Finding("GPU", "note", _("An NVIDIA card is present, but models run on the CPU; see the reasons above."))


def _models() -> Iterator[Finding]:
    from secondface.models.store import describe

    found = describe()
    bad = [status for status in found if status.state != "ready"]
    for status in bad:
        yield Finding(_("models"), "broken", f"{status.manifest.name}: {status.detail}")
    if not bad:
        size_mb = sum(status.manifest.size_bytes for status in found) / 1e6
        detail = _("{number} models, {size} MB, all as their manifests say").format(
            number=len(found), size=f"{size_mb:.0f}"
        )
        yield Finding(_("models"), "ok", detail)


def _encoders() -> Iterator[Finding]:
    from secondface.media.encoders import CodecName, VideoOptions, choose_encoder, gpu_encoders
    from secondface.media.layouts import PlaneLayout

    plain = PlaneLayout("yuv420p", "yuv", 8, 1, 1)
    for codec in get_args(CodecName):
        try:
            encoder = choose_encoder("matroska", VideoOptions(codec=codec), plain, (640, 360)).encoder
            yield Finding(_("encoder {codec}").format(codec=codec), "ok", encoder)
        except SecondfaceError as error:
            yield Finding(_("encoder {codec}").format(codec=codec), "broken" if codec == "h264" else "note", str(error))
    reasons = gpu_encoders()
    working = [name for name, reason in reasons.items() if not reason]
    none = _("none works here ({encoders}); --encoder gpu then takes the processor").format(encoders=", ".join(reasons))
    yield Finding(_("GPU encoders"), "ok" if working else "note", ", ".join(working) or none)


def _fonts() -> Iterator[Finding]:
    from secondface.vision.label import render_label

    art = render_label(("AI生成 · AI-generated",), 36)
    yield Finding(_("label fonts"), "ok", _("the label can be drawn, {height} px high").format(height=art.glyph_px))


def _cage() -> Iterator[Finding]:
    from secondface.media.cage_check import checked_protections

    names = {
        "process": _("process"), "user": _("user"), "rlimits": _("limits"), "no other file": _("no other file"),
        "no socket": _("no socket"), "no second process": _("no second process"),
    }  # fmt: skip
    for each in checked_protections():
        name = names.get(each.name, each.name)
        yield Finding(_("cage"), "ok" if each.active else "note", f"{name}: {said(each.detail)}")


def _worker_cage(own: Session) -> Iterator[Finding]:
    from secondface.media.cage import worker_cage_reason
    from secondface.media.worker_cage_check import worker_protections

    topic, wish = _("cage of jobs"), own.settings.worker_cage
    if wish == "off":
        yield Finding(topic, "note", _("the setting worker_cage switches it off"))
    lacking: State = "broken" if wish == "require" and worker_cage_reason() is not None else "note"
    names = {
        "jobs": _("jobs"), "user": _("user"), "no other job's file": _("no other job's file"),
        "no socket": _("no socket"), "no second process": _("no second process"),
        "no word to the worker": _("no word to the worker"),
    }  # fmt: skip
    for each in worker_protections():
        yield Finding(
            topic, "ok" if each.active else lacking, f"{names.get(each.name, each.name)}: {said(each.detail)}"
        )


def _signature(own: Session) -> Iterator[Finding]:
    from secondface.compose.signing import content_signer, signing_key

    content_signer(own.settings)
    key = signing_key(own.settings)
    days = (key.ends - datetime.now(UTC)).days
    whose = _("your certificate") if own.settings.signing_chain_file else _("an authority of this machine")
    said_of_it = {"owner": key.owner, "whose": whose, "date": f"{key.ends:%Y-%m-%d}"}
    detail = _("outputs are signed by {owner} ({whose}), until {date}").format(**said_of_it)
    yield Finding(_("signature"), "ok" if days > _SOON_DAYS else "note", detail)
