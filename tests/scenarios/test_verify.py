"""`secondface verify` on results of the command: intact and trusted here, of an unknown signer elsewhere, altered."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from secondface.sdk import Client
from tests.scenarios.conftest import Service, World


@pytest.fixture
def made(secondface: World) -> Path:
    told = secondface("run", "-s", secondface.person_a, "-t", secondface.person_b, "-o", "out.jpg", "--json")
    assert told.code == 0, told.err
    assert told.object["statement"]["inputs"][0]["role"] == "target"
    return secondface.folder / "out.jpg"


def test_a_result_is_intact_and_signed_by_this_machine(secondface: World, made: Path) -> None:
    told = secondface("verify", made, "--json")
    assert told.code == 0, told.err
    assert told.object["layers"] == {"watermark": "intact", "metadata": "intact", "signature": "intact"}
    assert (told.object["signed"], told.object["sound"]) == ("trusted", True)
    table = secondface("verify", made)
    assert table.code == 0
    assert "trusted" in table.out
    assert "完好" in secondface("--lang", "zh", "verify", made).out


def test_another_machine_does_not_know_the_signer_unless_it_is_told(
    secondface: World, made: Path, tmp_path: Path
) -> None:
    elsewhere = {"SECONDFACE_DATA_DIR": str(tmp_path / "log" / "elsewhere")}
    told = secondface("verify", made, **elsewhere)
    assert told.code == 0
    assert "valid, unknown signer" in told.out
    assert not (tmp_path / "log" / "elsewhere").exists()
    config = json.loads(secondface("config", "show", "--json").out)
    (folder,) = [row["value"] for row in config["settings"] if row["name"] == "data_dir"]
    root = str(Path(folder) / "signing" / "root.pem")
    for trusting in (("--roots", root), ()):
        words = {**elsewhere, **({} if trusting else {"SECONDFACE_TRUSTED_ROOTS_FILE": root})}
        assert secondface("verify", made, *trusting, "--json", **words).object["signed"] == "trusted"


def test_an_altered_result_is_told_and_ends_with_1(secondface: World, made: Path) -> None:
    content = bytearray(made.read_bytes())
    content[-100] ^= 1
    made.write_bytes(content)
    told = secondface("verify", made)
    assert told.code == 1
    assert "ALTERED" in told.out
    assert "INVALID" in told.out
    assert "assertion.dataHash.mismatch" in told.out


def test_without_a_usable_key_nothing_is_made(secondface: World) -> None:
    pair = ("-s", secondface.person_a, "-t", secondface.person_b, "-o", "out.png")
    told = secondface("run", *pair, SECONDFACE_SIGNING_CHAIN_FILE="none.pem", SECONDFACE_SIGNING_KEY_FILE="none.pem")
    assert told.code == 6
    assert "none.pem" in told.err
    half = secondface("run", *pair, SECONDFACE_SIGNING_CHAIN_FILE="none.pem")
    assert half.code == 3
    assert secondface.files() == set()
    assert secondface("doctor", SECONDFACE_SIGNING_CHAIN_FILE="x", SECONDFACE_SIGNING_KEY_FILE="y").code == 1


def test_the_library_tells_the_same(secondface: World, made: Path) -> None:
    code = f"import secondface; found = secondface.verify({str(made)!r}); print(found.signed, found.is_sound)"
    told = subprocess.run(
        [sys.executable, "-c", code], env=secondface.environment, capture_output=True, text=True, check=True
    )
    assert told.stdout.split() == ["trusted", "True"]


def test_a_service_signs_its_results_and_knows_the_job_of_one(
    secondface: World, service: Service, tmp_path: Path
) -> None:
    pair = ("-s", secondface.person_a, "-t", secondface.person_b, "-o", "out.png")
    assert secondface("run", *pair, **service.environment).code == 0
    with Client(service.url, service.key) as client:
        found = client.verify(tmp_path / "out.png")
        other = client.verify(secondface.person_b)
        uploaded = client.verify(client.upload(tmp_path / "out.png"))
    assert found.layers is not None
    assert (found.layers.metadata, found.layers.signature, found.sound) == ("intact", "intact", True)
    assert found.signature is not None
    assert found.signature.verdict == "trusted"
    assert found.job is not None
    assert "job.succeeded" in [event.kind for event in found.record]
    assert (other.ai_made, other.job, other.signature) == (False, None, None)
    assert uploaded == found


def test_a_service_knows_the_job_of_a_result_by_its_watermark_alone(
    secondface: World, service: Service, tmp_path: Path
) -> None:
    pair = ("-s", secondface.person_b, "-t", secondface.person_a, "-o", "out.png", "--json")
    told = secondface("run", *pair, **service.environment)
    assert told.code == 0, told.err
    with Image.open(tmp_path / "out.png") as picture:
        picture.convert("RGB").save(tmp_path / "stripped.jpg", quality=75)
    with Client(service.url, service.key) as client:
        found = client.verify(tmp_path / "stripped.jpg")
    assert found.layers is not None
    assert (found.layers.watermark, found.layers.metadata) == ("present", "absent")
    assert found.job == told.object["job"]["id"]
    assert "job.succeeded" in [event.kind for event in found.record]


@pytest.mark.parametrize(
    ("name", "signature", "watermark"),
    [
        ("out.png", "intact", "intact"),
        ("out.webp", "intact", "intact"),
        ("out.avif", "intact", "intact"),
        ("out.mp4", "intact", "intact"),
        ("out.mov", "intact", "intact"),
        ("out.mkv", "impossible", "intact"),
        ("out.webm", "impossible", "intact"),
    ],
)
def test_each_format_holds_every_layer_that_it_can(
    secondface: World, name: str, signature: str, watermark: str
) -> None:
    target = secondface.person_b if Path(name).suffix in {".png", ".webp", ".avif"} else secondface.clip
    told = secondface("run", "-s", secondface.person_a, "-t", target, "-o", name, "--json")
    assert told.code == 0, told.err
    layers = secondface("verify", name, "--json").object["layers"]
    assert layers["signature"] == signature
    assert layers["metadata"] == ("intact" if signature == "intact" else "present")
    assert layers["watermark"] == watermark
