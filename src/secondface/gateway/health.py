"""Whether the service lives, whether it can take jobs, and its figures."""

from __future__ import annotations

from typing import cast

from anyio import to_thread
from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials
from prometheus_client import CollectorRegistry

from secondface.errors import SecondfaceError
from secondface.gateway import metrics
from secondface.gateway.access import WithOptions, WithService, bearer, caller_of
from secondface.gateway.problems import responses
from secondface.gateway.service import Service
from secondface.spec.views import Health

router = APIRouter(tags=["health"])

_PROBE_KEY = "health/ready"


@router.get("/healthz", openapi_extra={"security": []})
async def alive() -> Health:
    """The process answers."""
    return Health(status="ok")


@router.get(
    "/readyz", responses={503: {"model": Health, "description": "It cannot take jobs."}}, openapi_extra={"security": []}
)
async def ready(service: WithService) -> JSONResponse:
    """The database answers, the store takes and gives files, and nothing keeps workers from working."""
    problems = await to_thread.run_sync(lacks, service)
    health = Health(status="not_ready" if problems else "ok", problems=tuple(problems))
    return JSONResponse(health.model_dump(), 503 if problems else 200)


def lacks(service: Service) -> list[str]:
    """What is not ready, in codes; empty when all is well."""
    found: list[str] = []
    try:
        with service.transactions.view() as work:
            work.accounts.get("")
    except SecondfaceError as error:
        found.append(f"database: {error.code}")
    try:
        said = str(service.clock.now_ms()).encode()
        service.objects.put(_PROBE_KEY, [said], "text/plain")
        b"".join(service.objects.read(_PROBE_KEY))
    except SecondfaceError as error:
        found.append(f"objects: {error.code}")
    return [*found, *service.ready()]


@router.get(
    "/metrics", response_class=Response,
    responses={200: {"content": {"text/plain": {}}, "description": "Figures for Prometheus."}, **responses(always=())},
    openapi_extra={"security": []},
)  # fmt: skip
def figures(
    request: Request, options: WithOptions, credentials: HTTPAuthorizationCredentials | None = Depends(bearer)  # noqa: B008
) -> Response:  # fmt: skip
    """Figures for Prometheus. They name no customer; an operator may ask for a key all the same."""
    if not options.metrics_open:
        caller_of(request, credentials).require("admin")
    registry = cast("CollectorRegistry", request.app.state.registry)
    return Response(metrics.page(registry), media_type=metrics.CONTENT_TYPE)
