"""A scanner that is slow, rude or full: each time there is no word, and the wait for it ends."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager

import pytest

from secondface.errors import InvalidSetting, ScannerUnavailable
from secondface.scanning.clamd import Clamd, Place
from tests.clamd import EICAR, clamd

_MIB = bytes(1 << 20)


@contextmanager
def peer(talk: Callable[[socket.socket], object]) -> Generator[Place]:
    """A server that treats each connection so, then closes it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection = listener.accept()[0]
                except OSError:
                    return
                with connection:
                    talk(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield Place("127.0.0.1", listener.getsockname()[1])
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(10)


def answering(words: bytes) -> Callable[[socket.socket], None]:
    """Reads one short stream to its end, and says this."""

    def talk(connection: socket.socket) -> None:
        heard = b""
        while not heard.endswith(bytes(4)) and (more := connection.recv(1 << 16)):
            heard += more
        connection.sendall(words)

    return talk


@pytest.mark.parametrize(
    "words",
    [
        b"", b"stream: ERROR\n", b"stream: Can't allocate memory ERROR\n", b"INSTREAM size limit exceeded. ERROR\n",
        b"\xff\xfe\n", b"OK\n", b"stream: fine\n", b"UNKNOWN COMMAND\n", b"x" * 100_000,
        b"stream: Heuristics.Limits.Exceeded.MaxFileSize FOUND\n",
    ],
)  # fmt: skip
def test_all_but_a_plain_word_is_none(words: bytes) -> None:
    with peer(answering(words)) as place, pytest.raises(ScannerUnavailable):
        Clamd(place, 10).scan([b"file"])


@pytest.mark.parametrize(("words", "found"), [(b"stream: OK\n", None), (b"stream: A\x1b[2J.B FOUND\n", "A[2J.B")])
def test_a_plain_word_counts_and_its_name_moves_no_terminal(words: bytes, found: str | None) -> None:
    with peer(answering(words)) as place:
        assert Clamd(place, 10).scan([b"file"]) == found


def test_one_that_never_answers_is_waited_for_no_longer_than_said() -> None:
    with peer(lambda connection: threading.Event().wait(3)) as place:
        began = time.monotonic()
        with pytest.raises(ScannerUnavailable, match="1 s"):
            Clamd(place, 1).scan([b"file"])
        with pytest.raises(ScannerUnavailable):
            Clamd(place, 1).check()
        assert time.monotonic() - began < 5


def test_one_that_reads_nothing_holds_nobody() -> None:
    """What was not sent must not keep the connection from being given up."""
    with peer(lambda connection: threading.Event().wait(4)) as place:
        began = time.monotonic()
        with pytest.raises(ScannerUnavailable, match="1 s"):
            Clamd(place, 1).scan([_MIB] * 64)
        assert time.monotonic() - began < 4


def test_one_that_hangs_up_in_the_middle_is_no_word() -> None:
    with peer(lambda connection: connection.recv(16)) as place, pytest.raises(ScannerUnavailable):
        Clamd(place, 10).scan([_MIB] * 64)


def test_a_slow_sender_counts_too() -> None:
    def dripping() -> Iterator[bytes]:
        for _ in range(30):
            time.sleep(0.1)
            yield b"drop"

    with peer(answering(b"stream: OK\n")) as place, pytest.raises(ScannerUnavailable, match="1 s"):
        Clamd(place, 1).scan(dripping())


def test_a_file_over_the_scanners_own_limits_is_not_called_clean() -> None:
    """Both of clamd's ways: it breaks off, and it stops looking."""
    for limits in ({"StreamMaxLength": "1M"}, {"MaxFileSize": "1M"}):
        with clamd(limits) as running:
            scanner = Clamd(Place.read(running.address), 30)
            with pytest.raises(ScannerUnavailable):
                scanner.scan([*[_MIB] * 3, EICAR])
            assert scanner.scan([_MIB[:1000]]) is None


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("127.0.0.1:3310", Place("127.0.0.1", 3310)), ("clamd.internal:1", Place("clamd.internal", 1)),
        ("[::1]:3310", Place("::1", 3310)), ("/run/clamav/clamd.ctl", Place(socket="/run/clamav/clamd.ctl")),
    ],
)  # fmt: skip
def test_where_it_is(text: str, place: Place) -> None:
    assert Place.read(text) == place
    assert str(place) == text


@pytest.mark.parametrize("text", ["clamd", ":3310", "host:", "host:0", "host:70000", "host:x", "run/clamd.ctl", "[:1"])
def test_what_is_no_place(text: str) -> None:
    with pytest.raises(InvalidSetting, match="scanner"):
        Place.read(text)
