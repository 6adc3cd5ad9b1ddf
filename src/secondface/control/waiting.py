"""Why a job does not run yet, so that nobody has to guess."""

from __future__ import annotations

from secondface.domain.jobs import Job
from secondface.domain.ports import UnitOfWork
from secondface.domain.scaling import Decision
from secondface.spec.views import WaitingWord


def why_waiting(work: UnitOfWork, job: Job, decision: Decision | None, workers: int) -> WaitingWord | None:
    """The reason, or None where the job runs or has ended. `decision` is the last one of its tier's scaler."""
    if job.state == "awaiting_approval":
        return "awaiting_approval"
    if job.state == "held":
        return "review"
    if job.state != "queued":
        return None
    if job.not_before_ms > work.now_ms():
        return "back_off"
    if _runs_all_it_may(work, job.account):
        return "rate"
    return "queue" if workers else _nobody_because(decision)


def _runs_all_it_may(work: UnitOfWork, account_id: str) -> bool:
    account = work.accounts.get(account_id)
    if account is None:
        return False
    most = account.plan.max_running
    return len(work.jobs.page(account_id, ["running"], limit=most)) >= most


def _nobody_because(decision: Decision | None) -> WaitingWord:
    match decision.why if decision is not None else "steady":
        case "no_budget":
            return "no_budget"
        case "workers_crashing":
            return "workers_crashing"
        case _:
            return "no_worker"
