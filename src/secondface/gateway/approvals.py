"""Second authorisation: what waits, approving, refusing, one-time codes, and enrolling a key for them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request

from secondface import errors
from secondface.control.approvals import Waiting
from secondface.errors import InvalidOption
from secondface.gateway.access import WithCaller, WithService
from secondface.gateway.problems import responses
from secondface.gateway.service import Service
from secondface.gateway.views import job_view
from secondface.spec.trust import ApprovalPage, ApprovalView, CodeRequest, CodesView, NewCodesView, RefusalRequest
from secondface.spec.views import JobView

router = APIRouter(tags=["approvals"])

JobId = Annotated[str, Path(min_length=1, max_length=100, description="A job's id.")]
Name = Annotated[str, Path(min_length=1, max_length=100)]
_LONGEST_CODE = 20
CODE_REFUSALS = (errors.CodeRefused, errors.CodesMissing)
CODE_HEADER: dict[str, Any] = {
    "name": "One-Time-Code", "in": "header", "required": False,
    "schema": {"type": "string", "minLength": 6, "maxLength": 6, "pattern": "^[0-9]{6}$"},
    "description": "A fresh code of the key, where the plan wants a second authorisation; without it the job waits.",
}  # fmt: skip


def code_asked(request: Request) -> str | None:
    """The one-time code of a request. Raises InvalidOption."""
    code = request.headers.get("one-time-code")
    if code is not None and not (0 < len(code) <= _LONGEST_CODE and code.isascii() and code.isdecimal()):
        raise InvalidOption("A One-Time-Code has six digits.")
    return code


@router.get("/v1/approvals", responses=responses())
def approvals(
    caller: WithCaller, service: WithService,
    after: Annotated[str | None, Query(max_length=100, description="The `next` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> ApprovalPage:  # fmt: skip
    """Jobs that wait for a second authorisation, newest first; operators see those of all accounts."""
    found = service.requests.waiting(caller, after, limit)
    data = tuple(_approval_view(service, each) for each in found)
    return ApprovalPage(data=data, next=found[-1].job.id if len(found) == limit else None)


@router.post("/v1/jobs/{job_id}/approve", responses=responses(errors.JobMissing, errors.JobSettled))
def approve(job_id: JobId, caller: WithCaller, service: WithService) -> JobView:
    """Let a job run that waits for approval; not with a key of whoever submitted it."""
    return job_view(service, service.requests.approve(caller, job_id))


@router.post("/v1/jobs/{job_id}/reject", responses=responses(errors.JobMissing, errors.JobSettled))
def reject(
    job_id: JobId, caller: WithCaller, service: WithService, asked: RefusalRequest | None = None
) -> JobView:  # fmt: skip
    """Refuse a job that waits for approval; it costs nothing."""
    why = asked.reason if asked is not None else None
    return job_view(service, service.requests.reject(caller, job_id, why))


@router.post("/v1/jobs/{job_id}/confirm", responses=responses(errors.JobMissing, errors.JobSettled, *CODE_REFUSALS))
def confirm(job_id: JobId, asked: CodeRequest, caller: WithCaller, service: WithService) -> JobView:
    """Let a job of one's own run that waits for approval, by a fresh one-time code of the key that submitted it."""
    return job_view(service, service.requests.confirm(caller, job_id, asked.one_time_code))


@router.post(
    "/v1/admin/accounts/{account_id}/keys/{key_id}/one-time-codes", status_code=201,
    responses=responses(errors.AccountMissing, errors.AccessProblem),
)  # fmt: skip
def enrol(account_id: Name, key_id: Name, caller: WithCaller, service: WithService) -> NewCodesView:
    """Give a key one-time codes (TOTP), new ones where it had some; the secret is in this answer and nowhere else."""
    made = service.codes.enrol(caller, account_id, key_id)
    return NewCodesView(key_id=made.key_id, enrolled=True, secret=made.secret, uri=made.uri)


@router.delete(
    "/v1/admin/accounts/{account_id}/keys/{key_id}/one-time-codes",
    responses=responses(errors.AccountMissing, errors.AccessProblem),
)
def drop(account_id: Name, key_id: Name, caller: WithCaller, service: WithService) -> CodesView:
    """Take a key's one-time codes away."""
    service.codes.drop(caller, account_id, key_id)
    return CodesView(key_id=key_id, enrolled=False)


def _approval_view(service: Service, waiting: Waiting) -> ApprovalView:
    job = waiting.job
    return ApprovalView(
        job=job.id, account=job.account, key_id=job.key_id, holder=waiting.holder, faces=waiting.faces,
        created_ms=job.created_ms, until_ms=service.waiting_room.until_ms(job), hold_micros=job.hold_micros,
        currency=job.currency, own=waiting.own,
    )  # fmt: skip
