"""What cannot be run is refused with a code and a remedy, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.closed_folder import closed_folder
from tests.scenarios.conftest import World


def refused(secondface: World, code: int, name: str, *arguments: str | Path) -> str:
    before = secondface.files()
    told = secondface("run", *arguments, "--json")
    assert told.code == code, told.out + told.err
    error = told.object["error"]
    assert (error["code"], error["exit_code"]) == (name, code)
    assert error["remedy"]
    assert secondface.files() == before
    return f"{error['title']} {error['detail']}"


def test_two_sources_for_one_face(secondface: World) -> None:
    two = ("-s", secondface.person_a, secondface.person_b)
    refused(secondface, 3, "too_many_sources", *two, "-t", secondface.clip, "-o", "o.mp4", "--faces", "largest")
    refused(secondface, 3, "too_many_sources", *two, "-t", secondface.clip, "-o", "o.mp4")


def test_a_file_that_is_not_there(secondface: World) -> None:
    assert "gone.mp4" in refused(
        secondface, 4, "file_unreadable", "-s", secondface.person_a, "-t", "gone.mp4", "-o", "o.mp4"
    )


def test_a_file_that_is_no_picture(secondface: World) -> None:
    (secondface.folder / "note.jpg").write_text("not a picture")
    told = refused(
        secondface,
        4,
        "media_unsupported",
        "-s",
        secondface.folder / "note.jpg",
        "-t",
        secondface.person_b,
        "-o",
        "o.png",
    )
    assert "note.jpg" in told


def test_a_folder_that_is_not_there(secondface: World) -> None:
    pair = ("-s", secondface.person_a, "-t", secondface.person_b)
    refused(secondface, 3, "output_not_writable", *pair, "-o", "gone/o.png")


def test_a_folder_that_may_not_be_written(secondface: World) -> None:
    pair = ("-s", secondface.person_a, "-t", secondface.person_b)
    refused(secondface, 3, "output_not_writable", *pair, "-o", closed_folder(secondface.folder) / "o.png")


def test_a_folder_as_output(secondface: World) -> None:
    (secondface.folder / "there.png").mkdir()
    pair = ("-s", secondface.person_a, "-t", secondface.person_b)
    refused(secondface, 3, "output_not_writable", *pair, "-o", "there.png")


@pytest.mark.parametrize("name", ["", ".", "..", "n" * 300 + ".png"])
def test_a_name_that_no_file_can_have(secondface: World, name: str) -> None:
    pair = ("-s", secondface.person_a, "-t", secondface.person_b)
    refused(secondface, 3, "output_not_writable", *pair, "-o", name)


def test_files_that_look_like_unfinished_ones_stay(secondface: World) -> None:
    source, notes = secondface.folder / "out.png.part", secondface.folder / "other.png.part"
    source.write_bytes(secondface.person_a.read_bytes())
    notes.write_text("mine")
    for output in ("out.png", "other.png"):
        assert secondface("run", "-s", source, "-t", secondface.person_b, "-o", output).code == 0
    assert source.read_bytes() == secondface.person_a.read_bytes()
    assert notes.read_text() == "mine"


def test_the_output_is_an_input_by_another_name(secondface: World) -> None:
    target, link = secondface.folder / "mine.jpg", secondface.folder / "link.jpg"
    target.write_bytes(secondface.person_b.read_bytes())
    link.symlink_to(target)
    refused(secondface, 3, "output_exists", "-s", secondface.person_a, "-t", target, "-o", link, "-y")
    assert target.read_bytes() == secondface.person_b.read_bytes()


def test_an_output_of_another_kind(secondface: World) -> None:
    refused(secondface, 3, "output_format_unsupported", "-s", secondface.person_a, "-t", secondface.clip, "-o", "o.png")
    refused(secondface, 3, "output_format_unsupported", "-s", secondface.person_a, "-t", secondface.person_b, "-o", "o")


def test_a_device_that_is_not_here(secondface: World) -> None:
    doctor = {row["topic"]: row["state"] for row in secondface("doctor", "--json").object["findings"]}
    if doctor["tensorrt"] == "ok":
        pytest.skip("TensorRT works on this machine")
    pair = ("-s", secondface.person_a, "-t", secondface.person_b)
    refused(secondface, 6, "device_unavailable", *pair, "-o", "o.png", "--device", "tensorrt")
