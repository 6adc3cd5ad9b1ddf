"""What a file imports, read from its text."""

from __future__ import annotations

import ast
import sys
from pathlib import Path


def imported_modules(path: Path) -> set[str]:
    """Full names of all modules that a file imports anywhere, those of the standard library left out."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
    return {name for name in names if name.split(".")[0] not in sys.stdlib_module_names}
