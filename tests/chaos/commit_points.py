"""Where the service commits, read from its code, and a process that dies at each of these places.

A point is the public function that was called, the file and the line of its transaction. As a program with a folder it
tells `tests.chaos.story` three times for each point, in a process of its own each: one that kills itself just before
the commit, one that goes on from what that left behind and kills itself just after it, and one that goes on to the end
and checks the books. It prints a line of JSON for each point.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Literal

from secondface.storage.database import Database
from tests.chaos.story import Story

SOURCE = Path(__file__).parents[2] / "src" / "secondface"
Side = Literal["before", "after"]
SIDES: tuple[Side, ...] = ("before", "after")


def points() -> list[str]:
    """Every place where our code begins a transaction that writes."""
    found: list[str] = []
    for path in sorted(SOURCE.rglob("*.py")):
        if _carries_out(path):
            continue
        module = path.relative_to(SOURCE).as_posix()
        for parent in ast.walk(ast.parse(path.read_text())):
            if isinstance(parent, ast.Module | ast.ClassDef):
                found += [f"{name} {module}:{line}" for name, line in _points_in(parent)]
    return found


def _carries_out(path: Path) -> bool:
    """Whether it is one of the adapters behind `begin`."""
    return path.is_relative_to(SOURCE / "storage") and "migrations" not in path.parts


def _points_in(parent: ast.Module | ast.ClassDef) -> Iterator[tuple[str, int]]:
    functions = {each.name: each for each in parent.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
    for name, function in functions.items():
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and _writes(node):
                yield from ((caller, node.lineno) for caller in _public(name, functions))


def _writes(call: ast.Call) -> bool:
    words = ast.unparse(call.func).split(".")
    return words[-2:] in (["transactions", "begin"], ["_transactions", "begin"]) or (
        words == ["database", "transaction"] and not call.keywords
    )


def _public(name: str, functions: dict[str, Any]) -> list[str]:
    """Public functions beside this one through which it is called; itself if it is public, or called by none."""
    if not name.startswith("_"):
        return [name]
    callers = [other for other, function in functions.items() if other != name and _calls(function, name)]
    return [found for caller in callers for found in _public(caller, functions)] or [name]


def _calls(function: ast.AST, name: str) -> bool:
    called = (ast.unparse(node.func) for node in ast.walk(function) if isinstance(node, ast.Call))
    return any(each in (f"self.{name}", name) for each in called)


def _here() -> str:
    """The point at which this thread begins a transaction."""
    frame: FrameType | None = sys._getframe(1)
    where = name = None
    while frame is not None:
        path, function = Path(frame.f_code.co_filename), frame.f_code.co_name
        ours = path.is_relative_to(SOURCE) and (
            not path.is_relative_to(SOURCE / "storage") or "migrations" in path.parts
        )
        if ours and not function.startswith("<"):
            where = where or f"{path.relative_to(SOURCE).as_posix()}:{frame.f_lineno}"
            if name is None or name.startswith("_"):
                name = function
        elif where is not None and path.is_relative_to(SOURCE.parents[1] / "tests"):
            break
        frame = frame.f_back
    return f"{name} {where}"


def doom(point: str | None, side: Side) -> None:
    """Kill this process at a point, just before or just after its commit."""
    usual = Database.transaction

    @contextmanager
    def transaction(self: Database, *, read_only: bool = False) -> Iterator[Any]:
        here = None if read_only or point is None else _here()
        with usual(self, read_only=read_only) as connection:
            yield connection
            if here is not None and (here, side) == (point, "before"):
                os.kill(os.getpid(), signal.SIGKILL)
        if here is not None and (here, side) == (point, "after"):
            os.kill(os.getpid(), signal.SIGKILL)

    Database.transaction = transaction  # type: ignore[method-assign]


def life(folder: Path, point: str | None, side: Side) -> int:
    """Tell the story in a process of its own; returns how that ended."""
    child = os.fork()
    if not child:
        code = 1
        try:
            doom(point, side)
            story = Story(folder)
            story.tell()
            story.close()
            code = 0
        except BaseException:  # noqa: BLE001 - the parent asks for the exit code alone
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(folder: Path) -> None:
    # Once without a death, in this process: what is imported and prepared here need not be in each of the others.
    whole = Story(folder / "whole")
    whole.tell()
    whole.close()
    assert threading.active_count() == 1, "a process with threads cannot be forked"
    for number, point in enumerate(points()):
        place = folder / str(number)
        ends = [life(place, point, side) for side in SIDES] + [life(place, None, "before")]
        shutil.rmtree(place)
        print(json.dumps({"point": point, "ends": ends}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
