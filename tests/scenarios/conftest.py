"""The real command, in a process of its own, on the bundled sample of people who do not exist."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.sample_media import MEDIA, NO_MEDIA

SAMPLE = Path(str(files("secondface.cli") / "sample"))


@dataclass(frozen=True)
class Told:
    """How a call of the command ended."""

    code: int
    out: str
    err: str

    @property
    def object(self) -> dict[str, Any]:
        """What --json printed."""
        return json.loads(self.out)


@dataclass(frozen=True)
class World:
    """A folder to work in, and the command."""

    folder: Path
    environment: dict[str, str]
    started: list[subprocess.Popen[str]] = field(default_factory=list[subprocess.Popen[str]])
    """Those that a test started, which end with it."""

    person_a = SAMPLE / "person_a.jpg"
    person_b = SAMPLE / "person_b.jpg"
    clip = SAMPLE / "clip.mp4"

    def __call__(self, *arguments: str | Path, **environment: str) -> Told:
        done = subprocess.run(
            self.command(*arguments), cwd=self.folder, env=self.environment | environment, capture_output=True,
            text=True, timeout=120, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        return Told(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        self.started.append(
            subprocess.Popen(
                self.command(*arguments), cwd=self.folder, env=self.environment, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
            )
        )  # fmt: skip
        return self.started[-1]

    @staticmethod
    def command(*arguments: str | Path) -> list[str]:
        return [sys.executable, "-m", "secondface", *map(str, arguments)]

    def files(self) -> set[str]:
        """Names of what lies in the folder, the log apart."""
        return {path.name for path in self.folder.iterdir()} - {"log"}


@pytest.fixture
def secondface(tmp_path: Path) -> Iterator[World]:
    """The command in an empty folder, in English, with none of this machine's settings."""
    world = World(tmp_path, plain_environment(tmp_path))
    yield world
    for process in world.started:
        with process:
            process.kill()


def plain_environment(folder: Path) -> dict[str, str]:
    """This process's environment without settings of ours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SECONDFACE_")}
    return kept | {
        "LANGUAGE": "en",
        "LC_ALL": "C.UTF-8",
        "PYTHONFAULTHANDLER": "1",  # so that a process that hangs can be asked where, by SIGABRT
        "XDG_CONFIG_HOME": str(folder / "none"),
        "SECONDFACE_LOG_FILE": str(folder / "log" / "log.txt"),
    }


@dataclass(frozen=True)
class Service:
    """A service in processes of its own, with one warm worker, on a free port of this machine."""

    url: str
    key: str
    folder: Path
    """Its data."""

    @property
    def environment(self) -> dict[str, str]:
        """How a command finds it."""
        return {"SECONDFACE_SERVER": self.url, "SECONDFACE_API_KEY": self.key}


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One for all scenarios of a session: they share its account."""
    folder = tmp_path_factory.mktemp("service")
    environment = plain_environment(folder) | {
        "SECONDFACE_DATA_DIR": str(folder / "data"), "SECONDFACE_WORKERS_LEAST": "1", "SECONDFACE_WORKERS_MOST": "1",
    }  # fmt: skip
    with (folder / "stderr").open("w") as said:
        running = subprocess.Popen(
            World.command("serve", "--port", "0", "--json"), env=environment, stdout=subprocess.PIPE, stderr=said,
            text=True,
        )  # fmt: skip
        try:
            assert running.stdout is not None
            told = json.loads(running.stdout.readline())
            yield Service(told["url"], told["key"], folder / "data")
            assert running.poll() is None, (folder / "stderr").read_text("utf-8")
        finally:
            running.send_signal(signal.SIGTERM)
            running.communicate(timeout=60)


@pytest.fixture
def shared() -> Callable[[str], Path]:
    """Media of ../shared, for what the bundled sample cannot show."""

    def find(name: str) -> Path:
        if not MEDIA.is_dir():
            pytest.skip(NO_MEDIA)
        return MEDIA / name

    return find
