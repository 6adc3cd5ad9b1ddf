"""Webhooks of an account, their deliveries, and sending one again."""

from __future__ import annotations

from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Path, Query, Request

from secondface import errors
from secondface.gateway import refusals
from secondface.gateway.access import WithCaller, WithService
from secondface.gateway.desk import WithDesk
from secondface.gateway.forms import checked, media_type, read_json
from secondface.gateway.problems import responses
from secondface.gateway.refusals import ContentTypeUnsupported
from secondface.gateway.views import delivery_view, webhook_view
from secondface.spec.service import WebhookChange, WebhookRequest
from secondface.spec.views import DeliveryPage, DeliveryView, NewWebhookView, WebhookPage, WebhookView

router = APIRouter(tags=["webhooks"])

WebhookId = Annotated[str, Path(min_length=1, max_length=100)]


@router.post(
    "/v1/webhooks", status_code=201, responses=responses(errors.InvalidOption, refusals.AddressForbidden),
    openapi_extra={"requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/WebhookRequest"}}},
    }},
)  # fmt: skip
async def add(request: Request, caller: WithCaller, desk: WithDesk) -> NewWebhookView:
    """Have events of the account's jobs sent to an address; the secret that signs them is shown this once."""
    caller.require("jobs:write")
    if media_type(request) != "application/json":
        raise ContentTypeUnsupported(media_type(request))
    asked = checked(WebhookRequest, await read_json(request))
    await desk.guard.pin(asked.url)  # told now; what counts is the same look before each delivery
    made = await to_thread.run_sync(desk.service.subscriptions.subscribe, caller, asked.url, asked.kinds)
    return NewWebhookView(**dict(webhook_view(made)), secret=made.secret)


@router.get("/v1/webhooks", responses=responses())
def page(caller: WithCaller, service: WithService) -> WebhookPage:
    """The account's webhooks."""
    return WebhookPage(data=tuple(webhook_view(each) for each in service.subscriptions.endpoints(caller)))


@router.patch("/v1/webhooks/{webhook_id}", responses=responses(errors.ObjectMissing))
def change(webhook_id: WebhookId, asked: WebhookChange, caller: WithCaller, service: WithService) -> WebhookView:
    """Switch a webhook off, or on again."""
    return webhook_view(service.subscriptions.set_enabled(caller, webhook_id, enabled=asked.enabled))


@router.get("/v1/webhooks/deliveries", responses=responses())
def deliveries(
    caller: WithCaller, service: WithService,
    after: Annotated[str | None, Query(max_length=100)] = None, limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> DeliveryPage:  # fmt: skip
    """What was sent and is to be sent, newest first."""
    found = service.subscriptions.deliveries(caller, after, limit)
    following = found[-1].id if len(found) == limit else None
    return DeliveryPage(data=tuple(delivery_view(each) for each in found), next=following)


@router.post("/v1/webhooks/deliveries/{delivery_id}/replay", responses=responses(errors.ObjectMissing))
def replay(delivery_id: WebhookId, caller: WithCaller, service: WithService) -> DeliveryView:
    """Send a delivery again, under its old id."""
    return delivery_view(service.subscriptions.replay(caller, delivery_id))
