"""Linux's Landlock: which files this process may ever open again, and that it may connect nowhere.

Decides nothing; knows the kernel's interface (linux/landlock.h) by way of ctypes. Needs no privilege.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION = 1
_PATH_BENEATH = 1
_READ = (1 << 0) | (1 << 2) | (1 << 3)
"""Execute a file (which libraries need), read a file, list a folder."""
_OF_FILES = (1 << 0) | (1 << 1) | (1 << 2)
_TRUNCATE = 1 << 14
_IOCTL_DEVICE = 1 << 15
_FIRST_RIGHTS = (1 << 13) - 1


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def landlock_version() -> int:
    """The kernel's Landlock version; 0 where it has none or it is switched off."""
    if not sys.platform.startswith("linux"):
        return 0
    return max(0, _system_call(_CREATE_RULESET, None, 0, _ASK_VERSION))


def restrict_files(readable: Sequence[Path] = (), writable: Sequence[Path] = ()) -> None:
    """From now on, open nothing but what lies at or below these paths, and (since version 4) use no TCP port.

    Takes effect on this thread and what it starts; cannot be undone. The thread must have set no_new_privs.
    Raises OSError.
    """
    with opened_rules(readable, writable) as rules:
        restrict_to(_checked(-errno.ENOSYS) if rules is None else rules)


@contextmanager
def opened_rules(
    readable: Sequence[Path] = (), writable: Sequence[Path] = (), devices: Sequence[Path] = ()
) -> Generator[int | None]:
    """A handle of the rules of restrict_files(), for a process that is about to lose its right to open those paths.

    `devices` may be spoken to as well. None where the kernel has no Landlock. Raises OSError.
    """
    version = landlock_version()
    if not version:
        yield None
        return
    rights = _file_rights(version)
    ruleset = _Ruleset(rights, 0b11 if version >= 4 else 0, 0b11 if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    handle = _checked(_system_call(_CREATE_RULESET, ctypes.byref(ruleset), size, 0))
    try:
        for path in readable:
            _allow(handle, path, _READ & rights)
        for path in writable:
            _allow(handle, path, rights & ~_IOCTL_DEVICE)
        for path in devices:
            _allow(handle, path, rights & (_OF_FILES | _IOCTL_DEVICE))
        yield handle
    finally:
        os.close(handle)


def restrict_to(handle: int) -> None:
    """Put the rules of opened_rules() on this thread, for good. Raises OSError."""
    _checked(_system_call(_RESTRICT_SELF, handle, 0))


def _file_rights(version: int) -> int:
    """All rights that this version can take away; each later one adds a bit."""
    added = {2: 1 << 13, 3: _TRUNCATE, 5: _IOCTL_DEVICE}
    return _FIRST_RIGHTS | sum(bit for since, bit in added.items() if version >= since)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _OF_FILES | _TRUNCATE | _IOCTL_DEVICE
        rule = _PathBeneath(rights, descriptor)
        _checked(_system_call(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0))
    finally:
        os.close(descriptor)


def _system_call(number: int, *arguments: object) -> int:
    """The call's result, or minus errno."""
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    plain = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    result = library.syscall(ctypes.c_long(number), *plain)
    return -ctypes.get_errno() if result < 0 else int(result)


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(-result, os.strerror(-result))
    return result
