"""Jobs: submit, look, follow, fetch, cancel; and pictures swapped while the caller waits."""

from __future__ import annotations

from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from secondface import errors
from secondface.domain.findings import worst
from secondface.domain.jobs import Job
from secondface.errors import InvalidOption, JobSettled
from secondface.gateway import refusals
from secondface.gateway.acceptance import picture_asked
from secondface.gateway.access import WithCaller, WithService
from secondface.gateway.approvals import CODE_HEADER, CODE_REFUSALS
from secondface.gateway.desk import Desk, WithDesk, wait_asked
from secondface.gateway.files import file_answer
from secondface.gateway.forms import JOB_BODY, Filled
from secondface.gateway.inputs import SCANNER_SAYS
from secondface.gateway.problems import BY_CODE, responses
from secondface.gateway.service import Service
from secondface.gateway.streams import job_events
from secondface.gateway.views import job_view, quote_view, receipt_view, result_name
from secondface.spec.service import JobOptions
from secondface.spec.views import JobPage, JobStateName, JobView, QuoteView, ReceiptView

router = APIRouter(tags=["jobs"])

JobId = Annotated[str, Path(min_length=1, max_length=100, description="A job's id.")]
_IDEMPOTENCY: dict[str, Any] = {
    "parameters": [{
        "name": "Idempotency-Key", "in": "header", "required": False,
        "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[ -~]+$"},
        "description": "The same key with the same body is the same job; with another body it is refused.",
    }],
}  # fmt: skip
_WAIT: dict[str, Any] = {
    "name": "Prefer", "in": "header", "required": False, "schema": {"type": "string"},
    "description": "`wait=N`: wait up to N seconds for the result, then answer 202.", "example": "wait=10",
}  # fmt: skip
INPUT_REFUSALS = (
    errors.InvalidOption, errors.MediaUnsupported, errors.MediaCorrupt, errors.MediaEmpty, errors.MediaTooLarge,
    errors.FileUnreadable, errors.ObjectMissing, errors.InvalidPipeline, errors.UnknownStep, errors.TooManySources,
    errors.MappingUnresolved, errors.OutputFormatUnsupported, refusals.AddressForbidden, refusals.FetchFailed,
    errors.CageUnavailable, errors.DiskFull, errors.UploadsFull, *SCANNER_SAYS,
)  # fmt: skip
SUBMIT_REFUSALS = (
    *INPUT_REFUSALS, errors.BudgetExceeded, errors.RequestChanged, errors.LikenessUnconfirmed, *CODE_REFUSALS,
)  # fmt: skip


@router.post(
    "/v1/jobs", status_code=202, response_model=JobView, responses=responses(*SUBMIT_REFUSALS),
    openapi_extra={**JOB_BODY, "parameters": [*_IDEMPOTENCY["parameters"], CODE_HEADER]},
)  # fmt: skip
async def submit(request: Request, caller: WithCaller, desk: WithDesk) -> JSONResponse:
    """Submit a job: JSON that names uploads or addresses, or a form with the files."""
    filled = await desk.read(request, caller)
    accepted = await desk.submit(request, caller, filled)
    return await to_thread.run_sync(_accepted, desk.service, accepted.job)


@router.get("/v1/jobs", responses=responses())
def jobs(
    caller: WithCaller, service: WithService,
    state: Annotated[list[JobStateName] | None, Query(description="Only jobs in one of these states.")] = None,
    after: Annotated[str | None, Query(max_length=100, description="The `next` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> JobPage:  # fmt: skip
    """The account's jobs, newest first."""
    found = service.requests.page(caller, state or (), after, limit)
    with service.transactions.view() as work:
        data = tuple(job_view(service, job, work) for job in found)
    return JobPage(data=data, next=found[-1].id if len(found) == limit else None)


@router.get("/v1/jobs/{job_id}", responses=responses(errors.JobMissing))
def job(job_id: JobId, caller: WithCaller, service: WithService) -> JobView:
    """A job as it is now."""
    return job_view(service, service.requests.get(caller, job_id))


@router.get(
    "/v1/jobs/{job_id}/events", response_class=Response,
    responses={200: {"content": {"text/event-stream": {}}, "description": "Events as they happen."},
               **responses(errors.JobMissing)},
)  # fmt: skip
async def events(
    job_id: JobId, caller: WithCaller, desk: WithDesk,
    last_event_id: Annotated[str | None, Header(max_length=20, description="Go on after this event.")] = None,
) -> StreamingResponse:  # fmt: skip
    """A job's events as they happen (server-sent events); ends with the job."""
    after = _number(last_event_id)
    await to_thread.run_sync(desk.service.requests.get, caller, job_id)  # a refusal comes before the stream
    stream = job_events(desk, caller, job_id, after)
    return StreamingResponse(
        stream, media_type="text/event-stream", headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    )


@router.get(
    "/v1/jobs/{job_id}/result", response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}, "description": "The file."},
               206: {"content": {"application/octet-stream": {}}, "description": "The range that was asked for."},
               304: {"description": "The caller has it already."},
               **responses(errors.JobMissing, errors.JobSettled, errors.ObjectMissing, errors.DataDeleted,
                           refusals.RangeUnsatisfiable)},
)  # fmt: skip
async def result(
    job_id: JobId, request: Request, caller: WithCaller, service: WithService,
    range: Annotated[str | None, Header(examples=["bytes=0-1023"])] = None,  # noqa: A002, ARG001 - documented here, read by `file_answer`
) -> Response:  # fmt: skip
    """The finished file, or a range of it."""
    found = await to_thread.run_sync(service.requests.get, caller, job_id)
    if found.result is None:
        raise JobSettled(f"It is {found.state}, so there is no result.", job=job_id, state=found.state)
    await to_thread.run_sync(service.retention.require_kept, found)
    return await file_answer(request, service.objects, found.result, result_name(found))


