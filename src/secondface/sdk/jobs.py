"""Flows of jobs: quote, submit, follow, wait, end; and pictures swapped while one waits."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote as quoted

from pydantic import ValidationError

from secondface.sdk.answers import read_as
from secondface.sdk.calls import Answer, Call, Close, FilePart, Flow, Give, Pause, Unreachable, take
from secondface.sdk.event_stream import EventReader
from secondface.sdk.files import read_whole
from secondface.sdk.inputs import Asked, JobWords, options_of, request_of, said
from secondface.sdk.problems import AnswerUnreadable, error_of_code
from secondface.sdk.retries import Retries, call, opened
from secondface.spec.views import EventView, FactValue, JobPage, JobStateName, JobView, QuoteView, ReceiptView

OnEvent = Callable[[EventView], None]
ENDED: frozenset[JobStateName] = frozenset({"succeeded", "failed", "cancelled", "expired"})
_ENDINGS = frozenset(f"job.{state}" for state in ENDED)
_SILENT_STREAMS = 3
"""Streams in a row that bring nothing before we look at the job ourselves."""
_WAITING_TRIES = 12
"""Who waits for a job sits through a restart of the service, about two minutes."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that was swapped while one waited."""

    content: bytes
    media_type: str
    job_id: str


def quote(asked: Asked, retries: Retries) -> Flow[QuoteView]:
    request = yield from request_of(asked, retries)
    return read_as(QuoteView, (yield from call(Call(method="POST", path="/v1/quotes", words=said(request)), retries)))


def submit(asked: Asked, idempotency_key: str | None, retries: Retries) -> Flow[JobView]:
    request = yield from request_of(asked, retries)
    headers = {"idempotency-key": idempotency_key or uuid.uuid4().hex}
    wanted = Call(method="POST", path="/v1/jobs", words=said(request), headers=headers)
    return read_as(JobView, (yield from call(wanted, retries)))


def job(job_id: str, retries: Retries) -> Flow[JobView]:
    return read_as(JobView, (yield from call(Call(method="GET", path=_place(job_id)), retries)))


def jobs(states: Sequence[JobStateName], after: str | None, limit: int, retries: Retries) -> Flow[JobPage]:
    query = [("limit", str(limit)), *(("state", state) for state in states)]
    if after is not None:
        query.append(("after", after))
    return read_as(JobPage, (yield from call(Call(method="GET", path="/v1/jobs", query=tuple(query)), retries)))


def cancel(job_id: str, retries: Retries) -> Flow[JobView]:
    return read_as(JobView, (yield from call(Call(method="DELETE", path=_place(job_id)), retries)))


def approve(job_id: str, retries: Retries) -> Flow[JobView]:
    return read_as(JobView, (yield from call(_decision(job_id, "approve"), retries)))


def reject(job_id: str, retries: Retries) -> Flow[JobView]:
    return read_as(JobView, (yield from call(_decision(job_id, "reject"), retries)))


def receipt(job_id: str, retries: Retries) -> Flow[ReceiptView]:
    return read_as(ReceiptView, (yield from call(Call(method="GET", path=f"{_place(job_id)}/receipt"), retries)))


def events(job_id: str, after: int, retries: Retries) -> Flow[bool]:
    """Give each event; False where streams bring nothing, so that the job must be looked at."""
    silent = 0
    while True:
        headers = {"accept": "text/event-stream", "accept-encoding": "identity", "last-event-id": str(after)}
        head = yield from opened(Call(method="GET", path=f"{_place(job_id)}/events", headers=headers), retries)
        if not head.headers.get("content-type", "").startswith("text/event-stream"):
            yield Close()
            return False
        before = after
        after, ended = yield from _one_stream(after)
        yield Close()
        if ended:
            return True
        silent = 0 if after > before else silent + 1
        if silent >= _SILENT_STREAMS:
            return False
        yield Pause(retries.pause_s(1 + silent))


