"""What is read before frames flow, and what is not read again."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from secondface.errors import BadMedia
from secondface.media.images import read_still
from secondface.models.sessions import OrtSessions
from secondface.pipeline import preparation
from secondface.pipeline.passage import Conduct
from secondface.pipeline.people import SourcePeople
from secondface.pipeline.preparation import read_casting
from secondface.spec.schemas import RunRequest


@pytest.fixture
def request_for(tmp_path: Path) -> RunRequest:
    """A run with one source person of two pictures."""
    for code, name in enumerate(("a.png", "b.png", "target.png")):
        cv2.imwrite(str(tmp_path / name), np.full((16, 16, 3), 60 * code, np.uint8))
    pictures = [tmp_path / "a.png", tmp_path / "b.png"]
    return RunRequest.of_files(pictures, tmp_path / "target.png", tmp_path / "out.png", same_person=True)


def test_pictures_of_a_known_person_are_not_decoded(request_for: RunRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(
        preparation, "read_still", lambda path, limits: (read.append(path.name), read_still(path, limits))[1]
    )
    conduct = Conduct(OrtSessions("cpu"))
    casting = read_casting(request_for, conduct)
    assert read == ["a.png", "b.png"]
    assert [int(picture.rgb[0, 0, 0]) for picture in casting.sources[0]] == [0, 60]
    assert len(read) == 2
    conduct.people.recall(casting.sources, lambda: SourcePeople((), ("known",)))
    again = read_casting(request_for, conduct)
    assert len(read) == 2
    assert conduct.people.recall(again.sources, lambda: SourcePeople(())).notes == ("known",)
    Path(request_for.sources[0].images[0]).write_bytes(request_for.target.read_bytes())
    read_casting(request_for, conduct)
    assert len(read) == 4


def test_a_picture_that_cannot_be_read_is_refused_before_the_device_works(request_for: RunRequest) -> None:
    request_for.sources[0].images[1].write_bytes(b"no picture")
    conduct = Conduct(OrtSessions("cpu"))
    with pytest.raises(BadMedia):
        read_casting(request_for, conduct)
    assert conduct.active.busy_ns == 0
