"""The container's seccomp profile as this kernel's own filter, so that a service can run under it without a container.

As a program with a profile and a command it puts the filter on and becomes the command.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from secondface.media import syscall_filter as filters

PROFILE = Path(__file__).parents[2] / "deploy" / "seccomp.json"
HEADER = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
INSTALL = "the header of the system calls of x86-64 is not installed: apt-get install linux-libc-dev"
_LINE = re.compile(r"#define __NR_(\w+) (\d+)")
_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
Step = tuple[int, int, int, int]


def unknown_reason() -> str | None:
    """Why the numbers of system calls are not known on this machine, or None when they are."""
    if platform.machine() != "x86_64":
        return f"the numbers of system calls are looked up for x86-64 alone, not for {platform.machine()}"
    return None if HEADER.exists() else INSTALL


def filter_reason() -> str | None:
    """Why the profile cannot be put on here, or None when it can."""
    return unknown_reason() or filters.filter_reason()


@cache
def numbers() -> Mapping[str, int]:
    """The kernel's numbers of its system calls, from its own header."""
    return {name: int(number) for name, number in _LINE.findall(HEADER.read_text())}


def rules(profile: Path = PROFILE) -> list[dict[str, Any]]:
    return json.loads(profile.read_text())["syscalls"]


def _steps(rule: Mapping[str, Any]) -> Iterator[Step]:
    verdict = _ALLOW if rule["action"] == "SCMP_ACT_ALLOW" else _FAIL | rule["errnoRet"]
    for name in rule["names"]:
        body: list[Step] = [(_RETURN, 0, 0, verdict)]
        for each in rule.get("args", []):
            masked = each["op"] == "SCMP_CMP_MASKED_EQ"
            mask, value = (each["value"], each["valueTwo"]) if masked else (0xFFFFFFFF, each["value"])
            check = [(_LOAD, 0, 0, 16 + 8 * each["index"]), (_AND, 0, 0, mask), (_EQUAL, 0, len(body), value)]
            body = [*check, *body]
        # what was compared is loaded again for the next rule
        yield from [(_LOAD, 0, 0, 0), (_EQUAL, 0, len(body), numbers()[name]), *body]


def program(profile: Path = PROFILE) -> list[Step]:
    head: list[Step] = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, 0xC000003E), (_RETURN, 0, 0, _FAIL | 1)]
    return [*head, *(step for rule in rules(profile) for step in _steps(rule)), (_RETURN, 0, 0, _FAIL | 1)]


def main(profile: str, *command: str) -> None:
    filters.process_control(38, 1)
    filters.install(program(Path(profile)))
    os.execv(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
