"""A PostgreSQL of the tests' own, on a free port of the loopback interface, gone when they end."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psycopg

INSTALL = "PostgreSQL is not installed: apt-get install postgresql"


def binaries() -> Path | None:
    """Where initdb and postgres are: on the path, or in Debian's place for servers."""
    found = shutil.which("initdb")
    places = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((place for place in places if (place / "initdb").exists() and (place / "postgres").exists()), None)


@contextmanager
def running() -> Generator[str, None, None]:
    """Start a server and give the URL of its database; stop it at the end."""
    place = binaries()
    assert place is not None, INSTALL
    folder = Path(tempfile.mkdtemp(prefix="secondface-pg-"))
    try:
        user = _unprivileged(folder)
        data = folder / "data"
        options = ["-D", str(data), "-A", "trust", "-U", "app", "--no-sync", "-E", "UTF8", "--locale=C"]
        subprocess.run([place / "initdb", *options], check=True, capture_output=True, cwd=folder, user=user)
        port = _free_port()
        settings = ("listen_addresses=127.0.0.1", f"unix_socket_directories={data}", "fsync=off", "max_connections=60")
        command = [str(place / "postgres"), "-D", str(data), "-p", str(port)]
        command += [word for setting in settings for word in ("-c", setting)]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, user=user)
        try:
            _wait(f"host=127.0.0.1 port={port} user=app dbname=postgres", server)
            yield f"postgresql://app@127.0.0.1:{port}/postgres"
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(150)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unprivileged(folder: Path) -> int | None:
    """The user that the server runs as: PostgreSQL refuses to be root."""
    if os.geteuid() != 0:
        return None
    user = pwd.getpwnam("postgres")
    os.chown(folder, user.pw_uid, user.pw_gid)
    return user.pw_uid


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def _wait(where: str, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 150
    while True:
        try:
            psycopg.connect(where, connect_timeout=2).close()
        except psycopg.OperationalError:
            assert server.poll() is None, "PostgreSQL ended at its start"
            assert time.monotonic() < until, "PostgreSQL does not answer"
            time.sleep(0.05)
        else:
            return
