"""Whether the service lives, whether it can take jobs, and its figures."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Final, cast

from anyio import to_thread
from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials
from prometheus_client import CollectorRegistry

from secondface.errors import SecondfaceError
from secondface.gateway import metrics
from secondface.gateway.access import WithOptions, bearer, caller_of
from secondface.gateway.parameters import known_parameters
from secondface.gateway.problems import responses
from secondface.gateway.refusals import BodyInvalid
from secondface.gateway.service import Service
from secondface.spec.views import Health

router = APIRouter(tags=["health"])

_PROBE_KEY: Final = "health/ready"
_LOOK_MS: Final = 1_000


@router.get("/healthz", responses=responses(BodyInvalid, always=()), openapi_extra={"security": []})
async def alive() -> Health:
    """The process answers."""
    return Health(status="ok")


@router.get(
    "/readyz",
    responses={503: {"model": Health, "description": "It cannot take jobs."}, **responses(BodyInvalid, always=())},
    openapi_extra={"security": []},
)
async def ready(request: Request) -> JSONResponse:
    """The database answers, the store takes and gives files, and nothing keeps workers from working."""
    problems = await to_thread.run_sync(cast("Readiness", request.app.state.readiness).lacks)
    health = Health(status="not_ready" if problems else "ok", problems=problems)
    return JSONResponse(health.model_dump(), 503 if problems else 200)


@router.get("/openapi.json", include_in_schema=False)
def reference(request: Request) -> JSONResponse:
    """The reference of all routes."""
    return JSONResponse(request.app.openapi())


class Readiness:
    """What is not ready, looked at once a second at most: anybody may ask, and a look writes to the store."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._lock = threading.Lock()
        self._looked_ms: int | None = None
        self._found: tuple[str, ...] = ()

    def lacks(self) -> tuple[str, ...]:
        """In codes; empty when all is well."""
        with self._lock:
            now_ms = self._service.clock.elapsed_ms()
            if self._looked_ms is None or now_ms - self._looked_ms >= _LOOK_MS:
                self._found, self._looked_ms = tuple(self._look()), now_ms
            return self._found

    def _look(self) -> Iterator[str]:
        try:
            with self._service.transactions.view() as work:
                work.accounts.get("")
        except SecondfaceError as error:
            yield f"database: {error.code}"
        try:
            said = str(self._service.clock.now_ms()).encode()
            self._service.objects.put(_PROBE_KEY, [said], "text/plain")
            if b"".join(self._service.objects.read(_PROBE_KEY)) != said:
                yield "objects: changed"
        except SecondfaceError as error:
            yield f"objects: {error.code}"
        if (screening := self._service.screening) is not None:
            try:
                screening.scanner.check()
            except SecondfaceError as error:
                yield f"scanner: {error.code}"
        yield from self._service.ready()


@router.get(
    "/metrics", response_class=Response,
    responses={200: {"content": {"text/plain": {}}, "description": "Figures for Prometheus."},
               **responses(BodyInvalid, always=())},
    openapi_extra={"security": []},
)  # fmt: skip
def figures(
    request: Request, options: WithOptions, credentials: HTTPAuthorizationCredentials | None = Depends(bearer)  # noqa: B008
) -> Response:  # fmt: skip
    """Figures for Prometheus. They name no customer; an operator may ask for a key all the same."""
    if options.metrics_open:
        known_parameters(request)
    else:
        caller_of(request, credentials).require("admin")
    registry = cast("CollectorRegistry", request.app.state.registry)
    return Response(metrics.page(registry), media_type=metrics.CONTENT_TYPE)
