"""Which key signs, by the settings; and that every way to an output is given one."""

from __future__ import annotations

from pathlib import Path

import pytest

from secondface.compose import local, verify
from secondface.compose.service import server
from secondface.compose.signing import content_signer, key_files, signing_key, trusted_roots
from secondface.compose.work import _duties, worker_environment
from secondface.errors import InvalidSetting, SigningUnavailable
from secondface.media.images import write_still
from secondface.settings import Settings
from tests.signed_files import key_in, marked, picture


def test_the_same_settings_give_the_same_signer(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    assert content_signer(settings) is content_signer(Settings(data_dir=tmp_path / "data"))
    assert content_signer(settings).owner == signing_key(settings).owner
    assert content_signer(Settings(data_dir=tmp_path / "other")).owner != signing_key(settings).owner


def test_the_operators_files_come_before_an_authority_of_this_machine(tmp_path: Path) -> None:
    key = key_in(tmp_path)
    files = {f"signing_{name}_file": str(tmp_path / "signing" / f"{name}.pem") for name in ("chain", "key")}
    settings = Settings(data_dir=tmp_path / "data", **files)  # type: ignore[arg-type]
    assert content_signer(settings).owner == key.owner
    assert not (tmp_path / "data").exists()
    assert trusted_roots(settings) == key.roots
    assert key_files(settings) == files
    assert signing_key(Settings(**key_files(Settings(data_dir=tmp_path)))) == key  # type: ignore[arg-type]


def test_one_of_the_two_files_is_not_enough(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match="belong together"):
        content_signer(Settings(data_dir=tmp_path, signing_key_file="key.pem"))


def test_who_only_verifies_makes_no_authority(tmp_path: Path) -> None:
    out = marked(tmp_path / "out.png", None)
    settings = Settings(data_dir=tmp_path / "data")
    assert verify(out, settings).layers["signature"] == "absent"
    assert trusted_roots(settings) == b""
    assert not (tmp_path / "data").exists()
    key = key_in(tmp_path)
    named = Settings(data_dir=tmp_path / "data", trusted_roots_file=str(tmp_path / "signing" / "root.pem"))
    assert trusted_roots(named) == key.roots
    with pytest.raises(SigningUnavailable):
        verify(out, settings, roots=tmp_path / "none.pem")


def test_workers_sign_with_the_key_of_the_service(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    told = worker_environment(settings)
    assert told["SECONDFACE_SIGNING_CHAIN_FILE"] == ""
    signer = _duties(settings, "w1").terms.signer
    assert signer is not None
    assert signer.owner == signing_key(settings).owner


def test_a_service_without_a_usable_key_does_not_start(tmp_path: Path) -> None:
    with pytest.raises(SigningUnavailable):
        server(Settings(data_dir=tmp_path, signing_chain_file="none.pem", signing_key_file="none.pem"))


def test_a_run_without_a_usable_key_does_no_work(tmp_path: Path) -> None:
    target = tmp_path / "target.png"
    write_still(target, picture())
    runner = local(Settings(data_dir=tmp_path, signing_chain_file="none.pem", signing_key_file="none.pem"), "cpu")
    with pytest.raises(SigningUnavailable):
        runner.run(runner.request([], target, tmp_path / "out.png", pipeline="denoise"))
    assert [path.name for path in tmp_path.iterdir()] == ["target.png"]
