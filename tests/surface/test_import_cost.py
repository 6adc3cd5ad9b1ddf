"""Checking a request costs no pixels: neither `import secondface` nor `spec` nor `domain` loads their libraries."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

_PIXELS = {"numpy", "scipy", "cv2", "PIL", "pillow_heif", "av", "onnxruntime"}


def _loaded_after(statement: str) -> set[str]:
    script = f"import json, sys\n{statement}\nprint(json.dumps(sorted({{name.split('.')[0] for name in sys.modules}})))"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(ran.stdout))


def test_import_secondface_loads_nothing_but_the_standard_library() -> None:
    loaded = _loaded_after("import secondface")
    assert loaded & (_PIXELS | {"pydantic", "rich", "click", "yaml"}) == set()


@pytest.mark.parametrize("room", ["spec", "domain", "control", "gateway"])
def test_room_loads_no_pixels(root: Path, room: str) -> None:
    folder = root / "src" / "secondface" / room
    modules = [f"secondface.{room}.{path.stem}" for path in folder.glob("*.py") if path.stem != "__init__"]
    assert modules
    assert _loaded_after("import " + ", ".join(modules)) & _PIXELS == set()


def test_help_of_the_command_line_loads_no_pixels() -> None:
    statement = (
        "from contextlib import suppress\nimport io, contextlib\nfrom secondface.cli.main import main\n"
        "with suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n    main(['--help'])"
    )
    assert _loaded_after(statement) & _PIXELS == set()
