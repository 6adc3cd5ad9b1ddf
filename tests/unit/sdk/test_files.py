"""Results as files: whole, checked, continued."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from secondface import errors
from secondface.sdk import ServiceUnreachable, files
from secondface.sdk.calls import Answer, Unreachable
from secondface.sdk.files import download, pieces, verify
from secondface.sdk.trust import audit_export
from secondface.spec.views import StoredView, UploadView
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


def test_an_export_of_the_audit_is_whole_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    for service, error in (
        (Played([refusal("scope_missing", 403)]), errors.ScopeMissing),
        (Played([head()], streams=[[b"{}\n", Unreachable("cut")]]), ServiceUnreachable),
    ):
        with pytest.raises(error):
            service.run(audit_export(path, STEADY))
        assert list(tmp_path.iterdir()) == []
    Played([head()], streams=[[b"{}\n", b"{}\n"]]).run(audit_export(path, STEADY))
    assert path.read_bytes() == b"{}\n{}\n"


def test_an_export_of_the_audit_takes_no_folders_place(tmp_path: Path) -> None:
    (tmp_path / "audit.jsonl").mkdir()
    with pytest.raises(errors.OutputNotWritable):
        Played([head()], streams=[[b"{}\n"]]).run(audit_export(tmp_path / "audit.jsonl", STEADY))
    assert [path.name for path in tmp_path.iterdir()] == ["audit.jsonl"]


def test_files_are_read_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"x" * (3 << 20))
    assert [len(piece) for piece in pieces(path)] == [1 << 20] * 3
    with pytest.raises(errors.FileUnreadable):
        list(pieces(tmp_path / "none"))


MARKS = Answer(200, {"content-type": "application/json"}, b'{"ai_made": true, "job": "job_1"}')


def test_a_small_file_goes_with_the_question_what_marks_it_has(tmp_path: Path) -> None:
    path = tmp_path / "out.jpg"
    path.write_bytes(CONTENT)
    for given in (CONTENT, path):
        service = Played([MARKS])
        assert service.run(verify(given, STEADY)).job == "job_1"
        assert [(call.path, call.form[0].name, call.form[0].content) for call in service.calls] == [
            ("/v1/verify", "file", CONTENT)
        ]


def test_a_large_file_and_an_upload_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = StoredView(id="upl_1", size_bytes=len(CONTENT), sha256=hashlib.sha256(CONTENT).hexdigest())
    service = Played([MARKS])
    assert service.run(verify(stored, STEADY)).ai_made
    assert service.calls[0].words == {"upload": "upl_1"}
    monkeypatch.setattr(files, "_WITH_QUESTION_BYTES", 10)
    place = UploadView(id="upl_1", url="http://x/put", expires_ms=1, most_bytes=1 << 20)
    answers = [Answer(200, {}, view.model_dump_json().encode()) for view in (place, stored)]
    service = Played([*answers, MARKS])
    assert service.run(verify(CONTENT, STEADY)).job == "job_1"
    assert [call.path for call in service.calls] == ["/v1/uploads", "http://x/put", "/v1/verify"]


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(errors.FileUnreadable):
        Played([]).run(verify(tmp_path / "none.jpg", STEADY))
