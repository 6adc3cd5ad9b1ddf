"""What hostile code would try from inside the cage. Runs there, as the task of a CagedTask."""

from __future__ import annotations

import ctypes
import mmap
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from secondface.media.caged_process import Given

LIBRARY = ctypes.CDLL(None, use_errno=True)
Escape = Callable[[Any], object]


def system_call(*numbers: int) -> int:
    result = LIBRARY.syscall(*(ctypes.c_long(number) for number in numbers))
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result


def _connect(kind: int, address: tuple[str, int]) -> None:
    with socket.socket(socket.AF_INET, kind) as made:
        made.connect(address)


def _fork() -> None:
    if os.fork() == 0:
        os._exit(0)


def _executable_memory() -> None:
    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)


def _inherited() -> list[int]:
    found: list[int] = []
    for number in range(3, 512):
        try:
            os.fstat(number)
        except OSError:
            continue
        found.append(number)
    return found


FILES: dict[str, Escape] = {
    "open another file": lambda secret: os.open(secret, os.O_RDONLY),
    "read it through Python": lambda secret: Path(secret).read_bytes(),
    "open it by openat2": lambda secret: system_call(437, -100, 0, 0, 0),
    "make a file": lambda secret: os.open(secret + ".new", os.O_CREAT | os.O_WRONLY),
    "make a folder": lambda secret: Path(secret + ".folder").mkdir(),
    "remove a file": lambda secret: Path(secret).unlink(),
    "list a folder": lambda secret: list(Path("/").iterdir()),
    "see a file's size": lambda secret: Path(secret).stat(),
    "read its parent's variables": lambda secret: Path(f"/proc/{os.getppid()}/environ").read_bytes(),
    "open the terminal": lambda secret: os.open("/dev/tty", os.O_RDWR),
    "load a library": lambda secret: ctypes.CDLL("libresolv.so.2"),
    "truncate a file": lambda secret: os.truncate(secret, 0),
}
NETWORK: dict[str, Escape] = {
    "a TCP socket": lambda port: _connect(socket.SOCK_STREAM, ("127.0.0.1", port)),
    "a UDP socket": lambda port: _connect(socket.SOCK_DGRAM, ("127.0.0.1", port)),
    "a Unix socket": lambda port: socket.socket(socket.AF_UNIX),
    "a pair of sockets": lambda port: socket.socketpair(),
    "a raw socket": lambda port: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1),
}
PROCESSES: dict[str, Escape] = {
    "fork": lambda _: _fork(),
    "start a program": lambda _: subprocess.run([sys.executable, "-c", ""], check=True),
    "spawn a program": lambda _: os.posix_spawn("/bin/true", ["true"], {}),
    "become a program": lambda _: os.execv("/bin/true", ["true"]),
    "clone3": lambda _: system_call(435, 0, 0),
    "signal its parent": lambda _: os.kill(os.getppid(), 0),
    "trace its parent": lambda _: system_call(101, 16, os.getppid(), 0, 0),
    "a ring of system calls": lambda _: system_call(425, 8, 0),
    "a name space": lambda _: system_call(272, 0x10000000),
}
POWERS: dict[str, Escape] = {
    "memory that can be executed": lambda _: _executable_memory(),
    "a higher limit": lambda _: resource.setrlimit(resource.RLIMIT_CPU, (60, 60)),
    "another user": lambda _: os.setresuid(0, 0, 0),
    "two gigabytes": lambda _: bytearray(2 << 30),
    "an alarm of its own": lambda _: signal.setitimer(signal.ITIMER_REAL, 100),
}


def attempt(given: Given) -> Iterator[object]:
    """`[name, what happened]` for every escape; the argument is a file's path and a port that listens."""
    secret, port = given.argument["secret"], given.argument["port"]
    for group, argument in ((FILES, secret), (NETWORK, port), (PROCESSES, None), (POWERS, None)):
        for name, escape in group.items():
            yield [name, _outcome(escape, argument)]
    yield ["descriptors", _inherited()]
    yield ["variables", sorted(os.environ)]
    yield ["user", os.getuid()]
    yield ["handed", os.pread(4, 100, 0).decode()]


def _outcome(escape: Escape, argument: object) -> str:
    try:
        escape(argument)
    except (OSError, MemoryError, ValueError) as cause:
        return type(cause).__name__
    return "escaped"


def misbehave(given: Given) -> Iterator[object]:
    """Ends, hangs or chatters as the argument says."""
    match given.argument:
        case "crash":
            ctypes.string_at(0)
        case "exit":
            os._exit(7)
        case "spin":
            while True:
                pass
        case "sleep":
            time.sleep(60)
        case "chatter":
            while True:
                yield "x" * 10_000
        case "nonsense":
            os.write(3, b"\xff\x00{[" * 100 + b"\n")
        case "lie":
            yield {"info": {"kind": "video", "format_name": "\x1b[2J", "width": "wide"}}
        case "raise":
            raise ZeroDivisionError("inside")
        case "eat":
            hoard = bytearray(1)
            while True:
                hoard += bytes(1 << 24)
        case _:
            yield given.argument
