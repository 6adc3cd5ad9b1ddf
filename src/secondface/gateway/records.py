"""What is kept and for how long: deleting a job's files with a receipt, and the audit for operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Literal, cast

from anyio import to_thread
from fastapi import APIRouter, Path, Query
from fastapi.responses import StreamingResponse

from secondface import errors
from secondface.domain.ports import Recorded
from secondface.domain.retention import files_of
from secondface.gateway.access import WithCaller, WithService
from secondface.gateway.files import in_threads
from secondface.gateway.problems import responses
from secondface.spec.trust import AuditFindingView, DeletedFileView, DeletionPage, DeletionView
from secondface.spec.views import AuditPage, AuditRow

router = APIRouter(tags=["records"])

JobId = Annotated[str, Path(min_length=1, max_length=100, description="A job's id.")]
_LINES = "application/x-ndjson"


@router.delete("/v1/jobs/{job_id}/data", responses=responses(errors.JobMissing, errors.JobUnfinished))
def delete_data(job_id: JobId, caller: WithCaller, service: WithService) -> DeletionPage:
    """Delete the inputs and the result of a job that has ended; the answer is the receipt. A second time changes
    nothing and answers the same."""
    return _page(service.retention.delete(caller, job_id))


@router.get("/v1/jobs/{job_id}/deletions", responses=responses(errors.JobMissing))
def deletions(job_id: JobId, caller: WithCaller, service: WithService) -> DeletionPage:
    """The receipts of a job's deletions, asked for or by policy."""
    return _page(service.retention.receipts(caller, job_id))


@router.get("/v1/admin/audit", responses=responses())
def audit(
    caller: WithCaller, service: WithService, after: Annotated[int, Query(ge=0, le=2**53)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    check: Annotated[bool, Query(description="Check the whole chain; takes time.")] = False,
) -> AuditPage:  # fmt: skip
    """What happened, in the order in which it was sealed."""
    rows = tuple(
        AuditRow(
            position=each.position, digest=each.digest, account=each.account, actor=each.actor.name,
            address=each.actor.address,
            subject=each.event.subject, kind=each.event.kind, at_ms=each.event.at_ms, facts=dict(each.event.facts),
        )
        for each in service.accounts.audit(caller, after, limit)
        if each.position is not None and each.digest is not None
    )  # fmt: skip
    broken = service.audit.check().first_bad if check else None
    return AuditPage(data=rows, next=rows[-1].position if len(rows) == limit else None, broken_at=broken)


@router.get("/v1/admin/audit/check", responses=responses())
def check(caller: WithCaller, service: WithService) -> AuditFindingView:
    """Check the whole audit against its chain, its signatures, and the signed word outside of the database."""
    caller.require("admin")
    found = service.audit.check()
    return AuditFindingView(whole=found.whole, **asdict(found))


@router.get(
    "/v1/admin/audit/export", response_class=StreamingResponse,
    responses={200: {"content": {_LINES: {}}, "description": "One JSON object a line; the last one is signed."},
               **responses()},
)  # fmt: skip
async def export(caller: WithCaller, service: WithService) -> StreamingResponse:
    """The whole audit as JSON lines; `secondface audit verify FILE` finds any change of it."""
    caller.require("admin")
    lines = await to_thread.run_sync(service.audit.export)
    return StreamingResponse(in_threads(line.encode() for line in lines), media_type=_LINES)


def _page(receipts: Sequence[Recorded]) -> DeletionPage:
    return DeletionPage(data=tuple(_view(each) for each in receipts))


def _view(recorded: Recorded) -> DeletionView:
    event, facts = recorded.event, recorded.event.facts
    what = cast("tuple[Literal['inputs', 'output'], ...]", tuple(str(facts["what"]).split("+")))
    return DeletionView(
        job=event.subject, what=what, reason="asked" if facts["reason"] == "asked" else "policy",
        by=recorded.actor.name, at_ms=event.at_ms, receipt=str(facts["receipt"]), position=recorded.position,
        digest=recorded.digest,
        files=tuple(
            DeletedFileView(
                name=each.name, sha256=each.sha256, size_bytes=each.size_bytes, kept_for=each.kept_for or None
            )
            for each in files_of(event)
        ),
    )  # fmt: skip
