"""What `import secondface` costs and offers."""

from __future__ import annotations

import subprocess
import sys

import secondface

HEAVY = ("numpy", "cv2", "PIL", "av", "onnxruntime", "pydantic", "rich", "click")


def loaded_by(code: str) -> set[str]:
    program = f"{code}\nimport sys; print(*[m for m in {HEAVY!r} if m in sys.modules])"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(told.stdout.splitlines()[-1].split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert loaded_by("import secondface") == set()


def test_help_loads_no_pixels() -> None:
    heavy = loaded_by("from secondface.cli.main import main; main(['run', '--help'])")
    assert not heavy & {"numpy", "cv2", "PIL", "av", "onnxruntime"}


def test_the_public_names_are_there() -> None:
    assert secondface.__all__ == ["__version__", "run", "swap", "verify"]
    assert all(hasattr(secondface, name) for name in secondface.__all__)