@router.get("/v1/jobs/{job_id}/receipt", responses=responses(errors.JobMissing))
def receipt(job_id: JobId, caller: WithCaller, service: WithService) -> ReceiptView:
    """What a job has cost and why; final once it has ended."""
    return receipt_view(*service.requests.receipt(caller, job_id))


@router.delete("/v1/jobs/{job_id}", responses=responses(errors.JobMissing))
def cancel(job_id: JobId, caller: WithCaller, service: WithService) -> JobView:
    """Cancel a job: what waits ends at once, what runs is stopped; one that has ended stays as it is."""
    return job_view(service, service.requests.cancel(caller, job_id))


@router.post("/v1/quotes", responses=responses(*INPUT_REFUSALS), openapi_extra=JOB_BODY)
async def quote(request: Request, caller: WithCaller, desk: WithDesk) -> QuoteView:
    """What a job would cost and how long it would take; nothing is charged and nothing is queued."""
    filled = await desk.read(request, caller)

    def offer() -> QuoteView:
        submission = desk.orders.submission(caller, filled.options, filled.material)
        made = desk.service.admission.quote(submission)
        facts, measured = filled.material.target.facts, submission.rate.measured
        return quote_view(made, facts, submission.probed.frames, measured=measured)

    return await to_thread.run_sync(offer)


@router.post(
    "/v1/swap", response_class=Response,
    responses={200: {"content": {kind: {} for kind in ("image/jpeg", "image/png", "image/webp", "image/avif")},
                     "description": "The picture."},
               202: {"model": JobView, "description": "It takes longer; follow the job."},
               **responses(*SUBMIT_REFUSALS, refusals.NotAcceptable, errors.NoFaceInSource, errors.NoFaceInTarget,
                           errors.ContentRefused, errors.SourceProtected, errors.JobProblem, errors.DataDeleted,
                           errors.ProviderFault)},
    openapi_extra={**JOB_BODY, "parameters": [*_IDEMPOTENCY["parameters"], CODE_HEADER, _WAIT]},
)  # fmt: skip
async def swap(request: Request, caller: WithCaller, desk: WithDesk) -> Response:
    """Two pictures in, one out: waits for the result, and answers in the type that the request accepts."""
    caller.require("jobs:read")  # before anything is stored: the answer is a result
    wanted, media_type = picture_asked(request.headers.get("accept", "*/*"))
    filled = await desk.read(request, caller)
    if not filled.material.sources:
        raise InvalidOption("A swap needs a picture of the new face: send it as source.")
    if filled.material.target.facts.kind != "still":
        raise InvalidOption("A swap takes pictures; submit videos to POST /v1/jobs.")
    as_asked = Filled(JobOptions.model_validate({**dict(filled.options), "output": wanted}), filled.material)
    accepted = await desk.submit(request, caller, as_asked)
    if accepted.job.state == "awaiting_approval":  # that may take a day
        return await to_thread.run_sync(_accepted, desk.service, accepted.job)
    wait_s = wait_asked(request, desk.options.swap_wait_s, desk.options.most_wait_s)
    ended = await desk.wait(caller, accepted.job, wait_s)
    if not ended.ended:
        return await to_thread.run_sync(_accepted, desk.service, ended)
    return await _picture(request, desk, ended, media_type)


async def _picture(request: Request, desk: Desk, job: Job, media_type: str) -> Response:
    if job.result is None:
        kind = BY_CODE.get(job.error or "", JobSettled)
        if found := worst(job.findings):
            detail = f"Job {job.id} is {job.state}: the rule {found.rule} refuses {found.input}."
            raise kind(detail, job=job.id)
        raise kind(f"Job {job.id} is {job.state}.", job=job.id)
    await to_thread.run_sync(desk.service.retention.require_kept, job)
    reply = await file_answer(request, desk.service.objects, job.result, result_name(job), media_type, inline=True)
    reply.headers["Location"] = f"/v1/jobs/{job.id}"
    reply.headers["X-Job-Id"] = job.id
    return reply


def _accepted(service: Service, job: Job) -> JSONResponse:
    view = job_view(service, job)
    return JSONResponse(view.model_dump(), 202, {"Location": view.links["self"]})


def _number(last_event_id: str | None) -> int:
    if last_event_id is None:
        return 0
    if not last_event_id.isascii() or not last_event_id.isdecimal():
        raise refusals.BodyInvalid("Last-Event-ID is the number of an event.")
    return min(int(last_event_id), 2**62)
