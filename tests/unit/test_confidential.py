"""Secrets: from files, never shown, and what is shown in their place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from secondface.compose.work import worker_environment
from secondface.confidential import SecretAddress, make_private, open_to_others, without_password
from secondface.errors import InvalidSetting
from secondface.fleet.workroom import Workroom
from secondface.provenance.certificates import own_key
from secondface.settings import Settings, load_settings, secret_files, secret_variables, setting_rows, unknown_variables
from secondface.storage import migrations
from secondface.storage.database import Database
from secondface.storage.links import Links
from secondface.storage.machine import MachineClock
from secondface.storage.objects import FolderStore
from secondface.storage.secret_files import secret_file

SECRET = "s3cr3t-that-nobody-may-see"


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in Settings.model_fields:
        for ending in ("", "_FILE"):
            monkeypatch.delenv(f"SECONDFACE_{name.upper()}{ending}", raising=False)
    monkeypatch.setenv("SECONDFACE_CONFIG", str(tmp_path / "config.toml"))
    (tmp_path / "config.toml").write_text("")


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text(f"{SECRET}\n")
    path.chmod(0o600)
    return path


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("", ""), ("postgresql://app@db/x", "postgresql://app@db/x"), ("sqlite:////var/x.db", "sqlite:////var/x.db"),
        (f"postgresql://app:{SECRET}@db:5432/x", "postgresql://app:***@db:5432/x"),
        (f"postgresql://app:{SECRET}@a/b@db/x", "postgresql://app:***@db/x"),
        (f"postgresql://db/x?sslmode=require&password={SECRET}&a=b", "postgresql://db/x?sslmode=require&password=***&a=b"),
        (SECRET, "***"),
    ],
)  # fmt: skip
def test_an_address_is_shown_without_its_password(address: str, shown: str) -> None:
    assert without_password(address) == shown
    value = SecretAddress(address)
    assert (str(value), value.get_secret_value()) == (shown, address)
    assert SECRET not in repr(value)


def test_every_secret_can_lie_in_a_file(monkeypatch: pytest.MonkeyPatch, kept: Path) -> None:
    assert {"api_key", "database"} <= secret_variables().keys()
    for name, variable in secret_variables().items():
        monkeypatch.setenv(f"{variable}_FILE", str(kept))
        settings = load_settings()
        assert getattr(settings, name).get_secret_value() == SECRET
        assert {row.name: row.source for row in setting_rows(settings)}[name] == f"{variable}_FILE"
        assert not any(SECRET in str(row) for row in setting_rows(settings))
        assert SECRET not in f"{settings!r} {settings} {settings.model_dump_json()}"
    assert unknown_variables({f"{variable}_FILE": "x" for variable in secret_variables().values()}) == []
    assert unknown_variables({"SECONDFACE_TIER_FILE": "x"}) == ["SECONDFACE_TIER_FILE"]


def test_a_secret_has_one_place(monkeypatch: pytest.MonkeyPatch, kept: Path) -> None:
    monkeypatch.setenv("SECONDFACE_API_KEY", "other")
    monkeypatch.setenv("SECONDFACE_API_KEY_FILE", str(kept))
    with pytest.raises(InvalidSetting, match="both set"):
        load_settings()


@pytest.mark.parametrize("content", [b"", b" \n", b"\xff\xfe\x00", b"x" * 70_000])
def test_a_file_that_holds_none_is_named_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, kept: Path, content: bytes
) -> None:
    kept.write_bytes(content)
    monkeypatch.setenv("SECONDFACE_API_KEY_FILE", str(kept))
    with pytest.raises(InvalidSetting, match=f"SECONDFACE_API_KEY_FILE: {kept}"):
        load_settings()


def test_a_file_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECONDFACE_API_KEY_FILE", "/nowhere/key")
    with pytest.raises(InvalidSetting, match="/nowhere/key: No such file"):
        load_settings()


def test_a_wrong_value_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither by us nor by the library below, whose words a traceback would show."""
    monkeypatch.setenv("SECONDFACE_THREADS", SECRET)
    with pytest.raises(InvalidSetting) as caught:
        load_settings()
    assert SECRET not in f"{caught.value} {caught.value.__cause__}"


def test_a_worker_gets_the_secrets_that_it_needs_and_no_other(monkeypatch: pytest.MonkeyPatch, kept: Path) -> None:
    monkeypatch.setenv("SECONDFACE_API_KEY_FILE", str(kept))
    monkeypatch.setenv("SECONDFACE_DATABASE_FILE", str(kept))
    kept.write_text("postgresql://app:word@db/x")
    told = {name: value for name, value in worker_environment(load_settings()).items() if "word" in value}
    assert told == {"SECONDFACE_DATABASE": "postgresql://app:word@db/x"}
    assert not [name for name in worker_environment(load_settings()) if name.startswith("SECONDFACE_API_KEY")]


def test_files_that_others_may_read_are_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kept: Path) -> None:
    assert secret_files() == []
    monkeypatch.setenv("SECONDFACE_API_KEY_FILE", str(kept))
    assert secret_files() == [kept]
    (tmp_path / "config.toml").write_text('database = "postgresql://x"\n')
    assert secret_files() == [kept, tmp_path / "config.toml"]
    assert not open_to_others(kept)
    kept.chmod(0o640)
    assert open_to_others(kept)


def test_a_folder_is_made_for_its_owner_alone_with_all_above_it(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir(mode=0o755)
    made = tmp_path / "there" / "a" / "b"
    make_private(made)
    make_private(made)
    assert not open_to_others(made)
    assert not open_to_others(made.parent)
    assert (tmp_path / "there").stat().st_mode & 0o777 == 0o755  # what somebody made is theirs to open
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(FileExistsError):
        make_private(tmp_path / "file")


def test_whatever_makes_the_data_folder_makes_it_private(tmp_path: Path) -> None:
    """Not only the first secret in it: a key for signing, the books or the files may come before that."""
    clock = MachineClock()
    makers: dict[str, Callable[[Path], object]] = {
        "signing": lambda data: own_key(data / "signing"),
        "secret": lambda data: secret_file(data / "links.key"),
        "books": lambda data: Database(f"sqlite:///{data / 'service.db'}").close(),
        "files": lambda data: FolderStore(data / "objects", Links("http://x", (b"s" * 32,), clock)),
        "work": lambda data: Workroom(data / "work", "worker").__enter__().__exit__(),
    }
    for name, make in makers.items():
        make(tmp_path / name / "data")
        assert not open_to_others(tmp_path / name / "data"), name


def test_nobody_else_reads_the_books_in_a_folder_that_is_open(tmp_path: Path) -> None:
    """They hold the secrets that webhooks are signed with."""
    tmp_path.chmod(0o755)
    database = Database(f"sqlite:///{tmp_path / 'service.db'}")
    migrations.upgrade(database)
    written = [path for path in tmp_path.iterdir() if path.stat().st_size]
    assert [path.name for path in written if open_to_others(path)] == []
    assert written
    database.close()
