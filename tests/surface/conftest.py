"""What the surface tests read: the files of this checkout, not of an installed copy."""

from __future__ import annotations

from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return _ROOT


@pytest.fixture(scope="session")
def package_files() -> list[Path]:
    """Every Python file of the package."""
    return sorted((_ROOT / "src" / "secondface").rglob("*.py"))


@pytest.fixture(scope="session")
def all_files() -> list[Path]:
    """Every Python file of the package, its tests and its tools."""
    return sorted(path for folder in ("src", "tests", "tools", "bench") for path in (_ROOT / folder).rglob("*.py"))
