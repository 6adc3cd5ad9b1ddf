"""The asynchronous client of a service: the flows of the blocking one, carried out without blocking."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TypeVar, Unpack, cast

import httpx

from secondface.errors import InternalFault
from secondface.sdk import accounts, jobs, reviews
from secondface.sdk.calls import Answer, Call, Effect, Flow, Give, Open, Outcome, Pause, Take
from secondface.sdk.files import download, pieces, upload, verify
from secondface.sdk.inputs import Asked, Given, Goal, JobWords
from secondface.sdk.jobs import OnEvent, Picture
from secondface.sdk.retries import Retries
from secondface.sdk.wire import answer_of, client_options, request_options, unreachable
from secondface.spec.service import EventKind, RoleName
from secondface.spec.trust_views import MarksView, ProtectedPage, ProtectedView, ReviewPage, ReviewView
from secondface.spec.views import (
    EventView,
    JobPage,
    JobStateName,
    JobView,
    KeyPage,
    KeyView,
    LedgerPage,
    NewKeyView,
    NewWebhookView,
    OwnAccountView,
    PricesView,
    QuoteView,
    ReceiptView,
    StoredView,
    UsageView,
)

_T = TypeVar("_T")


class AsyncClient:
    """A service at an address, with a key. Raises the service's errors as those of `secondface.errors`.

    Requests that may be sent again are, with growing pauses; a job is never made twice.
    """

    def __init__(
        self, server: str, key: str = "", *, retries: Retries | None = None, timeout: httpx.Timeout | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep, transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:  # fmt: skip
        self._http = httpx.AsyncClient(**client_options(server, timeout), transport=transport)
        self._key, self._retries, self._sleep = key, retries or Retries(), sleep

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def upload(self, content: Path | str | bytes) -> StoredView:
        """Send a file once, to be named in several jobs; it is read as it is sent, and its digest is compared."""
        return await self._run(upload(content if isinstance(content, bytes) else Path(content), self._retries))

    async def quote(
        self, sources: Sequence[Given], target: Given, *, reference: Given | None = None,
        mapping: Sequence[tuple[int, Goal]] = (), **words: Unpack[JobWords],
    ) -> QuoteView:  # fmt: skip
        """What a job would cost at most, in micro-units, and how long it would take."""
        asked = Asked(sources=sources, target=target, reference=reference, mapping=mapping, words=words)
        return await self._run(jobs.quote(asked, self._retries))

    async def submit(
        self, sources: Sequence[Given], target: Given, *, reference: Given | None = None,
        mapping: Sequence[tuple[int, Goal]] = (), idempotency_key: str | None = None, **words: Unpack[JobWords],
    ) -> JobView:  # fmt: skip
        """Submit a job. With an idempotency key of your own, calls after a crash of yours find the same job."""
        asked = Asked(sources=sources, target=target, reference=reference, mapping=mapping, words=words)
        return await self._run(jobs.submit(asked, idempotency_key, self._retries))

    async def job(self, job_id: str) -> JobView:
        """A job as it is now."""
        return await self._run(jobs.job(job_id, self._retries))

    async def jobs(self, states: Sequence[JobStateName] = (), *, after: str | None = None, limit: int = 50) -> JobPage:
        """The account's jobs, newest first."""
        return await self._run(jobs.jobs(states, after, limit, self._retries))

    def events(self, job_id: str, *, after: int = 0) -> AsyncIterator[EventView]:
        """What happened to a job after an event's number, then what happens, until it has ended."""
        return self._each(jobs.events(job_id, after, self._retries))

    async def wait(self, job_id: str, on_event: OnEvent | None = None, *, poll_s: float = 1.0) -> JobView:
        """The job when it has succeeded. Raises the error that it ended with, Cancelled or JobExpired."""
        return jobs.require_success(await self.wait_until_ended(job_id, on_event, poll_s=poll_s))

    async def wait_until_ended(self, job_id: str, on_event: OnEvent | None = None, *, poll_s: float = 1.0) -> JobView:
        """The job when it has ended, however it ended. Events come as they happen; without them it is asked for."""
        return await self._run(jobs.wait(job_id, on_event, poll_s, self._retries))

    async def download(self, job_id: str, output: Path | str) -> Path:
        """The result as a file: fetched into NAME.part, continued where it broke off, checked, then renamed."""
        return await self._run(download(job_id, Path(output), self._retries))

    async def receipt(self, job_id: str) -> ReceiptView:
        """What a job has cost, line by line, and why."""
        return await self._run(jobs.receipt(job_id, self._retries))

    async def cancel(self, job_id: str) -> JobView:
        """Stop a job; one that has ended stays as it is."""
        return await self._run(jobs.cancel(job_id, self._retries))

    async def approve(self, job_id: str) -> JobView:
        """Let a job run that waits for approval."""
        return await self._run(jobs.approve(job_id, self._retries))

    async def reject(self, job_id: str) -> JobView:
        """Refuse a job that waits for approval."""
        return await self._run(jobs.reject(job_id, self._retries))

    async def swap(
        self, source: Path | str | bytes, target: Path | str | bytes, *, accept: str = "image/png", wait_s: int = 30,
        **words: Unpack[JobWords],
    ) -> Picture:  # fmt: skip
        """Two pictures in, one out, in the type that `accept` names."""
        return await self._run(jobs.swap(source, target, accept, wait_s, words, self._retries))

    async def verify(self, content: Path | str | bytes | StoredView) -> MarksView:
        """Which marks of an AI-made file are there, who signed, and which of the account's jobs made it."""
        given = Path(content) if isinstance(content, str) else content
        return await self._run(verify(given, self._retries))

    async def prices(self) -> PricesView:
        """The price book."""
        return await self._run(accounts.prices(self._retries))

    async def usage(self, from_ms: int | None = None, until_ms: int | None = None) -> UsageView:
        """What the account's jobs of a stretch of time consumed."""
        return await self._run(accounts.usage(from_ms, until_ms, self._retries))

    async def account(self) -> OwnAccountView:
        """The account's money and limits, and the key that is used."""
        return await self._run(accounts.account(self._retries))

    async def ledger(self, *, before: int | None = None, limit: int = 50) -> LedgerPage:
        """The account's entries, newest first."""
        return await self._run(accounts.ledger(before, limit, self._retries))

    async def keys(self, account_id: str | None = None) -> KeyPage:
        """The keys of an account, by default of one's own."""
        return await self._run(accounts.keys(account_id, self._retries))

    async def create_key(
        self, role: RoleName, name: str | None = None, *, expires_s: int | None = None, account_id: str | None = None
    ) -> NewKeyView:
        """A new key; its text is in this answer and nowhere else."""
        return await self._run(accounts.create_key(role, name, expires_s, account_id, self._retries))

    async def revoke_key(self, key_id: str, *, account_id: str | None = None) -> KeyView:
        """Make a key useless from now on."""
        return await self._run(accounts.revoke_key(key_id, account_id, self._retries))

    async def create_webhook(self, url: str, kinds: Sequence[EventKind] = ()) -> NewWebhookView:
        """Have events of the account's jobs sent to an address; the secret is in this answer and nowhere else."""
        return await self._run(accounts.create_webhook(url, kinds, self._retries))

    async def reviews(self, *, after: str | None = None, limit: int = 50) -> ReviewPage:
        """Jobs that wait for a reviewer, of all accounts; for those with the scope review."""
        return await self._run(reviews.reviews(after, limit, self._retries))

    async def review(self, job_id: str) -> ReviewView:
        """A job that waits for a reviewer, with what was found."""
        return await self._run(reviews.review(job_id, self._retries))

    async def approve_review(self, job_id: str, reason: str) -> ReviewView:
        """Hand a held result out; not with the key that submitted the job."""
        return await self._run(reviews.decide(job_id, "approve", reason, self._retries))

    async def refuse_review(self, job_id: str, reason: str) -> ReviewView:
        """Keep a held result back for good; the job's caller reads the reason."""
        return await self._run(reviews.decide(job_id, "refuse", reason, self._retries))

    async def download_held(self, job_id: str, output: Path | str) -> Path:
        """A held result as a file, for a reviewer's eyes."""
        return await self._run(download(job_id, Path(output), self._retries, reviews.held_place(job_id)))

    async def protected(self) -> ProtectedPage:
        """The list of protected people; for operators, as the two that follow."""
        return await self._run(reviews.protected(self._retries))

    async def protect(
        self, pictures: Sequence[Path | str | bytes], note: str = "", *, entry_id: str | None = None
    ) -> ProtectedView:
        """Put somebody on the list by pictures, or add pictures to an entry; the service keeps none of them."""
        given = [each if isinstance(each, bytes) else Path(each) for each in pictures]
        return await self._run(reviews.protect(given, note, entry_id, self._retries))

    async def unprotect(self, entry_id: str) -> None:
        """Take somebody off the list."""
        await self._run(reviews.unprotect(entry_id, self._retries))

    async def _run(self, flow: Flow[_T]) -> _T:
        async with aclosing(self._steps(flow)) as steps:
            async for result in steps:
                if isinstance(result, _End):
                    return cast("_T", result.value)
        raise InternalFault("a flow ended without a result")

    async def _each(self, flow: Flow[bool]) -> AsyncIterator[EventView]:
        async with aclosing(self._steps(flow)) as steps:
            async for value in steps:
                if not isinstance(value, _End):
                    yield cast("EventView", value)

    async def _steps(self, flow: Flow[_T]) -> AsyncGenerator[object]:
        """Carry out a flow; yield what it gives, and its result as the last."""
        wire = _Wire(self._http, self._key, self._sleep)
        outcome: Outcome = None
        try:
            while True:
                try:
                    effect = flow.send(outcome)
                except StopIteration as end:
                    yield _End(end.value)
                    return
                outcome = None
                if isinstance(effect, Give):
                    yield effect.value
                else:
                    outcome = await wire.carry_out(effect)
        finally:
            await wire.close()
            flow.close()


