"""Several targets in one run: folders, patterns and lists, what is done already, and what fails on the way."""

from __future__ import annotations

import json
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.scenarios.conftest import Told, World

QUICK = ("--json", "--restore", "off")


@pytest.fixture
def pictures(secondface: World) -> Path:
    """A folder with two small pictures, a note, a hidden file, a broken video and a folder inside."""
    folder = secondface.folder / "in"
    (folder / "deeper").mkdir(parents=True)
    with Image.open(secondface.person_b) as picture:
        small = picture.resize((320, 320))
        small.save(folder / "one.png")
        small.save(folder / "two.jpg", quality=95)
        small.save(folder / "deeper" / "three.png")
    shutil.copy(folder / "one.png", folder / ".hidden.png")
    (folder / "notes.txt").write_text("nothing to see")
    (folder / "broken.mp4").write_text("no video")
    return folder


def lines(told: Told) -> list[dict[str, Any]]:
    return [json.loads(line) for line in told.out.splitlines()]


def states(told: Told) -> dict[str, str]:
    return {Path(line["target"]).name: line["state"] for line in lines(told) if "target" in line}


def summary(told: Told) -> dict[str, Any]:
    return lines(told)[-1]["summary"]


def test_a_folder_is_done_once_and_failures_stop_nothing(secondface: World, pictures: Path) -> None:
    words = ("run", "-s", secondface.person_a, "-t", pictures, "-o", "out", *QUICK)
    first = secondface(*words)
    assert first.code == 7, first.err
    assert states(first) == {"notes.txt": "passed_over", "broken.mp4": "failed", "one.png": "done", "two.jpg": "done"}
    failed = next(line for line in lines(first) if line["state"] == "failed")
    assert failed["error"]["code"] == "media_unsupported"
    done = next(line for line in lines(first) if line["state"] == "done")
    assert done["faces_swapped"] == 1
    assert done["receipt"]["total_micros"] > 0
    assert (summary(first)["done"], summary(first)["failed"], summary(first)["exit_code"]) == (2, 1, 7)
    out = secondface.folder / "out"
    assert {path.name for path in out.iterdir()} == {"one.png", "two.jpg"}
    before = {path.name: path.read_bytes() for path in out.iterdir()}

    again = secondface(*words)
    assert states(again) == states(first) | {"one.png": "there", "two.jpg": "there"}
    assert summary(again)["total_micros"] == 0
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_only_what_changed_is_done_again(secondface: World, pictures: Path) -> None:
    (pictures / "broken.mp4").unlink()
    words = ("run", "-s", secondface.person_a, "-t", pictures, "-o", "out/", *QUICK)
    assert secondface(*words).code == 0
    out = secondface.folder / "out"
    whole = (out / "one.png").read_bytes()
    (out / "one.png").write_bytes(whole[: len(whole) // 2])
    # What lies there is not ours to replace, unless that is said.
    told = secondface(*words)
    assert (told.code, states(told)["one.png"], states(told)["two.jpg"]) == (7, "failed", "there")
    assert "output_occupied" in told.out
    told = secondface(*words, "-y")
    assert (told.code, states(told)["one.png"], states(told)["two.jpg"]) == (0, "done", "there")
    assert (out / "one.png").read_bytes()[:8] == whole[:8]
    other = secondface(*words, "--restore", "0.5")
    assert set(states(other).values()) == {"passed_over", "failed"}, "made with other options"


def test_a_pattern_and_a_list(secondface: World, pictures: Path) -> None:
    told = secondface("run", "-s", secondface.person_a, "-t", "in/*.png", "in/two.jpg", "-o", "out", *QUICK)
    assert (told.code, states(told)) == (0, {"one.png": "done", "two.jpg": "done"})
    deep = secondface("run", "-s", secondface.person_a, "-t", "in/**/*.png", "-o", "deep", *QUICK)
    assert (deep.code, states(deep)) == (0, {"one.png": "done", "three.png": "done"})


def test_a_file_of_that_very_name_is_meant(secondface: World) -> None:
    names = ["a [1] b.png", "100%d 'q\" ü 日本.png", "-dash.png", "star*.png", "--json.png"]
    with Image.open(secondface.person_b) as picture:
        for name in (*names, "starless.png"):
            picture.resize((320, 320)).save(secondface.folder / name)
    words = [word for name in names for word in ("-t", name)]
    told = secondface("run", "-s", secondface.person_a, *words, "-o", "out/", *QUICK)
    assert told.code == 0, told.out + told.err
    assert {path.name for path in (secondface.folder / "out").iterdir()} == set(names)


def test_names_that_meet_are_told_apart(secondface: World) -> None:
    for folder in ("x", "y"):
        (secondface.folder / folder).mkdir()
        with Image.open(secondface.person_b) as picture:
            picture.resize((320, 320)).save(secondface.folder / folder / "me.png")
    told = secondface("run", "-s", secondface.person_a, "-t", "x/me.png", "-t", "y/me.png", "-o", "out", *QUICK)
    assert told.code == 0, told.err
    assert {path.name for path in (secondface.folder / "out").iterdir()} == {"me.png", "me.png.png"}


def test_people_see_a_table(secondface: World, pictures: Path) -> None:
    told = secondface("run", "-s", secondface.person_a, "-t", pictures, "-o", "out", "--restore", "off")
    assert told.code == 7
    assert "notes.txt is neither a picture nor a video" in told.err
    table = told.out.split("Files\n")[1]
    for words in ("one.png", "picture", "media_unsupported", "2 done", "1 failed"):
        assert words in table


@pytest.mark.parametrize(
    ("words", "code", "name"),
    [
        (["-t", "in", "-o", "in"], 3, "invalid_option"),
        (["-t", "in", "-o", "in/one.png"], 3, "invalid_option"),
        (["-t", "empty", "-o", "out"], 3, "invalid_option"),
        (["-t", "*.mkv", "-o", "out"], 4, "file_unreadable"),
        (["-t", "in", "-o", "out", "--fps", "fast"], 3, "invalid_option"),
    ],
)
def test_what_concerns_all_files_is_said_before_any_work(
    secondface: World, pictures: Path, words: list[str], code: int, name: str
) -> None:
    (secondface.folder / "empty").mkdir()
    told = secondface("run", "-s", secondface.person_a, *words, "--json")
    assert (told.code, told.object["error"]["code"]) == (code, name)
    assert secondface.files() <= {"in", "empty", "out"}


def test_a_source_without_a_face_ends_all(secondface: World, pictures: Path) -> None:
    Image.new("RGB", (300, 300), (120, 120, 120)).save(secondface.folder / "wall.png")
    told = secondface("run", "-s", "wall.png", "-t", "in/*.png", "in/two.jpg", "-o", "out", *QUICK)
    assert told.code == 5
    assert (summary(told)["failed"], summary(told)["left"]) == (1, 1)


def test_ctrl_c_ends_all_and_keeps_what_is_done(secondface: World, pictures: Path) -> None:
    (pictures / "broken.mp4").unlink()
    shutil.copy(secondface.clip, pictures / "zlong.mp4")
    shutil.copy(secondface.clip, pictures / "zz_never_begun.mp4")
    words = ("run", "-s", secondface.person_a, "-t", pictures, "-o", "out", "--json")
    run = secondface.start(*words, "--pipeline", "denoise:level=strong,face_swap")
    out = secondface.folder / "out"
    deadline = time.monotonic() + 120
    while not list(out.glob("zlong*")) and run.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    told, err = run.communicate(timeout=60)
    assert run.returncode == 130, err
    last = json.loads(told.splitlines()[-1])["summary"]
    assert (last["done"], last["cancelled"], last["left"], last["exit_code"]) == (2, 1, 1, 130)
    assert {path.name for path in out.iterdir()} == {"one.png", "two.jpg"}
