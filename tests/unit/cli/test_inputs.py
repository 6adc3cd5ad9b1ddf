"""What -t names, where outputs go, and what makes two runs the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from secondface.cli.inputs import gather
from secondface.cli.output_names import ending_for, output_paths, prepare_folder
from secondface.cli.resume import Digests, id_of
from secondface.errors import FileUnreadable, InvalidOption, OutputNotWritable
from secondface.spec.schemas import RunRequest

PNG = b"\x89PNG\r\n\x1a\n" + bytes(64)
MP4 = b"\0\0\0\x18ftypisom" + bytes(64)


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, content: bytes = PNG) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_one_file_stays_one_run() -> None:
    write("a.png")
    assert not gather(["a.png"], "out.png").into_folder
    assert gather(["a.png"], "out/").into_folder
    assert gather(["gone.png"], "out.png").files == [Path("gone.png")], "its own error names it"


def test_a_folder_gives_its_media_in_order() -> None:
    for name in ("in/b.png", "in/a.mp4", "in/.c.png", "in/deep/d.png"):
        write(name)
    write("in/no_ending", MP4)
    write("in/data.csv", b"1,2")
    write("in/empty.dat", b"")
    found = gather(["in"], "out")
    assert found.into_folder
    assert [path.name for path in found.files] == ["a.mp4", "b.png", "no_ending"]
    assert [path.name for path in found.passed_over] == ["data.csv", "empty.dat"]


def test_a_literal_name_wins_over_a_pattern() -> None:
    write("a[1].png")
    write("a1.png")
    write("*.png")
    assert gather(["a[1].png"], "o.png").files == [Path("a[1].png")]
    assert gather(["*.png"], "o.png").files == [Path("*.png")]
    assert gather(["a?.png"], "o").files == [Path("a1.png")]


def test_a_file_that_is_named_twice_is_done_once() -> None:
    write("in/a.png")
    assert gather(["in/a.png", "in", "in/*.png"], "out").files == [Path("in/a.png")]


def test_results_of_an_earlier_run_are_no_targets() -> None:
    write("in/a.png")
    write("in/done/a.png")
    assert gather(["in/**/*.png"], "in/done").files == [Path("in/a.png")]


def test_nothing_is_an_error() -> None:
    Path("empty").mkdir()
    with pytest.raises(InvalidOption, match="empty"):
        gather(["empty"], "out")
    with pytest.raises(FileUnreadable, match="no file matches"):
        gather(["*.mkv"], "out")


@pytest.mark.parametrize(
    ("name", "content", "ending"),
    [
        ("a.MP4", MP4, ".MP4"),
        ("a.avi", MP4, ".mp4"),
        ("a.png", MP4, ".mp4"),
        ("a.mp4", PNG, ".png"),
        ("a.heic", PNG, ".png"),
        ("a.webp", PNG, ".webp"),
        ("a", MP4, ".mp4"),
    ],
)
def test_the_ending_is_kept_where_it_is_true_and_can_be_written(name: str, content: bytes, ending: str) -> None:
    assert ending_for(write(name, content)) == ending


def test_outputs_never_meet() -> None:
    targets = [
        write("x/a.avi", MP4), write("x/a.mp4", MP4), write("x/A.MP4", MP4), write("y/a.mp4", MP4),
        write("z/a.mp4", MP4), write("x/a.mov", MP4),
    ]  # fmt: skip
    names = [path.name for path in output_paths(targets, Path("out"))]
    assert names == ["a.avi.mp4", "a.mp4", "A.MP4.MP4", "a.mp4-2.mp4", "a.mp4-3.mp4", "a.mov"]
    assert len({name.casefold() for name in names}) == len(names)


def test_the_output_folder() -> None:
    target = write("in/a.png")
    assert prepare_folder("new/deep/", [target]).is_dir()
    with pytest.raises(InvalidOption, match="lie in this folder"):
        prepare_folder("in/../in", [target])
    with pytest.raises(InvalidOption, match=r"write out\.mp4/ if"):
        prepare_folder("out.mp4", [target])
    assert not Path("out.mp4").exists()
    assert prepare_folder("out.mp4/", [target]).is_dir()
    write("plain", b"")
    with pytest.raises(OutputNotWritable, match="folder"):
        prepare_folder("plain", [target])


def test_the_id_follows_bytes_and_options_but_not_names() -> None:
    write("s.png", PNG + b"s")
    write("t.png", PNG + b"t")
    write("u.png", PNG + b"t")
    write("v.png", PNG + b"v")

    def made(target: str = "t.png", output: str = "o.png", producer: str = "", **options: object) -> str:
        request = RunRequest.of_files(["s.png"], target, output, **options)  # type: ignore[arg-type]
        return id_of(request, Digests(), producer)

    assert made() == made("u.png") == made(output="other/p.png") == made(limits={"max_faces": 3})
    others = [made("v.png"), made(output="o.jpg"), made(restore="off"), made(faces="all"), made(producer="me")]
    assert len({made(), *others}) == 6
    assert len(made()) == 32
