"""Checks of how the service is reached, and of what looks at files before they are used."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from ipaddress import ip_address
from urllib.parse import urlsplit

from secondface.cli.commands import Session
from secondface.cli.details import said
from secondface.cli.guard import Guard
from secondface.cli.language import gettext as _
from secondface.errors import ScannerUnavailable

_HANDSHAKE_S = 5.0
_SOON_DAYS = 14


def listening(own: Session) -> Iterator[Guard]:
    """Which networks reach the port."""
    host = own.settings.listen_host
    place = f"{host}:{own.settings.listen_port}"
    if _on_this_machine(host):
        yield Guard(_("address"), "on", _("{place}: this machine only").format(place=place))
    else:
        yield Guard(
            _("address"), "note", _("{place}: other machines reach this port").format(place=place),
            _("Listen on 127.0.0.1 behind a proxy, or let a firewall pass the proxy alone."),
        )  # fmt: skip


def encryption(own: Session) -> Iterator[Guard]:
    """Whether keys and faces travel encrypted: the outer address is called, and its certificate judged."""
    topic, outer = _("encryption"), urlsplit(own.settings.public_url)
    remedy = _("Put a proxy with TLS before the service, and name its address in SECONDFACE_PUBLIC_URL.")
    if outer.scheme == "https" and outer.hostname:
        place = f"{outer.hostname}:{outer.port or 443}"
        try:
            days = _certificate_days(outer.hostname, outer.port or 443)
        except (OSError, ValueError) as error:
            seen = _("no TLS connection to {place}: {reason}").format(place=place, reason=error)
            yield Guard(topic, "off", seen, remedy)
            return
        seen = _("{place} shows a certificate that holds for {days} more days").format(place=place, days=days)
        renew = _("See that it is renewed in time.") if days < _SOON_DAYS else ""
        yield Guard(topic, "note" if days < _SOON_DAYS else "on", seen, renew)
    elif outer.scheme:
        yield Guard(
            topic, "off", _("the outer address is plain http: {address}").format(address=outer.geturl()), remedy
        )
    elif _on_this_machine(own.settings.listen_host):
        yield Guard(topic, "on", _("nothing leaves this machine, and no outer address is named"))
    else:
        yield Guard(topic, "off", _("no outer address is named, and other machines reach the plain port"), remedy)


def proxies(own: Session) -> Iterator[Guard]:
    """Whose word about a caller's address is believed."""
    named = [each.strip() for each in own.settings.trusted_proxies.split(",") if each.strip()]
    if "*" in named:
        yield Guard(
            _("proxies"), "off", _("anybody may say from which address a request comes"),
            _("Name the proxy's own address in SECONDFACE_TRUSTED_PROXIES; rates and the audit go by addresses."),
        )  # fmt: skip
    elif named:
        yield Guard(_("proxies"), "on", _("believed: {names}").format(names=", ".join(named)))
    else:
        yield Guard(_("proxies"), "on", _("none is believed; the address of a connection counts"))


def web_pages(own: Session) -> Iterator[Guard]:
    """Pages of which other sites a browser lets call the service."""
    origins = own.settings.web_origins
    if "*" in origins:
        yield Guard(
            _("web pages"), "off", _("pages of every site may call the service"),
            _("Name the sites in SECONDFACE_WEB_ORIGINS."),
        )  # fmt: skip
    else:
        yield Guard(_("web pages"), "on", origins or _("pages of no other site may call the service"))


def private_networks(own: Session) -> Iterator[Guard]:
    """Where addresses that callers name may lead."""
    if networks := own.settings.private_networks:
        yield Guard(
            _("private networks"), "note", _("addresses of callers may lead into {networks}").format(networks=networks),
            _("See that nothing in there answers to whoever calls: callers choose the address."),
        )  # fmt: skip
    else:
        yield Guard(_("private networks"), "on", _("addresses of callers lead to the public internet alone"))


def scanner(own: Session) -> Iterator[Guard]:
    """Whether the scanner finds what every scanner must: a trial text is sent to it."""
    from secondface.compose.security import scanner_finds

    topic, place = _("virus scan"), own.settings.scanner
    if not place:
        yield Guard(
            topic, "off", _("files of callers are not scanned"),
            _("Run clamd (deploy/clamav/clamd.conf) and name it in SECONDFACE_SCANNER."),
        )  # fmt: skip
        return
    try:
        found = scanner_finds(own.settings)
    except ScannerUnavailable as error:
        seen = _("{place} gives no answer, so no file is taken: {reason}").format(
            place=place, reason=said(error.detail)
        )
        yield Guard(topic, "off", seen, _(ScannerUnavailable.advice("command")))
        return
    if found:
        yield Guard(topic, "on", _("{place} found the trial text: {name}").format(place=place, name=found))
    else:
        seen = _("{place} answers, and does not know the trial text (EICAR)").format(place=place)
        yield Guard(topic, "off", seen, _("See that it has signatures, and renews them (freshclam)."))


def cage(own: Session) -> Iterator[Guard]:  # noqa: ARG001  the shape of a check
    """Whether files of strangers are opened in a process that can do nothing else: its doors are tried."""
    from secondface.media.cage_check import checked_protections

    for each in checked_protections():
        # One means may be missing where another does its work: what counts is whether a door was open when tried.
        missing = "off" if each.name.startswith("no ") or each.name == "cage" else "note"
        yield Guard(_("cage"), "on" if each.active else missing, f"{each.name}: {said(each.detail)}")


def cage_of_jobs(own: Session) -> Iterator[Guard]:
    """Whether jobs run where they reach their own files alone: a process like theirs tries the doors."""
    from secondface.media.worker_cage_check import worker_protections

    topic, remedy = _("cage of jobs"), _("Set SECONDFACE_WORKER_CAGE=require, on Linux 5.13 or newer with Landlock.")
    if own.settings.worker_cage == "off":
        yield Guard(topic, "off", _("the setting worker_cage switches it off"), remedy)
        return
    for each in worker_protections():
        # A second wall may be missing: what counts is whether there is a cage, and whether a door was open when tried.
        missing = "off" if each.name.startswith("no ") or each.name == "jobs" else "note"
        advice = remedy if each.name == "jobs" and not each.active else ""
        yield Guard(topic, "on" if each.active else missing, f"{each.name}: {said(each.detail)}", advice)


def _on_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _certificate_days(host: str, port: int) -> int:
    """How long the certificate that a host shows still holds. Raises OSError where it does not hold now."""
    context = ssl.create_default_context()
    with (
        socket.create_connection((host, port), _HANDSHAKE_S) as plain,
        context.wrap_socket(plain, server_hostname=host) as line,
    ):
        shown = line.getpeercert() or {}
    ends_s = ssl.cert_time_to_seconds(str(shown["notAfter"]))
    return int((ends_s - datetime.now(UTC).timestamp()) // 86_400)
