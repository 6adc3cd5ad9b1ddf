"""What operators do: accounts, keys, money, budgets, prices, the fleet. All of it needs the scope admin."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from secondface import errors
from secondface.domain.ports import QueueView
from secondface.domain.pricing import PriceRow
from secondface.gateway.access import WithCaller, WithService
from secondface.gateway.problems import responses
from secondface.gateway.service import Service
from secondface.gateway.views import account_view, key_view, plan_of, price_view
from secondface.spec.service import (
    AccountChange,
    AccountRequest,
    BudgetRequest,
    DepositRequest,
    KeyRequest,
    PriceRequest,
)
from secondface.spec.views import (
    AccountPage,
    AccountSummary,
    AccountView,
    BudgetView,
    FleetView,
    KeyPage,
    KeyView,
    NewKeyView,
    PricesView,
    TierView,
    WorkerView,
)

router = APIRouter(prefix="/v1/admin", tags=["admin"])

AccountId = Annotated[str, Path(min_length=1, max_length=100)]


@router.get("/accounts", responses=responses())
def accounts(caller: WithCaller, service: WithService) -> AccountPage:
    """Every account."""
    return AccountPage(data=tuple(
        AccountSummary(id=each.id, name=each.name, suspended=each.suspended, created_ms=each.created_ms)
        for each in service.accounts.all(caller)
    ))  # fmt: skip


@router.post("/accounts", status_code=201, responses=responses())
def open_account(asked: AccountRequest, caller: WithCaller, service: WithService) -> AccountView:
    """Open an account; it has no money and no key yet."""
    caller.require("admin")
    made = service.accounts.open(caller, asked.name, plan_of(asked.plan), asked.credit_micros)
    return account_view(service.accounts.standing(caller, made.id))


@router.get("/accounts/{account_id}", responses=responses(errors.AccountMissing))
def account(account_id: AccountId, caller: WithCaller, service: WithService) -> AccountView:
    """An account with its money and limits."""
    caller.require("admin")
    return account_view(service.accounts.standing(caller, account_id))


@router.patch("/accounts/{account_id}", responses=responses(errors.AccountMissing))
def change_account(
    account_id: AccountId, asked: AccountChange, caller: WithCaller, service: WithService
) -> AccountView:  # fmt: skip
    """Change an account's name, fields of its plan, or its credit, or suspend it; what is left out stays."""
    service.accounts.change(
        caller, account_id, name=asked.name, plan=asked.plan and asked.plan.model_dump(exclude_unset=True),
        credit_micros=asked.credit_micros, suspended=asked.suspended,
    )  # fmt: skip
    return account_view(service.accounts.standing(caller, account_id))


@router.post("/accounts/{account_id}/deposits", status_code=201, responses=responses(errors.AccountMissing))
def deposit(account_id: AccountId, asked: DepositRequest, caller: WithCaller, service: WithService) -> AccountView:
    """Book money that came in; the same reference twice moves nothing."""
    return account_view(service.accounts.deposit(caller, account_id, asked.micros, asked.reference))


@router.put(
    "/accounts/{account_id}/budgets", responses=responses(errors.AccountMissing, errors.AccessProblem)
)  # fmt: skip
def set_budget(account_id: AccountId, asked: BudgetRequest, caller: WithCaller, service: WithService) -> BudgetView:
    """Limit what an account, or one of its keys, may spend in a day or a month."""
    known = {key.id for key in service.accounts.keys(caller, account_id)}
    if asked.key_id is not None and asked.key_id not in known:
        raise errors.AccessProblem(f"The account has no key {asked.key_id}.")
    scope = f"key:{asked.key_id}" if asked.key_id is not None else f"account:{account_id}"
    made = service.accounts.set_budget(caller, scope, asked.span, asked.limit_micros)
    return BudgetView(scope=made.scope, span=made.span, limit_micros=made.limit_micros)


@router.get("/accounts/{account_id}/keys", responses=responses(errors.AccountMissing))
def keys(account_id: AccountId, caller: WithCaller, service: WithService) -> KeyPage:
    """The keys of an account, without their texts."""
    return KeyPage(data=tuple(key_view(each) for each in service.accounts.keys(caller, account_id)))


@router.post("/accounts/{account_id}/keys", status_code=201, responses=responses(errors.AccountMissing))
def issue_key(account_id: AccountId, asked: KeyRequest, caller: WithCaller, service: WithService) -> NewKeyView:
    """Make a key; its text is in this answer and nowhere else."""
    expires_ms = None if asked.expires_s is None else service.clock.now_ms() + asked.expires_s * 1000
    key, text = service.accounts.issue_key(
        caller, account_id, asked.role, asked.name or "", expires_ms, asked.person or ""
    )  # fmt: skip
    return NewKeyView(**dict(key_view(key)), key=text, role=asked.role)


@router.delete("/accounts/{account_id}/keys/{key_id}", responses=responses(errors.AccountMissing, errors.AccessProblem))
def revoke_key(account_id: AccountId, key_id: AccountId, caller: WithCaller, service: WithService) -> KeyView:
    """Make a key useless from now on."""
    return key_view(service.accounts.revoke_key(caller, account_id, key_id))


@router.post("/prices", status_code=201, responses=responses(errors.InvalidOption))
def set_price(asked: PriceRequest, caller: WithCaller, service: WithService) -> PricesView:
    """A new price from now on; jobs that were accepted keep theirs."""
    row = PriceRow(
        tier=asked.tier, market=asked.market, family=asked.family, price_micros=asked.price_micros,
        minimum_s=asked.minimum_s, step_s=asked.step_s,
    )  # fmt: skip
    book = service.accounts.set_price(caller, row)
    return PricesView(currency=book.currency, data=tuple(price_view(each) for each in book.rows))


@router.get("/fleet", responses=responses())
def fleet(caller: WithCaller, service: WithService) -> FleetView:
    """Each tier's queue, its workers, and what the scaler last decided."""
    caller.require("admin")
    with service.transactions.view() as work:
        queues = {each.tier: each for each in work.jobs.queues()}
    tiers = dict.fromkeys((*service.tiers, *queues))
    return FleetView(data=tuple(_tier_view(service, queues.get(tier, QueueView(tier=tier))) for tier in tiers))


def _tier_view(service: Service, queue: QueueView) -> TierView:
    """One tier as it is now."""
    decision = service.decisions().get(queue.tier)
    workers = service.fleet.workers(queue.tier) if service.fleet is not None else ()
    return TierView(
        tier=queue.tier, queued_jobs=queue.queued_jobs, queued_ms=queue.queued_ms,
        oldest_queued_ms=queue.oldest_queued_ms, running_jobs=queue.running_jobs,
        workers=tuple(
            WorkerView(id=each.id, state=each.state, since_ms=each.since_ms, served=each.served, market=each.market)
            for each in workers
        ),
        target=decision.target if decision else None, why=decision.why if decision else None,
    )  # fmt: skip
