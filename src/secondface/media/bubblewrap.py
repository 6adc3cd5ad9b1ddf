"""Bubblewrap: a program that starts another one in a system of its own, where most files and the network do not exist.

Decides what is left in that system, and finds out by trying whether this machine lets anybody make one. Must not know
what is started; Landlock and the filter of `cage` hold inside of it as well.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

_PROGRAM = "bwrap"
_SYSTEM = ("/usr", "/bin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/alternatives")
_TRIAL_S = 10.0


def library_folders() -> tuple[Path, ...]:
    """Where this Python, its packages and the system's libraries lie; none of them holds anybody's data."""
    paths = sysconfig.get_paths()
    names = [
        str(Path(__file__).parents[1]), *(paths[each] for each in ("stdlib", "platstdlib", "purelib", "platlib")),
        f"{sys.base_prefix}/lib", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64",
    ]  # fmt: skip
    return tuple(path for path in dict.fromkeys(map(Path, names)) if path.is_dir())


def walls(
    program: str, *, readable: Sequence[Path] = (), writable: Sequence[Path] = (), devices: Sequence[Path] = ()
) -> tuple[str, ...]:  # fmt: skip
    """A command that starts what follows it with the system, these paths, and nothing else; without a network."""
    words = [
        program, "--unshare-ipc", "--unshare-uts", "--unshare-net", "--unshare-pid", "--unshare-cgroup-try",
        "--new-session", "--proc", "/proc", "--dev", "/dev", "--chdir", "/",
    ]  # fmt: skip
    if os.geteuid() != 0:
        words.append("--unshare-user")
    seen = [*_SYSTEM, sys.prefix, sys.base_prefix, *map(str, readable)]
    # bubblewrap would make the folders above them for the one user alone who starts it
    above = {str(parent): None for path in (*seen, *map(str, writable)) for parent in reversed(Path(path).parents[:-1])}
    for path in above:
        words += ["--perms", "0755", "--dir", path]
    for path in seen:
        words += ["--ro-bind-try", path, path]
    for path in map(str, writable):
        words += ["--bind", path, path]
    for path in map(str, devices):
        words += ["--dev-bind-try", path, path]
    return tuple(words)


def bubblewrap_program() -> str | None:
    """The program, where it is installed and works."""
    return shutil.which(_PROGRAM) if bubblewrap_reason() is None else None


@lru_cache(maxsize=1)
def bubblewrap_reason() -> str | None:
    """Why bubblewrap builds no walls on this machine, or None when it does: it was tried."""
    program = shutil.which(_PROGRAM) if sys.platform.startswith("linux") else None
    if program is None:
        return "bubblewrap is not installed"
    try:
        done = subprocess.run(
            [*walls(program), sys.executable, "-I", "-S", "-c", ""], stdin=subprocess.DEVNULL, capture_output=True,
            timeout=_TRIAL_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as cause:
        return f"bubblewrap was tried: {type(cause).__name__}"
    if done.returncode == 0:
        return None
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return f"bubblewrap was tried: {said[-1] if said else done.returncode}"
