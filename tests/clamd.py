"""A clamd of the tests' own: the limits of the example that is shipped, one signature made here, and no download."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

INSTALL = "clamd is not installed: apt-get install clamav-daemon"
EXAMPLE = Path(__file__).resolve().parents[1] / "deploy" / "clamav" / "clamd.conf"
EICAR = rb"X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"
"""The text by which scanners are tried out everywhere; it does nothing."""
NAME = "Eicar-Test.UNOFFICIAL"
_PLACES = ("LocalSocket", "LocalSocketGroup", "DatabaseDirectory", "User", "LogFile", "TemporaryDirectory")


@dataclass(frozen=True)
class Running:
    """A clamd that answers."""

    port: int
    socket: str
    process: subprocess.Popen[bytes]

    @property
    def address(self) -> str:
        """As the setting names it."""
        return f"127.0.0.1:{self.port}"


def require_clamd() -> str:
    """The program; skips the test where it is not."""
    found = shutil.which("clamd") or next((path for path in ("/usr/sbin/clamd",) if Path(path).exists()), None)
    if found is None:
        pytest.skip(INSTALL)
    return found


@contextmanager
def clamd(limits: Mapping[str, str] | None = None, signature: bytes = EICAR) -> Generator[Running]:
    """Start clamd with the shipped example and other limits where some are given; ended with the block."""
    program = require_clamd()
    folder = Path(tempfile.mkdtemp(prefix="secondface-clamd-"))
    try:
        port, process = _started(program, folder, limits or {}, signature)
        try:
            _wait(port, process, folder)
            yield Running(port, str(folder / "clamd.ctl"), process)
        finally:
            process.kill()
            process.wait(30)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def configured(folder: Path, port: int, limits: Mapping[str, str]) -> str:
    """The example with places in a folder of ours."""
    kept = [
        line
        for line in EXAMPLE.read_text().splitlines()
        if line and not line.startswith("#") and line.split()[0] not in (*_PLACES, *limits)
    ]
    places = {
        "Foreground": "yes", "LocalSocket": f"{folder}/clamd.ctl", "TCPSocket": str(port), "TCPAddr": "127.0.0.1",
        "DatabaseDirectory": f"{folder}/signatures", "TemporaryDirectory": str(folder), "LogFile": f"{folder}/log",
    }  # fmt: skip
    return "\n".join([*kept, *(f"{name} {value}" for name, value in {**places, **limits}.items()), ""])


def _started(
    program: str, folder: Path, limits: Mapping[str, str], signature: bytes
) -> tuple[int, subprocess.Popen[bytes]]:
    signatures = folder / "signatures"
    signatures.mkdir()
    (signatures / "own.ndb").write_text(f"Eicar-Test:0:*:{signature.hex()}\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = folder / "clamd.conf"
    settings.write_text(configured(folder, port, limits))
    with (folder / "output").open("wb") as output:
        environment = {**os.environ, "LC_ALL": "C"}
        return port, subprocess.Popen([program, "-c", str(settings)], stdout=output, stderr=output, env=environment)


def _wait(port: int, process: subprocess.Popen[bytes], folder: Path) -> None:
    until = time.monotonic() + 60
    while True:
        assert process.poll() is None, (folder / "output").read_text()
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=2) as asked:
                asked.sendall(b"nPING\n")
                if asked.recv(16) == b"PONG\n":
                    return
        except OSError:
            pass
        assert time.monotonic() < until, "clamd does not answer"
        time.sleep(0.05)
