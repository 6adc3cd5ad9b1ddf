"""Steps of one's own, on the command line and in a file."""

from __future__ import annotations

from PIL import Image

from tests.scenarios.conftest import World

FILE = """
version: 1
steps:
  - step: face_swap
    parameters: {shape: 0.4}
  - step: colour
    parameters: {exposure: 0.3, temperature: 0.2}
label:
  languages: zh
"""


def test_a_pipeline_from_a_file(secondface: World) -> None:
    (secondface.folder / "warm.yaml").write_text(FILE)
    told = secondface(
        "run",
        "-s",
        secondface.person_a,
        "-t",
        secondface.person_b,
        "-o",
        "out.png",
        "--pipeline",
        "warm.yaml",
        "--json",
    )
    assert told.code == 0, told.err
    stages = [stage["name"] for stage in told.object["stages"]]
    assert stages == ["decode", "analyse", "face_swap", "colour", "label", "watermark", "encode"]


def test_restoring_and_enlarging_without_a_source(secondface: World) -> None:
    small = secondface.folder / "small.png"
    with Image.open(secondface.person_b) as picture:
        picture.resize((192, 192)).save(small)
    told = secondface("run", "-t", small, "-o", "out.png", "--pipeline", "face_restore,upscale:scale=2")
    assert told.code == 0, told.err
    with Image.open(secondface.folder / "out.png") as picture:
        assert picture.size == (384, 384)


def test_a_wrong_step_names_the_right_ones(secondface: World) -> None:
    told = secondface("run", "-s", secondface.person_a, "-t", secondface.clip, "-o", "o.mp4", "--pipeline", "faceswap")
    assert told.code == 3
    assert "code unknown_step" in told.err
    assert "face_swap" in told.err
