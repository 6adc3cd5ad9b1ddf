"""Events of a job as a stream that can be taken up again where it broke (server-sent events)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
from anyio import to_thread

from secondface.control.auth import Caller
from secondface.domain.deliveries import ENDINGS
from secondface.gateway.desk import Desk
from secondface.gateway.views import event_view

_LOOK_S = 0.2


async def job_events(desk: Desk, caller: Caller, job_id: str, after: int) -> AsyncIterator[str]:
    """Everything that happened after a number, then what happens, until the job or the server ends."""
    service, silence_s = desk.service, desk.options.heartbeat_s
    yield "retry: 1000\n\n"
    said = anyio.current_time()
    with service.news.listen(job_id) as listener:
        while True:
            # The state first: a job that had ended by then has written down all its events.
            job = await to_thread.run_sync(service.requests.get, caller, job_id)
            for recorded in await to_thread.run_sync(service.requests.events, caller, job_id, after):
                after, said = recorded.number, anyio.current_time()
                yield f"id: {after}\nevent: {recorded.event.kind}\ndata: {event_view(recorded).model_dump_json()}\n\n"
                if recorded.event.kind in ENDINGS:
                    return
            if job.ended or desk.closing.is_set():
                return
            if anyio.current_time() - said > silence_s:
                said = anyio.current_time()
                yield ": still here\n\n"
            await listener.wait(_LOOK_S)
