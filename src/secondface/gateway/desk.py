"""What the routes of jobs share: the parts that the application was put together from, and how a job is taken in."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from threading import Event
from typing import Annotated, cast

import anyio
from anyio import to_thread
from fastapi import Depends, FastAPI, Request

from secondface.control.admission import Accepted
from secondface.control.auth import Caller
from secondface.domain.jobs import Job
from secondface.errors import InvalidOption, RateLimited, SecondfaceError
from secondface.gateway.addresses import AddressGuard, Resolve
from secondface.gateway.approvals import code_asked
from secondface.gateway.forms import Filled, read_job
from secondface.gateway.inputs import Inputs
from secondface.gateway.intake import Intake, Scanned
from secondface.gateway.options import GatewayOptions
from secondface.gateway.orders import Orders, facts_of, waives_label
from secondface.gateway.outgoing import Outgoing
from secondface.gateway.service import Service
from secondface.observe import log

_LONGEST_KEY = 200
_SHORTEST_LOOK_S = 0.01
_LONGEST_LOOK_S = 0.25


@dataclass(frozen=True, slots=True)
class Desk:
    """The parts of one application."""

    service: Service
    options: GatewayOptions
    guard: AddressGuard
    outgoing: Outgoing
    intake: Intake
    inputs: Inputs
    orders: Orders
    closing: Event = field(default_factory=Event)
    """Set when the server is told to end: what waits for jobs then stops waiting, and its callers come again."""

    @classmethod
    def over(
        cls, service: Service, options: GatewayOptions, resolve: Resolve | None = None,
        scanned: Scanned = lambda _verdict, _seconds: None,
    ) -> Desk:  # fmt: skip
        """Put the parts together. `resolve` replaces this machine's way to look up names."""
        guard = AddressGuard(resolve, options.private_networks)
        outgoing = Outgoing(guard)
        intake = Intake(service.objects, service.shelf, options.uploads_at_once, service.screening, scanned)
        inputs = Inputs(service, options, intake, outgoing)
        return cls(service, options, guard, outgoing, intake, inputs, Orders(service))

    async def read(self, request: Request, caller: Caller) -> Filled:
        """A job's request with its inputs; who may not submit is told before anything is stored."""
        caller.require("jobs:write")
        return await read_job(request, caller, self.inputs)

    async def submit(self, request: Request, caller: Caller, filled: Filled) -> Accepted:
        """Take the job in, or find the one that the same request made before."""
        key = request.headers.get("idempotency-key")
        if key is not None and not (0 < len(key) <= _LONGEST_KEY and key.isascii() and key.isprintable()):
            raise InvalidOption(f"An Idempotency-Key has 1 to {_LONGEST_KEY} printable signs.")

        code = code_asked(request)

        def accept() -> Accepted:
            try:
                submission = self.orders.submission(caller, filled.options, filled.material, key)
                self.orders.require_served(submission.tier)
                accepted = self.service.admission.submit(caller, replace(submission, one_time_code=code))
            except SecondfaceError as error:
                if error.fault == "caller" and not isinstance(error, RateLimited):
                    self.service.admission.refuse(caller, error.code, facts_of(filled.options, filled.material))
                raise
            if waives_label(filled.options) and not accepted.replayed:
                # the words themselves are kept with the job; a log holds no names of people
                log("job.label_waived", job=accepted.job.id, account=caller.account.id)
            return accepted

        return await to_thread.run_sync(accept)

    async def wait(self, caller: Caller, job: Job, seconds: float) -> Job:
        """The job when it has ended or waits for a reviewer, who may be asleep; or as it is after that time."""
        began = anyio.current_time()
        with self.service.news.listen(job.id) as listener:
            while not (job.ended or job.state == "held"):
                if (spent := anyio.current_time() - began) >= seconds:
                    break
                # Looking costs a question to the database, late looking costs time, where no word comes: a twentieth
                # of what was waited so far.
                await listener.wait(min(max(_SHORTEST_LOOK_S, spent / 20), _LONGEST_LOOK_S, seconds - spent))
                job = await to_thread.run_sync(self.service.requests.get, caller, job.id)
                if self.closing.is_set():
                    break
        return job


def desk_of(request: Request) -> Desk:
    """The parts of the application that a request came to."""
    return desk_of_application(request.app)


def desk_of_application(app: FastAPI) -> Desk:
    """The parts that an application was put together from."""
    return cast("Desk", app.state.desk)


WithDesk = Annotated[Desk, Depends(desk_of)]


def wait_asked(request: Request, usual_s: int, most_s: int) -> int:
    """Seconds of `Prefer: wait=N`, within what the operator allows."""
    for word in request.headers.get("prefer", "").split(","):
        name, _, value = word.partition("=")
        if name.strip().lower() == "wait" and value.strip().isdecimal() and len(value.strip()) < 10:
            return min(int(value), most_s)
    return min(usual_s, most_s)
