"""`doctor --security`: each guard is looked at as it is now, and one that cannot be vouched for counts as off."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from secondface.cli import doctor, guards_of_books, guards_of_doors, guards_of_files, security
from secondface.cli.commands import Session
from secondface.cli.exits import NEGATIVE, OK
from secondface.cli.guard import Check, Guard
from secondface.cli.language import choose_language, speak
from secondface.cli.screen import Screen
from secondface.compose.stores import open_stores
from secondface.control.accounts import Accounts
from secondface.control.auth import Keyring
from secondface.domain.accounts import Account, Plan
from secondface.errors import StorageUnavailable
from secondface.media.cage import worker_cage_reason
from secondface.settings import Settings, load_settings
from secondface.storage import migrations
from secondface.storage.machine import RandomIds
from tests.clamd import EICAR, clamd


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for name in Settings.model_fields:
        for ending in ("", "_FILE"):
            monkeypatch.delenv(f"SECONDFACE_{name.upper()}{ending}", raising=False)
    monkeypatch.setenv("SECONDFACE_CONFIG", str(tmp_path / "config.toml"))
    (tmp_path / "config.toml").write_text("")
    speak(choose_language("en", {}))
    yield
    speak(choose_language("en", {}))


def own(tmp_path: Path, **settings: Any) -> Session:
    made = Session("en", Screen("json"))
    made.__dict__["settings"] = load_settings(data_dir=tmp_path / "data", **settings)
    return made


def look(check: Check, session: Session) -> list[tuple[str, str]]:
    return [(each.state, each.seen) for each in check(session)]


def states(check: Check, session: Session) -> list[str]:
    return [state for state, _ in look(check, session)]


@pytest.fixture
def begun(tmp_path: Path) -> Callable[[Callable[[Any], object]], None]:
    """Begins a service in the folder, then does something to its books."""

    def begin(change: Callable[[Any], object]) -> None:
        settings, ids = load_settings(data_dir=tmp_path / "data"), RandomIds()
        with closing(open_stores(settings)) as stores:
            migrations.upgrade(stores.database)
            Accounts(stores.transactions, Keyring(stores.transactions, ids), ids).start(lambda _key: None)
            change(stores)

    return begin


# ---- doors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "expected"),
    [({}, "on"), ({"listen_host": "::1"}, "on"), ({"listen_host": "0.0.0.0"}, "note"), ({"listen_host": "h"}, "note")],
)
def test_which_networks_reach_the_port(tmp_path: Path, settings: dict[str, Any], expected: str) -> None:
    assert states(guards_of_doors.listening, own(tmp_path, **settings)) == [expected]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, "on"), ({"listen_host": "0.0.0.0"}, "off"), ({"public_url": "http://faces.example"}, "off"),
        ({"listen_host": "0.0.0.0", "public_url": "http://faces.example"}, "off"),
        ({"public_url": "https://127.0.0.1:1"}, "off"),
    ],
)  # fmt: skip
def test_plain_connections_are_seen(tmp_path: Path, settings: dict[str, Any], expected: str) -> None:
    assert states(guards_of_doors.encryption, own(tmp_path, **settings)) == [expected]


def test_jobs_without_a_cage_are_seen(tmp_path: Path) -> None:
    assert states(guards_of_doors.cage_of_jobs, own(tmp_path, worker_cage="off")) == ["off"]
    (shown,) = doctor_of_jobs(own(tmp_path, worker_cage="off"))[:1]
    assert shown == ("note", "the setting worker_cage switches it off")


@pytest.mark.skipif(worker_cage_reason() is not None, reason=f"no cage here: {worker_cage_reason()}")
def test_the_doors_of_a_jobs_cage_are_tried(tmp_path: Path) -> None:
    seen = look(guards_of_doors.cage_of_jobs, own(tmp_path))
    assert "off" not in [state for state, _ in seen]
    tried = [text for state, text in seen if state == "on" and text.startswith("no ") and "tried, and refused" in text]
    assert len(tried) >= 4
    shown = doctor_of_jobs(own(tmp_path))
    assert any("by seccomp and Landlock" in text for _, text in shown), "which cage is in use"
    assert any(text.startswith("bubblewrap: ") for _, text in shown)


def doctor_of_jobs(session: Session) -> list[tuple[str, str]]:
    return [(each.state, each.detail) for each in doctor._worker_cage(session)]  # pyright: ignore[reportPrivateUsage]


@pytest.fixture
def certificate(tmp_path: Path) -> Callable[[int], Path]:
    """Makes a certificate for 127.0.0.1 that holds for so many days."""

    def make(days: int) -> Path:
        key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "x")])
        now = datetime.now(UTC)
        made = (
            x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
            .serial_number(1).not_valid_before(now - timedelta(days=9))
            .not_valid_after(now + timedelta(days=days, hours=1))
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256())
        )  # fmt: skip
        path = tmp_path / "tls.pem"
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            + made.public_bytes(serialization.Encoding.PEM)
        )
        return path

    return make


@pytest.mark.parametrize(
    ("days", "trusted", "expected"), [(90, True, "on"), (3, True, "note"), (90, False, "off"), (-2, True, "off")]
)
def test_the_outer_address_is_called_and_its_certificate_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, certificate: Callable[[int], Path], days: int, trusted: bool,
    expected: str,
) -> None:  # fmt: skip
    pem = certificate(days)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection = listener.accept()[0]
            with connection, suppress(OSError):
                context.wrap_socket(connection, server_side=True).close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        url = f"https://127.0.0.1:{listener.getsockname()[1]}"
        [(state, seen)] = look(guards_of_doors.encryption, own(tmp_path, public_url=url))
        thread.join(10)
    assert state == expected, seen
    assert state == "off" or f"{days} more days" in seen


@pytest.mark.parametrize(
    ("check", "setting", "values"),
    [
        (guards_of_doors.proxies, "trusted_proxies", {"": "on", "10.0.0.2": "on", "10.0.0.2, *": "off"}),
        (guards_of_doors.web_pages, "web_origins", {"": "on", "https://a.example": "on", "*": "off"}),
        (guards_of_doors.private_networks, "private_networks", {"": "on", "10.0.0.0/8": "note"}),
    ],
)
def test_what_settings_open(tmp_path: Path, check: Check, setting: str, values: dict[str, str]) -> None:
    for value, expected in values.items():
        assert states(check, own(tmp_path, **{setting: value})) == [expected]


def test_the_scanner_must_find_the_trial_text(tmp_path: Path) -> None:
    assert states(guards_of_doors.scanner, own(tmp_path)) == ["off"]
    [(state, seen)] = look(guards_of_doors.scanner, own(tmp_path, scanner="127.0.0.1:1"))
    assert (state, "gives no answer" in seen) == ("off", True)
    with clamd() as running:
        assert states(guards_of_doors.scanner, own(tmp_path, scanner=running.address)) == ["on"]
    with clamd(signature=EICAR[::-1]) as running:
        [(state, seen)] = look(guards_of_doors.scanner, own(tmp_path, scanner=running.address))
        assert (state, "does not know the trial text" in seen) == ("off", True)


# ---- files -----------------------------------------------------------------------------------------------------------


def test_a_data_folder_that_others_may_read_is_off(tmp_path: Path, begun: Callable[..., None]) -> None:
    assert states(guards_of_files.data_folder, own(tmp_path)) == ["note"]
    begun(lambda _stores: None)
    assert states(guards_of_files.data_folder, own(tmp_path)) == ["on"]  # as the service makes it
    assert states(guards_of_books.database, own(tmp_path)) == ["on"]
    (tmp_path / "data").chmod(0o755)
    (tmp_path / "data" / "service.db").chmod(0o644)
    [(state, seen)] = look(guards_of_files.data_folder, own(tmp_path))
    assert (state, "service.db" in seen, "links.key" in seen) == ("off", True, False)
    assert states(guards_of_books.database, own(tmp_path)) == ["off"]


def test_what_is_kept_for_how_long_is_said_of_results_too(tmp_path: Path) -> None:
    [(state, seen)] = look(guards_of_files.uploads, own(tmp_path, retain_inputs_h=3, retain_outputs_h=5))
    assert (state, "72 h" in seen, "3 h" in seen, "5 h" in seen) == ("note", True, True, True)


def test_keys_that_lie_apart_are_looked_at_where_they_lie(tmp_path: Path, begun: Callable[..., None]) -> None:
    begun(lambda _stores: None)
    keys = tmp_path / "keys"
    keys.mkdir(mode=0o700)
    assert states(guards_of_files.data_folder, own(tmp_path, secrets_dir=str(keys))) == ["on", "on"]
    keys.chmod(0o755)
    (keys / "codes.key").write_bytes(b"k" * 32)
    (keys / "codes.key").chmod(0o644)
    [_, (state, seen)] = look(guards_of_files.data_folder, own(tmp_path, secrets_dir=str(keys)))
    assert (state, "codes.key" in seen, "audit.key" in seen) == ("off", True, False)


def test_looking_makes_nothing(tmp_path: Path) -> None:
    list(security.guards_of(own(tmp_path)))
    assert not (tmp_path / "data").exists()


def test_files_of_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert look(guards_of_files.secrets, own(tmp_path)) == [("on", "none is set")]
    key = tmp_path / "key"
    key.write_text("s3cr3t")
    key.chmod(0o604)
    monkeypatch.setenv("SECONDFACE_API_KEY_FILE", str(key))
    assert states(guards_of_files.secrets, own(tmp_path)) == ["off"]
    key.chmod(0o600)
    monkeypatch.setenv("SECONDFACE_DATABASE", "sqlite:////x")
    assert states(guards_of_files.secrets, own(tmp_path)) == ["on", "note"]


def test_switches_for_debugging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert states(guards_of_files.debugging, own(tmp_path)) == ["on"]
    monkeypatch.setenv("PYTHONASYNCIODEBUG", "1")
    assert states(guards_of_files.debugging, own(tmp_path)) == ["off"]


# ---- books -----------------------------------------------------------------------------------------------------------


def test_operators_keys_must_end(tmp_path: Path, begun: Callable[..., None]) -> None:
    assert states(guards_of_books.operators_keys, own(tmp_path)) == ["note"]
    begun(lambda _stores: None)
    assert states(guards_of_books.operators_keys, own(tmp_path)) == ["off"]  # that of the first start

    def ending(stores: Any) -> None:
        ring = Keyring(stores.transactions, RandomIds())
        with stores.transactions.view() as work:
            [first], until = work.accounts.keys("default"), work.now_ms() + 86_400_000
        ring.issue("default", "operator", expires_ms=until)
        ring.issue("default", "developer")
        ring.revoke("default", first.id)

    begun(ending)
    assert look(guards_of_books.operators_keys, own(tmp_path)) == [("on", "1, and each of them ends")]


def test_what_plans_let_pass(tmp_path: Path, begun: Callable[..., None]) -> None:
    begun(lambda _stores: None)
    assert states(guards_of_books.visible_label, own(tmp_path)) == ["on"]
    assert states(guards_of_books.second_approval, own(tmp_path)) == ["note"]

    def change(stores: Any) -> None:
        with stores.transactions.begin() as work:
            work.accounts.save(Account(id="default", name="D", plan=Plan(label_optional=True, approval_above_faces=1)))

    begun(change)
    assert states(guards_of_books.visible_label, own(tmp_path)) == ["note"]
    assert states(guards_of_books.second_approval, own(tmp_path)) == ["on"]


# ---- the table -------------------------------------------------------------------------------------------------------


def test_a_check_that_fails_is_a_guard_that_is_off_and_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_own: Session) -> Iterator[Guard]:
        raise StorageUnavailable("gone")

    def fine(_own: Session) -> Iterator[Guard]:
        yield Guard("b", "on", "seen")

    monkeypatch.setattr(security, "checks", lambda: (("a", broken), ("b", fine)))
    guards = list(security.guards_of(own(tmp_path)))
    assert [(each.topic, each.state) for each in guards] == [("a", "off"), ("b", "on")]
    assert "gone" in guards[0].seen


@pytest.mark.parametrize(("state", "code"), [("on", OK), ("note", OK), ("off", NEGATIVE)])
def test_the_exit_code_says_whether_a_guard_is_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], state: Any, code: int
) -> None:
    monkeypatch.setattr(security, "checks", lambda: (("a", lambda _own: iter([Guard("a", state, "seen", "do it")])),))
    assert security.show_guards(own(tmp_path), json=True) == code
    said = json.loads(capsys.readouterr().out)
    assert said == {
        "guards": [{"topic": "a", "state": state, "seen": "seen", "remedy": "do it"}],
        "off": int(code == 1),
    }


def test_whatever_is_off_says_what_to_do(tmp_path: Path) -> None:
    open_everywhere = own(tmp_path, listen_host="0.0.0.0", trusted_proxies="*", web_origins="*", scanner="127.0.0.1:1")
    found = [each for each in security.guards_of(open_everywhere) if each.state == "off"]
    assert len(found) >= 4
    assert all(each.remedy for each in found), found
