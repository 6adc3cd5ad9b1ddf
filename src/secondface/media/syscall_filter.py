"""Linux's seccomp: which system calls this process may still make.

Decides what decoding needs (memory, threads, the descriptors that are open) and what nothing here needs (sockets,
programs, other processes); builds the filter program by hand, after linux/filter.h and linux/seccomp.h.
Must not know media.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

_SET_SECCOMP, _MODE_FILTER = 22, 2
_LOAD, _AND, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
_X32 = 0x40000000
"""From here on x86-64 numbers mean the calls of another ABI."""


@dataclass(frozen=True, slots=True)
class Condition:
    """The low (or high) 32 bits of argument `index`, cut by `mask`, must equal `value`."""

    index: int
    value: int
    mask: int = 0xFFFFFFFF
    high: bool = False


@dataclass(frozen=True, slots=True)
class _Machine:
    audit: int
    numbers: Mapping[str, int]


_X86_64 = _Machine(0xC000003E, {
    "read": 0, "write": 1, "close": 3, "fstat": 5, "poll": 7, "lseek": 8, "mmap": 9, "mprotect": 10, "munmap": 11,
    "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15, "pread64": 17, "readv": 19, "writev": 20,
    "sched_yield": 24, "mremap": 25, "madvise": 28, "dup": 32, "nanosleep": 35, "getpid": 39, "socket": 41,
    "connect": 42, "accept": 43, "sendto": 44, "sendmsg": 46, "bind": 49, "listen": 50, "socketpair": 53, "clone": 56,
    "fork": 57, "vfork": 58, "execve": 59, "exit": 60, "kill": 62, "fcntl": 72, "getrusage": 98, "ptrace": 101,
    "getuid": 102, "getgid": 104, "geteuid": 107, "getegid": 108, "sigaltstack": 131, "pivot_root": 155, "prctl": 157,
    "chroot": 161, "mount": 165, "umount2": 166, "gettid": 186, "tkill": 200, "futex": 202, "sched_getaffinity": 204,
    "set_tid_address": 218, "restart_syscall": 219, "clock_gettime": 228, "clock_getres": 229, "clock_nanosleep": 230,
    "exit_group": 231, "tgkill": 234, "add_key": 248, "request_key": 249, "keyctl": 250, "newfstatat": 262,
    "unshare": 272, "set_robust_list": 273, "accept4": 288, "perf_event_open": 298, "prlimit64": 302, "setns": 308,
    "sendmmsg": 307, "getcpu": 309, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "getrandom": 318,
    "bpf": 321, "execveat": 322, "userfaultfd": 323, "rseq": 334, "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297,
})  # fmt: skip
_AARCH64 = _Machine(0xC00000B7, {
    "read": 63, "write": 64, "close": 57, "fstat": 80, "poll": 73, "lseek": 62, "mmap": 222, "mprotect": 226,
    "munmap": 215, "brk": 214, "rt_sigaction": 134, "rt_sigprocmask": 135, "rt_sigreturn": 139, "pread64": 67,
    "readv": 65, "writev": 66, "sched_yield": 124, "mremap": 216, "madvise": 233, "dup": 23, "nanosleep": 101,
    "getpid": 172, "socket": 198, "connect": 203, "accept": 202, "sendto": 206, "sendmsg": 211, "bind": 200,
    "listen": 201, "socketpair": 199, "clone": 220, "execve": 221, "exit": 93, "kill": 129, "fcntl": 25,
    "getrusage": 165, "ptrace": 117, "getuid": 174, "getgid": 176, "geteuid": 175, "getegid": 177, "sigaltstack": 132,
    "pivot_root": 41, "prctl": 167, "chroot": 51, "mount": 40, "umount2": 39, "gettid": 178, "tkill": 130,
    "futex": 98, "sched_getaffinity": 123, "set_tid_address": 96, "restart_syscall": 128, "clock_gettime": 113,
    "clock_getres": 114, "clock_nanosleep": 115, "exit_group": 94, "tgkill": 131, "add_key": 217, "request_key": 218,
    "keyctl": 219, "newfstatat": 79, "unshare": 97, "set_robust_list": 99, "accept4": 242, "perf_event_open": 241,
    "prlimit64": 261, "setns": 268, "sendmmsg": 269, "getcpu": 168, "process_vm_readv": 270,
    "process_vm_writev": 271, "kcmp": 272, "getrandom": 278, "bpf": 280, "execveat": 281, "userfaultfd": 282,
    "rseq": 293, "rt_sigqueueinfo": 138, "rt_tgsigqueueinfo": 240,
})  # fmt: skip
_MACHINES = {"x86_64": _X86_64, "aarch64": _AARCH64}
_SAME_EVERYWHERE = {
    "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428,
    "move_mount": 429, "fsopen": 430, "fsmount": 432, "pidfd_open": 434, "clone3": 435, "pidfd_getfd": 438,
    "mount_setattr": 442,
}  # fmt: skip

_THREAD = Condition(0, 0x10000, mask=0x10000)
_NOT_EXECUTABLE = Condition(2, 0, mask=4)
DEATH_SIGNAL = 1
"""Option of prctl(): what comes when the parent dies. Who unset it would outlive whoever started it."""


def filter_reason() -> str | None:
    """Why no filter can be set on this machine, or None when one can."""
    if not sys.platform.startswith("linux"):
        return "not a Linux system"
    if platform.machine() not in _MACHINES or sys.maxsize < 2**32:
        return f"no table of system calls for {platform.machine()}"
    return None if process_control(21) >= 0 else "the kernel has no seccomp"


def allow_decoding() -> None:
    """From now on nothing but computing on the memory and the open descriptors; all other calls fail with EPERM.

    No path can be opened, no socket made, no program or process started, no memory made executable.
    The process must have set no_new_privs and have one thread. Raises OSError.
    """
    plain = (
        "read", "write", "close", "fstat", "poll", "lseek", "munmap", "brk", "rt_sigaction", "rt_sigprocmask",
        "rt_sigreturn", "pread64", "readv", "writev", "sched_yield", "mremap", "madvise", "dup", "nanosleep", "getpid",
        "exit", "fcntl", "getrusage", "getuid", "getgid", "geteuid", "getegid", "sigaltstack", "gettid", "futex",
        "sched_getaffinity", "set_tid_address", "restart_syscall", "clock_gettime", "clock_getres", "clock_nanosleep",
        "exit_group", "set_robust_list", "getcpu", "getrandom", "rseq",
    )  # fmt: skip
    rules: dict[str, Sequence[Condition]] = dict.fromkeys(plain, ())
    rules |= {
        "mmap": (_NOT_EXECUTABLE,), "mprotect": (_NOT_EXECUTABLE,), "clone": (_THREAD,),
        # abort() and raise() signal the process itself
        "tgkill": (Condition(0, os.getpid()),),
        # what fstat() is made of; no look at a path by the plain calls
        "newfstatat": (Condition(3, 0x1000, mask=0x1000),),
        # a limit is read, not set
        "prlimit64": (Condition(0, 0), Condition(2, 0), Condition(2, 0, high=True)),
        # a thread's name
        "prctl": (Condition(0, 15),),
    }  # fmt: skip
    machine = _machine()
    body = [step for name, conditions in rules.items() for step in _rule(machine, name, conditions)]
    _install(machine, [*body, *_end(_FAIL | errno.EPERM)])


def forbid_escapes() -> None:
    """From now on no socket, program or other process; files are left to Landlock. For a process that also writes.

    The process must have set no_new_privs and have one thread. Raises OSError.
    """
    forbidden = (
        "socket", "connect", "accept", "accept4", "bind", "listen", "sendto", "sendmsg", "sendmmsg", "fork", "vfork",
        "execve", "execveat", "kill", "tkill", "pidfd_send_signal", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "ptrace",
        "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_open", "pidfd_getfd", "pivot_root", "chroot", "mount",
        "umount2", "open_tree", "move_mount", "fsopen", "fsmount", "mount_setattr", "unshare", "setns", "add_key",
        "request_key", "keyctl", "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter",
        "io_uring_register",
    )  # fmt: skip
    machine = _machine()
    known = [name for name in forbidden if name in machine.numbers or name in _SAME_EVERYWHERE]
    body = [step for name in known for step in _refusal(_number(machine, name))]
    body += _rule(machine, "clone", (_THREAD,)) + _rule(machine, "tgkill", (Condition(0, os.getpid()),))
    body += _refusal_of_option(_number(machine, "prctl"), DEATH_SIGNAL)
    _install(machine, [*body, *_end(_ALLOW)])


def _machine() -> _Machine:
    reason = filter_reason()
    if reason is not None:
        raise OSError(errno.ENOSYS, reason)
    return _MACHINES[platform.machine()]


def _number(machine: _Machine, name: str) -> int:
    return machine.numbers[name] if name in machine.numbers else _SAME_EVERYWHERE[name]


_Step = tuple[int, int, int, int]
"""Operation, steps to skip when true, when false, and the constant."""


def _rule(machine: _Machine, name: str, conditions: Iterable[Condition]) -> list[_Step]:
    """Allow the call when all conditions hold, else EPERM; other calls fall through to the next rule."""
    checks: list[_Step] = []
    for each in reversed(list(conditions)):
        at = _ARGUMENTS_AT + 8 * each.index + (4 if each.high else 0)
        # over what follows, to the refusal at the end
        checks[:0] = [(_LOAD, 0, 0, at), (_AND, 0, 0, each.mask), (_JUMP_EQUAL, 0, len(checks) + 1, each.value)]
    steps: list[_Step] = [*checks, (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _FAIL | errno.EPERM)]
    return [(_JUMP_EQUAL, 0, len(steps), _number(machine, name)), *steps]


def _refusal(number: int) -> list[_Step]:
    return [(_JUMP_EQUAL, 0, 1, number), (_RETURN, 0, 0, _FAIL | errno.EPERM)]


def _refusal_of_option(number: int, option: int) -> list[_Step]:
    """Refuse the call where its first argument is this one, and allow it else."""
    return [
        (_JUMP_EQUAL, 0, 4, number), (_LOAD, 0, 0, _ARGUMENTS_AT), (_JUMP_EQUAL, 0, 1, option),
        (_RETURN, 0, 0, _FAIL | errno.EPERM), (_RETURN, 0, 0, _ALLOW),
    ]  # fmt: skip


def _end(otherwise: int) -> list[_Step]:
    # glibc starts threads by clone() where there is no clone3(), whose flags a filter cannot see
    clone3: list[_Step] = [(_JUMP_EQUAL, 0, 1, _SAME_EVERYWHERE["clone3"]), (_RETURN, 0, 0, _FAIL | errno.ENOSYS)]
    return [*clone3, (_RETURN, 0, 0, otherwise)]


def _install(machine: _Machine, body: list[_Step]) -> None:
    head: list[_Step] = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT), (_JUMP_EQUAL, 1, 0, machine.audit), (_RETURN, 0, 0, _FAIL | errno.EPERM),
        (_LOAD, 0, 0, _NUMBER_AT), (_JUMP_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _FAIL | errno.EPERM),
    ]  # fmt: skip
    install(head + body)


def install(steps: Sequence[_Step]) -> None:
    """Put a filter program on this thread and what it starts, for good. Raises OSError."""
    program = (_Instruction * len(steps))(*(_Instruction(*step) for step in steps))
    result = process_control(_SET_SECCOMP, _MODE_FILTER, ctypes.byref(_Program(len(steps), program)))
    if result < 0:
        raise OSError(-result, os.strerror(-result))


class _Instruction(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint16), ("true", ctypes.c_uint8), ("false", ctypes.c_uint8), ("k", ctypes.c_uint32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("steps", ctypes.POINTER(_Instruction)))


def process_control(option: int, *arguments: object) -> int:
    """The result of Linux's prctl(), or minus errno."""
    library = ctypes.CDLL(None, use_errno=True)
    plain = [ctypes.c_ulong(each) if isinstance(each, int) else each for each in arguments]
    plain += [ctypes.c_ulong(0)] * (4 - len(plain))
    result = library.prctl(option, *plain)
    return -ctypes.get_errno() if result < 0 else int(result)