def _one_stream(after: int) -> Flow[tuple[int, bool]]:
    """Give the events of an open stream; the last number, and whether the job has ended."""
    reader = EventReader()
    while True:
        piece = yield from take()
        if piece is None or isinstance(piece, Unreachable):
            return after, False
        try:
            found = [EventView.model_validate_json(message.data) for message in reader.feed(piece)]
        except ValidationError as error:
            raise AnswerUnreadable("An event cannot be read.") from error
        for event in found:
            if event.number > after:  # a stream that is taken up again may repeat what we know
                after = event.number
                yield Give(event)
            if event.kind in _ENDINGS:
                return after, True


def wait(job_id: str, on_event: OnEvent | None, poll_s: float, retries: Retries) -> Flow[JobView]:
    """The job when it has ended, however it ended."""
    patient = replace(retries, most_tries=max(retries.most_tries, _WAITING_TRIES))
    last = 0

    def tell(event: EventView) -> None:
        nonlocal last
        last = event.number
        if on_event is not None:
            on_event(event)

    yield from _told(events(job_id, 0, patient), tell)
    done = -1
    while True:
        seen = yield from job(job_id, patient)
        if seen.state in ENDED:
            return seen
        if seen.done_frames > done >= 0:
            facts: dict[str, FactValue] = {"done": seen.done_frames, "total": seen.total_frames}
            tell(EventView(number=last, kind="job.progress", at_ms=seen.created_ms, facts=facts))
        done = seen.done_frames
        yield Pause(poll_s)


def require_success(seen: JobView) -> JobView:
    """A job that succeeded. Raises the error that it ended with, Cancelled or JobExpired."""
    if seen.state == "succeeded":
        return seen
    code = seen.error or {"cancelled": "cancelled", "expired": "job_expired"}.get(seen.state, "job_problem")
    detail = f"Job {seen.id} is {seen.state}."
    if seen.reason:
        detail = f"Job {seen.id}: {seen.reason}"
    elif seen.findings:
        found = seen.findings[0]
        detail = f"Job {seen.id} is {seen.state}: the rule {found.rule} refuses {found.place}."
    raise error_of_code(code, detail)


def swap(
    source: Path | str | bytes, target: Path | str | bytes, accept: str, wait_s: int, words: JobWords, retries: Retries
) -> Flow[Picture]:
    """A picture with the source's face in the target. Raises what the job ends with."""
    options = json.dumps(said(options_of(words))).encode()
    form = (FilePart("source", _content(source)), FilePart("target", _content(target)), FilePart("options", options))
    headers = {"accept": accept, "prefer": f"wait={wait_s}", "idempotency-key": uuid.uuid4().hex}
    reply = yield from call(Call(method="POST", path="/v1/swap", form=form, headers=headers), retries)
    if reply.status != 202:
        return _picture(reply, reply.headers.get("x-job-id", ""))
    seen = yield from wait(read_as(JobView, reply).id, None, 1.0, retries)
    require_success(seen)
    whole = yield from call(Call(method="GET", path=f"{_place(seen.id)}/result"), retries)
    return _picture(whole, seen.id)


def _picture(reply: Answer, job_id: str) -> Picture:
    return Picture(reply.body, reply.headers.get("content-type", "application/octet-stream"), job_id)


def _content(given: Path | str | bytes) -> bytes:
    return given if isinstance(given, bytes) else read_whole(Path(given))


def _told(flow: Flow[bool], on_value: Callable[[EventView], None]) -> Flow[bool]:
    """Run a flow inside of another one; what it gives goes to a function."""
    outcome = None
    try:
        while True:
            effect = flow.send(outcome)
            outcome = None
            if isinstance(effect, Give):
                assert isinstance(effect.value, EventView)
                on_value(effect.value)
            else:
                outcome = yield effect
    except StopIteration as end:
        return bool(end.value)
    finally:
        flow.close()


def _decision(job_id: str, word: str) -> Call:
    return Call(method="POST", path=f"{_place(job_id)}/{word}", repeatable=False)


def _place(job_id: str) -> str:
    """Where a job is; what a caller calls one leads nowhere else."""
    return f"/v1/jobs/{quoted(job_id, safe='')}"
