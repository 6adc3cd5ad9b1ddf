"""One transaction for everything that follows from a transition: state, events, webhooks and, at the end, money.

Every use case that changes a job passes `Settlement.apply`, so no end of a job can leave its hold behind or be paid
twice. Must not decide transitions: those come from `domain.jobs`.
"""

from __future__ import annotations

from secondface.control import webhooks
from secondface.domain import budgets, ledger
from secondface.domain.accounts import Account, Actor, Plan
from secondface.domain.billing import bill
from secondface.domain.budgets import Budget, Spend
from secondface.domain.jobs import Change, Job
from secondface.domain.ports import Ids, UnitOfWork
from secondface.domain.retention import left_of


class Settlement:
    """Writes down what a transition means."""

    def __init__(self, ids: Ids, cache_s: int = 7 * 86_400) -> None:
        self._ids, self._cache_s = ids, cache_s

    def accept(self, work: UnitOfWork, change: Change, actor: Actor) -> Job:
        """Store a new job, its hold and its place in the budgets. Raises BudgetExceeded, and nothing is stored."""
        job, events = change
        self._reserve(work, job)
        balance = work.ledger.balance(ledger.wallet(job.account), job.currency)
        account = work.accounts.get(job.account)
        entry = ledger.hold(
            job.account, job.id, job.hold_micros, job.created_ms, job.currency,
            balance_micros=balance, credit_micros=account.credit_micros if account else 0,
        )  # fmt: skip
        if entry is not None:
            work.ledger.post(entry)
        stored = work.jobs.add(job)
        work.journal.record(job.account, actor, events)
        webhooks.enqueue(work, self._ids, stored, events)
        if stored.ended:
            self._settle(work, stored)
            _leave(work, stored, account)
        return stored

    def apply(self, work: UnitOfWork, before: Job, change: Change, actor: Actor) -> Job:
        """Store a transition of a locked job with all that follows from it."""
        after, events = change
        if after == before:
            return before
        work.jobs.save(before, after)
        work.journal.record(after.account, actor, events)
        webhooks.enqueue(work, self._ids, after, events)
        if after.ended:
            self._settle(work, after)
            _leave(work, after, work.accounts.get(after.account))
            if after.result is not None and after.cache_key is not None:
                work.cache.put(after.cache_key, after.result, self._cache_s)
        return after

    def _reserve(self, work: UnitOfWork, job: Job) -> None:
        """Count the hold in every period, whether there is a budget or not: one may be set later in the period."""
        limits = {(each.scope, each.span): each for each in work.ledger.budgets(_scopes(job))}
        for budget, spend in _counters(work, job):
            limit = limits.get((budget.scope, budget.span), budget)
            work.ledger.save_spend(budgets.reserve(limit, spend, job.hold_micros))

    def _settle(self, work: UnitOfWork, job: Job) -> None:
        charge_micros = bill(job).total_micros
        assert job.ended_ms is not None
        for entry in ledger.settle(
            job.account, job.id, job.hold_micros, charge_micros, job.ended_ms, job.currency
        ):  # fmt: skip
            work.ledger.post(entry)
        for _, spend in _counters(work, job):
            work.ledger.save_spend(budgets.settle(spend, job.hold_micros, charge_micros))


def _leave(work: UnitOfWork, job: Job, account: Account | None) -> None:
    """Write down what the job leaves behind, for it to be deleted in its time."""
    plan = account.plan if account is not None else Plan()
    work.remains.save(left_of(job, plan.retain_inputs_h, plan.retain_outputs_h))


def _scopes(job: Job) -> list[str]:
    return [f"account:{job.account}", *([f"key:{job.key_id}"] if job.key_id else [])]


def _counters(work: UnitOfWork, job: Job) -> list[tuple[Budget, Spend]]:
    """Every counter that a job falls into, in one order for all, in the periods that accepted it."""
    return [
        (Budget(scope, span, 2**62), work.ledger.spend(scope, budgets.period_of(span, job.created_ms)))
        for scope in _scopes(job)
        for span in budgets.SPANS
    ]
