"""The walls between rooms hold, and the door rules that import-linter cannot say hold too."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path


def test_rooms_import_only_what_they_may(root: Path) -> None:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    linted = subprocess.run([*command, "--no-cache"], cwd=root, capture_output=True, text=True, check=False)
    assert linted.returncode == 0, linted.stdout + linted.stderr


def test_domain_knows_no_library(root: Path) -> None:
    outside = {
        f"{path.name}: {name}"
        for path in (root / "src" / "secondface" / "domain").rglob("*.py")
        for name in _imported(path)
        if name.split(".")[0] not in sys.stdlib_module_names
        and not name.startswith(("secondface.domain", "secondface.errors"))
    }
    assert not outside


def _imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names
