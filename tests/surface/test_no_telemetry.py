"""No library that comes with the product reports home, or leaves its files about."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("module", ["secondface.models.devices", "secondface.models.sessions", "secondface.compose"])
def test_loading_the_runtime_of_models_leaves_nothing_in_the_temporary_folder(tmp_path: Path, module: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    script = f"import {module}, onnxruntime"
    subprocess.run([sys.executable, "-c", script], env=environment | {"TMPDIR": str(tmp_path)}, check=True)
    assert list(tmp_path.iterdir()) == []


def test_the_command_leaves_nothing_in_the_temporary_folder(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    command = [sys.executable, "-m", "secondface", "doctor"]
    subprocess.run(command, env=environment | {"TMPDIR": str(tmp_path)}, check=False, capture_output=True)
    assert list(tmp_path.iterdir()) == []
