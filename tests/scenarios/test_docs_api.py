"""The guide to the API does what it says: every block of it runs, in order, against a real service."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from tests.scenarios.conftest import SAMPLE, Service, plain_environment

PAGE = Path(__file__).parents[2] / "docs" / "how" / "api.md"


def blocks(language: str) -> list[str]:
    """The code of the page in one language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files that the page speaks of."""
    shutil.copy(SAMPLE / "clip.mp4", tmp_path / "clip.mp4")
    for name, sample in (("me.jpg", "person_a.jpg"), ("photo.jpg", "person_b.jpg")):
        with Image.open(SAMPLE / sample) as picture:
            picture.resize((384, 384)).save(tmp_path / name)
    return tmp_path


def environment(folder: Path, service: Service) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return plain_environment(folder) | service.environment | {"PATH": path}


def test_every_block_is_run_here() -> None:
    kinds = re.findall(r"^```(\w*)$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert set(kinds) == {"bash", "python", ""}
    assert kinds.count("") * 2 == len(kinds)


@pytest.mark.slow
@pytest.mark.skipif(
    not (shutil.which("curl") and shutil.which("jq")), reason="curl or jq is not installed: apt-get install curl jq"
)
def test_the_blocks_for_a_shell(folder: Path, service: Service) -> None:
    command = f'secondface() {{ "{sys.executable}" -m secondface "$@"; }}'
    script = "\n".join(["set -euo pipefail", command, *blocks("bash")])
    ran = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment(folder, service), capture_output=True, text=True,
        timeout=240, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"
    said = (
        "upper_micros",
        "job.accepted",
        "job.succeeded",
        "device_worked",
        "device s x",
        "wallet",
        "Usage of 31 days",
    )
    assert [words for words in said if words not in ran.stdout] == []
    with Image.open(folder / "out.png") as picture:
        assert (picture.format, picture.size) == ("PNG", (384, 384))
    assert {(folder / name).stat().st_size > 10_000 for name in ("out.mp4", "cli.mp4")} == {True}
    assert '"state": "succeeded"' in ran.stdout, "an equal request has its result at once"
    assert list(folder.glob("*.part")) == []


@pytest.mark.slow
def test_the_blocks_for_python(folder: Path, service: Service) -> None:
    (folder / "page.py").write_text("\n".join(blocks("python")), "utf-8")
    ran = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning", "page.py"], cwd=folder, env=environment(folder, service),
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"
    assert "job.succeeded" in ran.stdout
    assert "invalid_option" in ran.stdout
    assert "['succeeded', 'succeeded']" in ran.stdout
    with Image.open(folder / "swapped.jpg") as picture:
        assert (picture.format, picture.size) == ("JPEG", (384, 384))
    assert (folder / "python.mp4").stat().st_size > 10_000
