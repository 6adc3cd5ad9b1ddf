"""Sends webhooks: takes what is due from the outbox, posts it to a judged address, and writes down the answer.

Several senders may work at once: what one has taken, no other gets for a minute. A sender that dies loses nothing.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence

from anyio import to_thread

from secondface import observe
from secondface.control import webhooks
from secondface.domain.deliveries import PAUSES_S, Delivery, Endpoint
from secondface.errors import SecondfaceError
from secondface.gateway.outgoing import Outgoing
from secondface.gateway.refusals import AddressForbidden
from secondface.gateway.service import Service

_AT_ONCE = 16
_LEASE_MS = 60_000
_ANSWER_S = 20.0
_PAUSE_S = 1.0
_JITTER_PERCENT = 20


class Sender:
    """The loop of one process."""

    def __init__(self, service: Service, outgoing: Outgoing, tried: Callable[[str], None]) -> None:
        self._service, self._outgoing, self._tried = service, outgoing, tried

    async def run(self, pause_s: float = _PAUSE_S) -> None:
        """Send for ever; a database that is away is asked again."""
        while True:
            try:
                sent = await self.step()
            except SecondfaceError as error:
                observe.log("webhooks.waiting", "warning", code=error.code)
                sent = 0
            if not sent:
                await asyncio.sleep(pause_s)

    async def step(self) -> int:
        """Send what is due now; returns how many."""
        due = await to_thread.run_sync(self._take)
        await asyncio.gather(*(self._send(delivery, endpoint) for delivery, endpoint in due))
        return len(due)

    def _take(self) -> Sequence[tuple[Delivery, Endpoint | None]]:
        with self._service.transactions.begin() as work:
            taken = work.outbox.due(_AT_ONCE, _LEASE_MS)
            endpoints = {each.id: each for name in {d.account for d in taken} for each in work.outbox.endpoints(name)}
        return [(delivery, endpoints.get(delivery.endpoint)) for delivery in taken]

    async def _send(self, delivery: Delivery, endpoint: Endpoint | None) -> None:
        status, note = await self._try(delivery, endpoint)
        pause_ms = PAUSES_S[min(delivery.tries, len(PAUSES_S) - 1)] * 1000
        jitter_ms = random.randrange(pause_ms * _JITTER_PERCENT // 100 + 1)  # noqa: S311 - it spreads load, no secret

        def answered() -> None:
            after = self._service.subscriptions.answered(delivery, status, jitter_ms=jitter_ms, note=note)
            observe.log("webhook.tried", delivery=delivery.id, status=status, state=after.state, note=note)

        await to_thread.run_sync(answered)
        self._tried("delivered" if status is not None and 200 <= status < 300 else "refused" if status else "failed")

    async def _try(self, delivery: Delivery, endpoint: Endpoint | None) -> tuple[int | None, str]:
        if endpoint is None or not endpoint.enabled:
            return 410, "The webhook is switched off."
        headers = webhooks.headers(delivery, endpoint.secret, self._service.clock.now_ms() // 1000)
        try:
            return await self._outgoing.post(endpoint.url, delivery.body.encode(), headers, _ANSWER_S), ""
        except AddressForbidden as error:
            return None, str(error)
        except SecondfaceError as error:
            return None, error.detail
