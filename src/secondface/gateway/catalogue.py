"""What the service offers and what an account has: steps, models, prices, usage, the account itself."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response

from secondface import errors
from secondface.control.usage import usage_of
from secondface.errors import InvalidOption
from secondface.gateway.access import WithCaller, WithService
from secondface.gateway.languages import language_asked, spoken_in
from secondface.gateway.problems import BY_CODE, STATUS, responses
from secondface.gateway.refusals import BodyInvalid, RouteMissing
from secondface.gateway.views import account_view, entry_view, price_view
from secondface.language import translated
from secondface.spec.catalog import callable_kinds, parameters_of
from secondface.spec.plugins import installed
from secondface.spec.views import (
    ErrorView,
    LedgerPage,
    ModelPage,
    OwnAccountView,
    ParameterView,
    PricesView,
    StepPage,
    StepView,
    UsageView,
)

router = APIRouter(tags=["catalogue"])

Moment = Annotated[int | None, Query(ge=0, le=2**53, description="Milliseconds since 1970.")]
_MONTH_MS = 31 * 86_400_000


@router.get("/v1/steps", responses=responses())
def steps(_caller: WithCaller, lang: Annotated[Literal["en", "zh"], Query()] = "en") -> StepPage:
    """The steps that a pipeline may name, with their parameters."""
    kinds = [*callable_kinds(), *(each.step.kind for each in installed().values() if each.step is not None)]
    data = tuple(
        StepView(
            name=kind.name, title=kind.title.of(lang), description=kind.description.of(lang), once=kind.once,
            parameters=tuple(
                ParameterView(name=each.name, values=each.values, default=each.default,
                              description=each.description.of(lang))
                for each in parameters_of(kind)
            ),
        )
        for kind in kinds
    )  # fmt: skip
    return StepPage(data=data)


@router.get("/v1/models", responses=responses())
def models(_caller: WithCaller, service: WithService) -> ModelPage:
    """The models that the service has."""
    return ModelPage(data=tuple(service.models()))


@router.get("/v1/prices", responses=responses())
def prices(_caller: WithCaller, service: WithService) -> PricesView:
    """The price book: what holds now, what held before, and what is to come."""
    book = service.accounts.prices()
    return PricesView(currency=book.currency, data=tuple(price_view(row) for row in book.rows))


@router.get("/v1/usage", responses=responses(errors.InvalidOption))
def usage(
    caller: WithCaller, service: WithService, from_ms: Moment = None, until_ms: Moment = None
) -> UsageView:  # fmt: skip
    """What the account's jobs of a stretch of time consumed and cost; without a stretch, of the last 31 days."""
    caller.require("billing:read")
    until = service.clock.now_ms() + 1 if until_ms is None else until_ms
    begin = max(0, until - _MONTH_MS) if from_ms is None else from_ms
    if begin > until:
        raise InvalidOption("from_ms comes after until_ms.")
    with service.transactions.view() as work:
        return usage_of(work, caller.account.id, begin, until)


@router.get("/v1/account", responses=responses())
def account(caller: WithCaller, service: WithService) -> OwnAccountView:
    """The caller's account: money, limits, and what the key may do."""
    view = account_view(service.accounts.standing(caller))
    return OwnAccountView(**dict(view), key_id=caller.key_id, scopes=tuple(sorted(caller.scopes)))


@router.get("/v1/ledger", responses=responses())
def ledger(
    caller: WithCaller, service: WithService,
    before: Annotated[int | None, Query(ge=1, le=2**53, description="The `next` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> LedgerPage:  # fmt: skip
    """What moved the account's money, newest first."""
    found = service.accounts.entries(caller, before, limit)
    data = tuple(entry_view(each) for each in found)
    return LedgerPage(data=data, next=data[-1].number if len(data) == limit else None)


@router.get("/errors/{code}", responses=responses(RouteMissing, BodyInvalid, always=()), openapi_extra={"security": []})
def error(code: str, request: Request, response: Response) -> ErrorView:
    """What an error code means and what to do."""
    kind = BY_CODE.get(code)
    if kind is None:
        raise RouteMissing(f"There is no error {code[:60]!r}.")
    language = language_asked(request)
    response.headers.update(spoken_in(language))
    return ErrorView(
        code=kind.code, title=translated(kind.title(), language), remedy=translated(kind.advice("api"), language),
        status=STATUS[kind], fault=kind.fault,
        retryable=kind.retryable,
    )  # fmt: skip
