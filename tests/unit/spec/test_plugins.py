"""Steps that other packages bring: a real distribution on the path, and every way in which one can be wrong."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from secondface.cli.main import main
from secondface.errors import InvalidPipeline, StepFailed, StepUnloadable, UnknownStep
from secondface.frames import ArrayFrame, StreamInfo
from secondface.models.sessions import OrtSessions
from secondface.pipeline.passage import Casting, Conduct, pass_frames
from secondface.spec.graph import PipelineSpec, compile_pipeline
from secondface.spec.plugins import find_kind, installed, known_names

DECLARATION = '''
from typing import Annotated
from pydantic import Field
from secondface.spec.catalog import Port, StepKind, StepParameters, Text
from secondface.spec.plugins import PluginStep

class Brighter(StepParameters):
    """How much."""
    by: Annotated[int, Field(ge=0, le=50, description="Codes to add.")] = 10

def kind(name, takes=Port.FRAMES, gives=Port.FRAMES):
    return StepKind(name, Text("Brighter", "变亮"), Text("Adds light.", "增加亮度。"), Brighter, takes, gives)

BRIGHTER = PluginStep(kind("brighter"), "bright_package.work:make")
TRIPPING = PluginStep(kind("tripping"), "bright_package.work:make_tripping")
NOWHERE = PluginStep(kind("nowhere"), "bright_package.gone:make")
COLOUR = PluginStep(kind("colour"), "bright_package.work:make")
OTHER_NAME = PluginStep(kind("another"), "bright_package.work:make")
UNLABELLED = PluginStep(kind("unlabelled", gives=Port.LABELLED), "bright_package.work:make")
CODE = PluginStep(kind("code"), "import os; os.remove")
NOTHING = 5
'''
WORK = """
from secondface.frames import Box

def make(parameters, stream, sessions):
    def change(work):
        frame = work.frame
        frame.write(Box(0, 0, stream.width, stream.height), frame.read() + parameters.by)
    return change

def make_tripping(parameters, stream, sessions):
    def change(work):
        raise KeyError("a wire")
    return change
"""
POINTS = """
[secondface.steps]
brighter = bright_package.declaration:BRIGHTER
tripping = bright_package.declaration:TRIPPING
nowhere = bright_package.declaration:NOWHERE
colour = bright_package.declaration:COLOUR
misnamed = bright_package.declaration:OTHER_NAME
unlabelled = bright_package.declaration:UNLABELLED
code = bright_package.declaration:CODE
nothing = bright_package.declaration:NOTHING
absent = bright_package.not_there:STEP
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder as pip would leave it."""
    package, info = tmp_path / "bright_package", tmp_path / "bright_package-1.0.dist-info"
    package.mkdir()
    info.mkdir()
    (package / "__init__.py").touch()
    (package / "declaration.py").write_text(DECLARATION, "utf-8")
    (package / "work.py").write_text(WORK, "utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bright-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    return tmp_path


@pytest.fixture
def plugins(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(site))
    installed.cache_clear()
    yield
    installed.cache_clear()
    for name in [name for name in sys.modules if name.startswith("bright_package")]:
        del sys.modules[name]


def run(words: str) -> np.ndarray:
    results: list[np.ndarray] = []
    plan = compile_pipeline(PipelineSpec.parse_list(words), 0)
    stream = StreamInfo(320, 240, 1, is_still=True)
    frame = ArrayFrame(np.full((240, 320, 3), 90, np.uint8))
    pass_frames(
        plan, Casting(), stream, [frame], lambda done: results.append(done.read()), conduct=Conduct(OrtSessions("cpu"))
    )
    return results[0]


def is_within_the_watermark(rgb: np.ndarray, level: int) -> bool:
    return bool((np.abs(rgb.astype(int) - level) <= 2).all())


@pytest.mark.usefixtures("plugins")
def test_a_step_of_another_package_runs_with_its_parameters_and_is_labelled() -> None:
    kind = find_kind("brighter")
    assert kind is not None
    assert kind.parameters().model_dump() == {"by": 10}
    done = run("brighter:by=7")
    assert np.median(done[:60]) == 97
    assert is_within_the_watermark(done[:60], 97)
    assert not is_within_the_watermark(done, 97), "no label"
    assert (done[:60] != 97).any(), "no watermark"


@pytest.mark.usefixtures("plugins")
def test_only_those_that_can_be_used_are_known() -> None:
    assert known_names()[-3:] == ["brighter", "nowhere", "tripping"]
    with pytest.raises(UnknownStep, match="brighter"):
        run("duller")
    with pytest.raises(InvalidPipeline, match="by"):
        run("brighter:by=99")


@pytest.mark.usefixtures("plugins")
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("absent", "not_there"),
        ("nothing", "no PluginStep"),
        ("misnamed", "another"),
        ("unlabelled", "takes and gives"),
        ("code", "module:function"),
        ("nowhere", "gone"),
    ],
)
def test_one_that_cannot_be_used_says_why_and_whose_it_is(words: str, reason: str) -> None:
    with pytest.raises(StepUnloadable, match=reason):
        run(words)


@pytest.mark.usefixtures("plugins")
def test_a_built_in_step_cannot_be_replaced() -> None:
    assert find_kind("colour") is not None
    assert is_within_the_watermark(run("colour:exposure=0")[:60], 90)
    assert "built in" in installed()["colour"].reason


@pytest.mark.usefixtures("plugins")
def test_what_it_raises_becomes_an_error_with_the_frame() -> None:
    with pytest.raises(StepFailed, match="`tripping`, frame 0: KeyError: 'a wire'"):
        run("tripping")


@pytest.mark.usefixtures("plugins")
def test_the_command_lists_them(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECONDFACE_LANG", "en")
    assert main(["steps"]) == 0
    told = capsys.readouterr()
    assert "brighter  ·  Brighter  ·  bright-package" in told.out
    assert "absent of bright-package cannot be used" in told.err


def test_a_process_finds_them_by_itself(site: Path) -> None:
    program = (
        "from secondface.spec.plugins import known_names; import sys; print(known_names(), 'numpy' in sys.modules)"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=site,
    )  # fmt: skip
    assert "'brighter'" in shown.stdout
    assert shown.stdout.strip().endswith("False")
