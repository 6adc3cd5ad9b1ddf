"""Files stay readable in one sitting and are named after things that a customer or an operator would name."""

from __future__ import annotations

import re
import statistics
from pathlib import Path

_SAY_NOTHING = {"util", "utils", "helper", "helpers", "common", "manager", "managers", "base", "core", "misc"}
_UNFINISHED = re.compile(r"NotImplementedError|\b(TODO|FIXME|XXX)\b|# (stub|placeholder)")
_MACHINE_PATHS = re.compile(r"(?<![\w.])/(work|farm|root)/\w")


def _lines(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


def test_no_file_is_over_600_lines(root: Path, all_files: list[Path]) -> None:
    assert {str(path.relative_to(root)): _lines(path) for path in all_files if _lines(path) > 600} == {}


def test_median_file_is_under_200_lines(package_files: list[Path]) -> None:
    assert statistics.median(_lines(path) for path in package_files if _lines(path)) < 200


def test_names_say_what_is_inside(root: Path, all_files: list[Path]) -> None:
    parts = {(str(path.relative_to(root)), part) for path in all_files for part in path.relative_to(root).parts}
    assert [name for name, part in parts if part.removesuffix(".py") in _SAY_NOTHING] == []


def test_nothing_in_the_package_is_unfinished(root: Path, package_files: list[Path]) -> None:
    assert [str(path.relative_to(root)) for path in package_files if _UNFINISHED.search(path.read_text("utf-8"))] == []


def test_nobody_names_a_path_of_their_machine(root: Path, all_files: list[Path]) -> None:
    others = [path for path in all_files if path != Path(__file__).resolve()]
    assert [str(path.relative_to(root)) for path in others if _MACHINE_PATHS.search(path.read_text("utf-8"))] == []


def test_each_module_says_what_it_decides(root: Path, package_files: list[Path]) -> None:
    silent = [
        path for path in package_files if (text := path.read_text("utf-8")) and not text.startswith(('"""', 'r"""'))
    ]
    assert [str(path.relative_to(root)) for path in silent] == []
