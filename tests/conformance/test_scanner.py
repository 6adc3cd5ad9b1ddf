"""What every scanner promises: a name, nothing, or no word at all. On clamd, by its port and by its socket."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator

import pytest

from secondface.domain.ports import Scanner
from secondface.errors import ScannerUnavailable
from secondface.scanning.clamd import Clamd, Place
from tests.clamd import EICAR, NAME, Running, clamd
from tests.unit.fleet.workshop import SAMPLE

PICTURE = (SAMPLE / "person_a.jpg").read_bytes()


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with clamd() as made:
        yield made


@pytest.fixture(params=["port", "socket"])
def scanner(request: pytest.FixtureRequest, running: Running) -> Scanner:
    return Clamd(Place.read(running.address if request.param == "port" else running.socket), 60)


def packed(content: bytes) -> bytes:
    """A ZIP archive whose bytes show nothing of what is in it."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("readme.txt", content)
    assert content not in archive.getvalue()
    return archive.getvalue()


HARMFUL = {
    "alone": EICAR,
    "at the end of a picture": PICTURE + EICAR,
    "a picture that is an archive too": PICTURE + packed(EICAR),
    "across two chunks": b"\x89PNG\r\n\x1a\n" + bytes(70_000) + EICAR,
}


@pytest.mark.parametrize("case", HARMFUL)
def test_what_is_harmful_is_named(scanner: Scanner, case: str) -> None:
    content = HARMFUL[case]
    middle = len(content) - len(EICAR) // 2
    assert scanner.scan([content[:middle], b"", content[middle:]]) == NAME


@pytest.mark.parametrize("content", [PICTURE, b"", EICAR[:-1]], ids=["picture", "empty", "all but a sign"])
def test_what_is_clean_is_nothing(scanner: Scanner, content: bytes) -> None:
    assert scanner.scan([content]) is None


def test_it_says_whether_it_answers(scanner: Scanner) -> None:
    scanner.check()


def test_what_goes_wrong_while_reading_keeps_its_name(scanner: Scanner) -> None:
    def broken() -> Iterator[bytes]:
        yield PICTURE
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        scanner.scan(broken())


def test_one_that_is_not_there_gives_no_word() -> None:
    for place in ("127.0.0.1:1", "/nowhere/clamd.ctl"):
        with pytest.raises(ScannerUnavailable):
            Clamd(Place.read(place), 5).scan([PICTURE])
        with pytest.raises(ScannerUnavailable):
            Clamd(Place.read(place), 5).check()
