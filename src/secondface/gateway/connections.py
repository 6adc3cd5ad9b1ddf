"""Connections that bring no request are closed, whether they are silent or let their headers drip."""

from __future__ import annotations

from asyncio import TimerHandle, Transport
from typing import Any, Final, cast

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

_LOOK_S: Final = 10.0
_PATIENCE: Final = 2
"""Looks in a row that find no request before the connection is closed."""


class PatientProtocol(H11Protocol):
    """The server's protocol with an end to waiting: its own begins only after the first answer."""

    look_s = _LOOK_S

    def __init__(self, *arguments: Any, **words: Any) -> None:
        super().__init__(*arguments, **words)
        self._seen: RequestResponseCycle | None = None
        self._idle = 0
        self._timer: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override] - as the library has it
        super().connection_made(transport)
        self._timer = self.loop.call_later(self.look_s, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        cycle = cast("RequestResponseCycle | None", self.cycle)  # there is none before the first request
        answering = cycle is not None and not cycle.response_complete
        self._idle = 0 if answering or cycle is not self._seen else self._idle + 1
        self._seen = cycle
        if self._idle >= _PATIENCE:
            self.transport.close()
        else:
            self._timer = self.loop.call_later(self.look_s, self._look)
