"""Results as files: whole, checked, continued."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from secondface import errors
from secondface.sdk import ServiceUnreachable
from secondface.sdk.calls import Answer, Unreachable
from secondface.sdk.files import download, pieces
from tests.unit.sdk.played import STEADY, Played, refusal

CONTENT = bytes(range(256)) * 40
ETAG = {"etag": f'"{hashlib.sha256(CONTENT).hexdigest()}"'}


def head(status: int = 200) -> Answer:
    return Answer(status, ETAG)


def test_a_result_comes_whole_under_its_name(tmp_path: Path) -> None:
    service = Played([head()], streams=[[CONTENT[:100], CONTENT[100:]]])
    assert service.run(download("job_1", tmp_path / "out.mp4", STEADY)).read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["out.mp4"]


def test_goes_on_where_it_broke_off(tmp_path: Path) -> None:
    service = Played([head(), head(206)], streams=[[CONTENT[:3000], Unreachable("cut")], [CONTENT[3000:]]])
    assert service.run(download("job_1", tmp_path / "out.mp4", STEADY)).read_bytes() == CONTENT
    assert service.calls[1].headers["range"] == "bytes=3000-"


def test_goes_on_with_what_an_earlier_call_left(tmp_path: Path) -> None:
    (tmp_path / "out.mp4.part").write_bytes(CONTENT[:5000])
    service = Played([head(206)], streams=[[CONTENT[5000:]]])
    assert service.run(download("job_1", tmp_path / "out.mp4", STEADY)).read_bytes() == CONTENT


def test_starts_again_where_the_part_was_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "out.mp4.part").write_bytes(b"x" * 5000)
    service = Played([head(206), head()], streams=[[CONTENT[5000:]], [CONTENT]])
    assert service.run(download("job_1", tmp_path / "out.mp4", STEADY)).read_bytes() == CONTENT


def test_starts_again_where_the_part_is_longer_than_the_file(tmp_path: Path) -> None:
    (tmp_path / "out.mp4.part").write_bytes(CONTENT * 2)
    service = Played([refusal("range_unsatisfiable", 416), head()], streams=[[CONTENT]])
    assert service.run(download("job_1", tmp_path / "out.mp4", STEADY)).read_bytes() == CONTENT


def test_a_damaged_result_never_gets_its_name(tmp_path: Path) -> None:
    service = Played([head()] * STEADY.most_tries, streams=[[CONTENT[:-1] + b"?"] for _ in range(STEADY.most_tries)])
    with pytest.raises(ServiceUnreachable):
        service.run(download("job_1", tmp_path / "out.mp4", STEADY))
    assert not (tmp_path / "out.mp4").exists()


def test_a_refusal_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(errors.JobSettled):
        Played([refusal("job_settled", 409)]).run(download("job_1", tmp_path / "out.mp4", STEADY))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(errors.OutputNotWritable):
        Played().run(download("job_1", tmp_path / "none" / "out.mp4", STEADY))


def test_files_are_read_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"x" * (3 << 20))
    assert [len(piece) for piece in pieces(path)] == [1 << 20] * 3
    with pytest.raises(errors.FileUnreadable):
        list(pieces(tmp_path / "none"))
