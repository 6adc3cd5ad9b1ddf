"""The only door to clamd: bytes go to it as a stream, and its word comes back as ours.

Decides how long it is waited for, and what counts as an answer: all but a plain "OK" to the whole stream is none, and
who asked has to refuse. Must not know what is scanned, or what follows from what was found.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from aioclamd import BufferTooLongError, ClamdAsyncClient, ClamdError

from secondface.errors import InvalidSetting, ScannerUnavailable
from secondface.observe import log

_CONNECT_S = 5.0
_PING_S = 3.0
_LONGEST_NAME = 100
_UNSCANNED = "Heuristics.Limits.Exceeded"
"""What clamd calls a file that it did not read to its end; with `AlertExceedsMax no` it would call it clean."""
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Place:
    """Where clamd listens: a port of a host, or a Unix socket."""

    host: str = ""
    port: int = 0
    socket: str = ""

    @classmethod
    def read(cls, text: str) -> Place:
        """HOST:PORT, [HOST]:PORT or the absolute path of a socket. Raises InvalidSetting."""
        if text.startswith("/"):
            return cls(socket=text)
        host, _, port = text.rpartition(":")
        host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
        if not host or host.strip("[]") != host or not port.isdecimal() or not 0 < int(port[:6]) < 65536:
            raise InvalidSetting("scanner: it is HOST:PORT, or the path of a Unix socket from / on.")
        return cls(host, int(port))

    def __str__(self) -> str:
        return self.socket or f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


class Clamd:
    """A scanner that asks clamd, one connection a file."""

    def __init__(self, place: Place, answer_s: float) -> None:
        self._place, self._answer_s = place, answer_s

    def scan(self, chunks: Iterable[bytes]) -> str | None:
        """The name of what was found in the bytes. Raises ScannerUnavailable where it was not looked at all of them."""
        said = self._asked(lambda client: client.instream(_Feed(chunks)), self._answer_s)
        if not isinstance(said, dict) or len(said) != 1:  # it went away without a word: the library says None
            raise self._for_reason("It gave no answer.")
        (status, reason), *_ = said.values()
        found = "".join(sign for sign in str(reason or "") if sign.isprintable())[:_LONGEST_NAME]
        if status == "OK":
            return None
        if status != "FOUND" or found.startswith(_UNSCANNED):
            raise self._for_reason("It did not look at the whole file.", found)
        return found or "unnamed"

    def check(self) -> None:
        """Ask whether it answers at all. Raises ScannerUnavailable."""
        if self._asked(lambda client: client.ping(), min(_PING_S, self._answer_s)) != "PONG":
            raise self._for_reason("It gave no answer.")

    def _asked(self, talk: Callable[[ClamdAsyncClient], Coroutine[Any, Any, _Result]], seconds: float) -> _Result:
        # The library speaks to hosts alone, and only inside of a loop: each conversation has one of its own.
        line = _Line(self._place)
        with asyncio.Runner(loop_factory=lambda: line) as runner:
            try:
                client = ClamdAsyncClient(self._place.host, self._place.port)
                return runner.run(line.within(talk(client), seconds))
            except TimeoutError as error:
                raise self._for_reason(f"It did not answer in {seconds:.0f} s.") from error
            except BufferTooLongError as error:
                raise self._for_reason("It takes no file of this size.", "StreamMaxLength") from error
            except ClamdError as error:
                raise self._for_reason("It cannot be reached.", f"{error}: {error.__cause__ or ''}") from error
            except OSError as error:
                # What it does to a stream that is longer than it takes: it hangs up on whoever still speaks.
                raise self._for_reason("It broke off before the end of the file.", "StreamMaxLength?") from error

    def _for_reason(self, what: str, why: str = "") -> ScannerUnavailable:
        log("scanner.failed", "warning", place=str(self._place), what=what, why=why)
        return ScannerUnavailable(what)


class _Feed:
    """Chunks as the library wants to read them. It asks for one KiB a time, which costs a change of thread each:
    it gets a whole chunk, and frames whatever it gets."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)

    def read(self, _size: int) -> bytes:
        return next((chunk for chunk in self._chunks if chunk), b"")


class _Line(asyncio.SelectorEventLoop):
    """The loop of one conversation: whatever connects on it reaches the one place, or gives up soon."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self._place = place
        self._opened: list[asyncio.BaseTransport] = []

    async def create_connection(self, protocol_factory: Any, *_where: Any, **_options: Any) -> Any:
        async with asyncio.timeout(_CONNECT_S):
            if self._place.socket:
                made = await super().create_unix_connection(protocol_factory, self._place.socket)
            else:
                made = await super().create_connection(protocol_factory, self._place.host, self._place.port)
        self._opened.append(made[0])
        return made

    async def within(self, talk: Coroutine[Any, Any, _Result], seconds: float) -> _Result:
        """What the conversation comes to. Raises TimeoutError, and what it raises."""
        task = asyncio.ensure_future(talk)
        await asyncio.wait({task}, timeout=seconds)
        if not task.done():
            # A plain close would wait until the other side takes what was not sent, and it may never.
            for each in self._opened:
                if isinstance(each, asyncio.WriteTransport):
                    each.abort()
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, ClamdError, OSError):
                await task
            raise TimeoutError
        return task.result()
