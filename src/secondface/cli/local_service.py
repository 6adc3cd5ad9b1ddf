"""A service of one's own for as long as a command needs it: `secondface serve` in a process, its data in a folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from secondface.settings import CONFIG_VARIABLE, ENV_PREFIX, Settings

_STOP_S = 30
_KEPT = (
    "lang", "device", "device_id", "device_memory_mb", "reduced_precision", "threads", "cache_dir", "content_producer",
    "tier", "market", "timestamp_server", "log_file", "moderation_url", "moderation_secret_file",
    "moderation_timeout_ms", "moderation_when_away",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LocalService:
    """Where it is, and the operator's key of its first start."""

    url: str
    key: str


@contextmanager
def local_service(settings: Settings) -> Generator[LocalService]:
    """A fresh service with one worker; nothing of it is left afterwards. Raises ServiceUnreachable."""
    from secondface.sdk import ServiceUnreachable

    with tempfile.TemporaryDirectory(prefix="secondface-") as name, (Path(name) / "stderr").open("w+") as complaints:
        process = subprocess.Popen(
            [sys.executable, "-m", "secondface", "serve", "--port", "0", "--json"],
            env=_environment(settings, Path(name)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=complaints,
            text=True,
        )  # fmt: skip
        try:
            assert process.stdout is not None
            told = process.stdout.readline()
            if not told:
                complaints.seek(0)
                raise ServiceUnreachable(complaints.read().strip())
            said = json.loads(told)
            yield LocalService(said["url"], said["key"])
        finally:
            _end(process)


def _environment(settings: Settings, folder: Path) -> dict[str, str]:
    """Settings of this machine for the device, the engine and the key; none of a service that the operator runs."""
    from secondface.compose.signing import key_files

    config = folder / "config.toml"
    config.touch()
    others = {name: value for name, value in os.environ.items() if not name.startswith(ENV_PREFIX)}
    values = {name: str(getattr(settings, name)) for name in _KEPT} | key_files(settings)
    ours = {"data_dir": str(folder), "workers_least": "1", "workers_most": "1", "worker_grace_s": "0"}
    told = {ENV_PREFIX + name.upper(): value for name, value in (values | ours).items()}
    return others | told | {CONFIG_VARIABLE: str(config)}


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.communicate(timeout=_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
