"""Flows of second authorisation, deletion and the audit."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote as quoted

from secondface.sdk.accounts import keys_of
from secondface.sdk.answers import read_as
from secondface.sdk.calls import Call, Close, Flow, Unreachable, take
from secondface.sdk.files import whole
from secondface.sdk.inputs import checked, said
from secondface.sdk.jobs import place
from secondface.sdk.problems import ServiceUnreachable
from secondface.sdk.retries import Retries, call, opened
from secondface.spec.trust import (
    ApprovalPage,
    AuditFindingView,
    CodeRequest,
    CodesView,
    DeletionPage,
    NewCodesView,
    RefusalRequest,
)
from secondface.spec.views import JobView


def approvals(after: str | None, limit: int, retries: Retries) -> Flow[ApprovalPage]:
    query = (("limit", str(limit)), *((("after", after),) if after is not None else ()))
    return read_as(ApprovalPage, (yield from call(Call(method="GET", path="/v1/approvals", query=query), retries)))


def approve(job_id: str, retries: Retries) -> Flow[JobView]:
    wanted = Call(method="POST", path=f"{place(job_id)}/approve", repeatable=False)
    return read_as(JobView, (yield from call(wanted, retries)))


def reject(job_id: str, reason: str | None, retries: Retries) -> Flow[JobView]:
    words = said(checked(RefusalRequest, {"reason": reason})) if reason is not None else None
    wanted = Call(method="POST", path=f"{place(job_id)}/reject", words=words, repeatable=False)
    return read_as(JobView, (yield from call(wanted, retries)))


def confirm(job_id: str, one_time_code: str, retries: Retries) -> Flow[JobView]:
    words = said(checked(CodeRequest, {"one_time_code": one_time_code}))
    wanted = Call(method="POST", path=f"{place(job_id)}/confirm", words=words, repeatable=False)
    return read_as(JobView, (yield from call(wanted, retries)))


def enrol_codes(key_id: str, account_id: str | None, retries: Retries) -> Flow[NewCodesView]:
    # Twice would leave a phone with codes that no longer count: it is not sent again by itself.
    wanted = Call(method="POST", path=(yield from _codes_of(key_id, account_id, retries)), repeatable=False)
    return read_as(NewCodesView, (yield from call(wanted, retries)))


def drop_codes(key_id: str, account_id: str | None, retries: Retries) -> Flow[CodesView]:
    wanted = Call(method="DELETE", path=(yield from _codes_of(key_id, account_id, retries)))
    return read_as(CodesView, (yield from call(wanted, retries)))


def delete_data(job_id: str, retries: Retries) -> Flow[DeletionPage]:
    return read_as(DeletionPage, (yield from call(Call(method="DELETE", path=f"{place(job_id)}/data"), retries)))


def deletions(job_id: str, retries: Retries) -> Flow[DeletionPage]:
    return read_as(DeletionPage, (yield from call(Call(method="GET", path=f"{place(job_id)}/deletions"), retries)))


def audit_check(retries: Retries) -> Flow[AuditFindingView]:
    return read_as(AuditFindingView, (yield from call(Call(method="GET", path="/v1/admin/audit/check"), retries)))


def audit_export(output: Path, retries: Retries) -> Flow[Path]:
    """The audit as a file. Raises ServiceUnreachable where it breaks off, OutputNotWritable, DiskFull."""
    with whole(output) as file:
        yield from opened(Call(method="GET", path="/v1/admin/audit/export"), retries)
        while (piece := (yield from take())) is not None:
            if isinstance(piece, Unreachable):
                raise ServiceUnreachable("The export broke off; ask for it again.")
            file.write(piece)
        yield Close()
    return output


def _codes_of(key_id: str, account_id: str | None, retries: Retries) -> Flow[str]:
    keys = yield from keys_of(account_id, retries)
    return f"{keys}/{quoted(key_id, safe='')}/one-time-codes"
