"""The cage: what a process may still do once it reads bytes that a stranger made.

Decides the limits and their order, and says which of them are in force. A process enters its cage by itself, once,
and never leaves it; `caged_process` starts such processes, a worker enters with the folders of its job.
Must not know media; uses the standard library alone, so that it can be entered before anything else is loaded.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from secondface.errors import CageUnavailable
from secondface.media.landlock import landlock_version, opened_rules, restrict_to
from secondface.media.syscall_filter import DEATH_SIGNAL, allow_decoding, filter_reason, forbid_escapes, process_control

_NOBODY = 65534
_DUMPABLE, _NO_NEW_PRIVILEGES = 4, 38
_MIB = 2**20


@dataclass(frozen=True, slots=True)
class Cage:
    """How much a caged process may use. Without folders it can open no path at all, only use what it was handed."""

    memory_bytes: int = 1024 * _MIB
    """Address space beyond what the process has when it enters."""
    cpu_s: int = 5
    wall_s: float = 10.0
    """Kept by whoever starts the process."""
    output_bytes: int = 0
    """Length of any one file that is written."""
    open_files: int = 64
    readable: tuple[Path, ...] = field(default=())
    writable: tuple[Path, ...] = field(default=())
    devices: tuple[Path, ...] = field(default=())
    """Device nodes that may be used, not merely read."""
    home: Path | None = None
    """Where the process stands, so that relative paths work below folders that it may not pass. With one, root becomes
    nobody also where there are folders; they must let nobody in."""

    @property
    def is_closed(self) -> bool:
        """Whether no path can be opened inside."""
        return not self.readable and not self.writable and not self.devices

    def words(self) -> dict[str, Any]:
        """All of this as JSON values."""
        return {
            "memory_bytes": self.memory_bytes, "cpu_s": self.cpu_s, "wall_s": self.wall_s,
            "output_bytes": self.output_bytes, "open_files": self.open_files,
            "readable": [str(path) for path in self.readable], "writable": [str(path) for path in self.writable],
            "devices": [str(path) for path in self.devices],
            "home": None if self.home is None else str(self.home),
        }  # fmt: skip

    @staticmethod
    def of_words(words: Mapping[str, Any]) -> Cage:
        """The cage that words() told of."""
        paths: dict[str, Any] = {name: tuple(map(Path, words[name])) for name in ("readable", "writable", "devices")}
        paths["home"] = None if words["home"] is None else Path(words["home"])
        return Cage(**{**words, **paths})


@dataclass(frozen=True, slots=True)
class Protection:
    """One thing that keeps hostile bytes in: its name, whether it is in force, and what it does or why it is not."""

    name: str
    active: bool
    detail: str


def protections() -> tuple[Protection, ...]:
    """What a caged process on this machine is held by, in the order in which it is put on."""
    if not can_cage():
        return (Protection("cage", False, detail="files are read in this process: only Linux can cage a process"),)
    version, reason = landlock_version(), filter_reason()
    root = os.geteuid() == 0
    return (
        Protection("process", True, detail="each file is looked at in a process of its own"),
        Protection("user", True, detail="runs as nobody" if root else "runs as this user, without new privileges"),
        Protection("rlimits", True, detail="memory, CPU time, open files and output are limited"),
        Protection(
            "Landlock", version > 0,
            detail=f"version {version}: no path can be opened" if version else "the kernel has none; seccomp has to do",
        ),
        Protection("seccomp", reason is None, detail=reason or "no socket, no program, no other process, no path"),
    )  # fmt: skip


def can_cage() -> bool:
    """Whether this system can put a process into a cage."""
    return sys.platform.startswith("linux")


def worker_cage_reason() -> str | None:
    """Why no process can be left some folders and no others on this machine, or None when one can."""
    if not can_cage():
        return "only Linux can cage a process"
    if not landlock_version():
        return "the kernel has no Landlock, or it is switched off"
    return filter_reason()


def enter(cage: Cage) -> None:
    """Give up, for good, all that decoding does not need. For a process with one thread.

    Raises CageUnavailable when folders are to be kept apart and the kernel has no Landlock, and OSError.
    """
    if not cage.is_closed and not landlock_version():
        raise CageUnavailable("Landlock is needed to leave a process some folders and no others.")
    if cage.home is not None:
        os.chdir(cage.home)
    with opened_rules(cage.readable, cage.writable, cage.devices) as rules:
        _be_first_to_die()
        if cage.is_closed or cage.home is not None:
            _become_nobody()
        _confine(cage, rules)


def _confine(cage: Cage, rules: int | None) -> None:
    _set_limits(cage)
    # after the change of user, which takes both back
    process_control(DEATH_SIGNAL, signal.SIGKILL)
    process_control(_DUMPABLE, 0)
    if process_control(_NO_NEW_PRIVILEGES, 1) < 0:
        raise CageUnavailable("The kernel cannot take privileges away for good.")
    if rules is not None:
        restrict_to(rules)
    if filter_reason() is None:
        allow_decoding() if cage.is_closed else forbid_escapes()


def nobody() -> int | None:
    """Whom a caged process of root becomes; None for other users, who stay who they are."""
    return _NOBODY if os.geteuid() == 0 else None


def _become_nobody() -> None:
    """Root's other powers go too; where the number is not mapped (some containers) the filters have to do."""
    if os.geteuid() != 0:
        return
    with suppress(OSError):
        os.setgroups([])
        os.setresgid(_NOBODY, _NOBODY, _NOBODY)
        os.setresuid(_NOBODY, _NOBODY, _NOBODY)


def _be_first_to_die() -> None:
    """When memory runs out the kernel looks for somebody, who should not be the one that keeps the books."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("500", "ascii")


def _set_limits(cage: Cage) -> None:
    pages = int(Path("/proc/self/statm").read_bytes().split()[0])
    memory = pages * resource.getpagesize() + cage.memory_bytes
    # at the soft limit the kernel asks by SIGXCPU, at the hard one it kills
    _lower(resource.RLIMIT_CPU, cage.cpu_s, cage.cpu_s + 1)
    _lower(resource.RLIMIT_AS, memory)
    _lower(resource.RLIMIT_FSIZE, cage.output_bytes)
    _lower(resource.RLIMIT_NOFILE, cage.open_files)
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_MEMLOCK, 0)
    if filter_reason() is not None:
        # the filter would let threads be and stop processes; this stops both
        _lower(resource.RLIMIT_NPROC, 0)


def _lower(kind: int, soft: int, hard: int | None = None) -> None:
    """Set a limit, never above the one that is in force already."""
    ceiling = resource.getrlimit(kind)[1]
    wanted = soft if hard is None else hard
    top = wanted if ceiling == resource.RLIM_INFINITY else min(wanted, ceiling)
    resource.setrlimit(kind, (min(soft, top), top))