@dataclass(frozen=True, slots=True)
class _End:
    """An asynchronous generator has no result of its own, so it comes as the last value."""

    value: object


class _Wire:
    """Carries out effects, one after another, with at most one open answer."""

    def __init__(self, http: httpx.AsyncClient, key: str, sleep: Callable[[float], Awaitable[None]]) -> None:
        self._http, self._key, self._sleep = http, key, sleep
        self._open: httpx.Response | None = None
        self._pieces: AsyncIterator[bytes] | None = None

    async def carry_out(self, effect: Effect) -> Outcome:
        try:
            match effect:
                case Call():
                    return await _whole(await self._sent(effect))
                case Open(call):
                    return await self._opened(call)
                case Take():
                    return None if self._pieces is None else await anext(self._pieces, None)
                case Pause(seconds):
                    await self._sleep(seconds)
                case _:
                    await self.close()
        except httpx.HTTPError as error:
            await self.close()
            return unreachable(error)
        return None

    async def close(self) -> None:
        response, self._open, self._pieces = self._open, None, None
        if response is not None:
            await response.aclose()

    async def _opened(self, call: Call) -> Answer:
        await self.close()
        response = await self._sent(call)
        if not response.is_success:
            return await _whole(response)
        self._open, self._pieces = response, response.aiter_raw()
        return answer_of(response)

    async def _sent(self, call: Call) -> httpx.Response:
        body = None if call.file is None else _pieces(call.file)
        request = self._http.build_request(content=body, **request_options(call, self._key))
        return await self._http.send(request, stream=True)


async def _whole(response: httpx.Response) -> Answer:
    async with aclosing(response):
        return answer_of(response, await response.aread())


async def _pieces(content: Path | bytes) -> AsyncIterator[bytes]:
    for piece in pieces(content):
        yield piece
