"""The walls between rooms hold, and the door rules that import-linter cannot say hold too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.surface.imports import imported_modules


def test_rooms_import_only_what_they_may(root: Path) -> None:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    linted = subprocess.run([*command, "--no-cache"], cwd=root, capture_output=True, text=True, check=False)
    assert linted.returncode == 0, linted.stdout + linted.stderr


def test_domain_knows_no_library(root: Path) -> None:
    outside = {
        f"{path.name}: {name}"
        for path in (root / "src" / "secondface" / "domain").rglob("*.py")
        for name in imported_modules(path)
        if not name.startswith(("secondface.domain", "secondface.errors"))
    }
    assert not outside
