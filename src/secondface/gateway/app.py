"""The application: routes, limits, problems, and what goes on beside requests, over one injected Service."""

from __future__ import annotations

import asyncio
import re
import traceback
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from typing import Any, Final, cast

from anyio import to_thread
from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute
from prometheus_client import CollectorRegistry
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from pydantic_core import ErrorDetails
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from secondface import observe
from secondface.errors import InternalFault, SecondfaceError
from secondface.gateway import admin, catalogue, health, public, refusals, reviews, uploads, webhooks
from secondface.gateway.addresses import Resolve
from secondface.gateway.bodies import BodyGuard
from secondface.gateway.desk import Desk
from secondface.gateway.forms import media_type
from secondface.gateway.metrics import Counted, HttpFigures, Moment
from secondface.gateway.options import GatewayOptions
from secondface.gateway.parameters import known_without_key
from secondface.gateway.problems import answer
from secondface.gateway.sender import Sender
from secondface.gateway.service import Service
from secondface.gateway.watch import Watch
from secondface.spec.graph import describe_problems
from secondface.spec.service import JobOptions, JobRequest, VerifyRequest, WebhookRequest
from secondface.spec.views import Problem

_WATCH_S: Final = 2.0
_FILE_ROUTES: Final = re.compile(r"/v1/(files/.*|jobs|quotes|swap|verify)")
_DESCRIPTION: Final = """Face swap and restoration for pictures and video, paid by the second of device time.

Send a key as `Authorization: Bearer KEY`. Errors are problem documents (RFC 9457) with a `code` that stays;
`/errors/CODE` says what it means. Amounts are whole micro-units of the currency, moments whole milliseconds
since 1970."""


def application(
    service: Service, options: GatewayOptions | None = None, *, resolve: Resolve | None = None
) -> FastAPI:  # fmt: skip
    """The application over a service. `resolve` replaces this machine's way to look up names."""
    options = options or GatewayOptions()
    registry = CollectorRegistry()
    figures, watch = HttpFigures(registry), Watch(service, registry)
    registry.register(Moment(service))
    desk = Desk.over(service, options, resolve, figures.scanned)
    sender = Sender(service, desk.outgoing, lambda outcome: figures.deliveries.labels(outcome).inc())
    app = FastAPI(
        title="secondface", version=version("secondface"), description=_DESCRIPTION, redoc_url=None, docs_url=None,
        redirect_slashes=False, openapi_url=None, lifespan=_lifespan(service, sender, watch),
        dependencies=[Depends(known_without_key)],
    )  # fmt: skip
    app.state.service, app.state.options, app.state.desk = service, options, desk
    app.state.readiness = health.Readiness(service)
    app.state.registry, app.state.watch, app.state.sender = registry, watch, sender
    for module in (public, uploads, catalogue, webhooks, admin, reviews, health):
        app.include_router(module.router)
    _handle_problems(app)
    app.add_middleware(BodyGuard, limits=options.bodies, takes_files=_takes_files)
    if options.origins:
        app.add_middleware(
            CORSMiddleware, allow_origins=list(options.origins), allow_methods=["*"], allow_headers=["*"],
            expose_headers=["Location", "X-Job-Id", "X-Request-Id"],
        )  # fmt: skip
    app.add_middleware(Counted, figures=figures)
    app.add_middleware(Named, service=service)
    app.openapi = lambda: _reference(app)  # type: ignore[method-assign] - the library's own way to replace it
    return app


class Named:
    """ASGI middleware: gives each request an id, for its answer, its problem and the log; and answers our own bugs."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = self._service.ids.new("req")
        scope["secondface.request_id"] = request_id

        started = False

        async def named(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", request_id.encode())]
            await send(message)

        try:
            await self._app(scope, receive, named)
        except Exception as error:  # the last door: whatever comes here is our bug and must say so
            observe.log("gateway.bug", "error", request=request_id, trace=traceback.format_exc())
            if started:
                raise  # half an answer cannot be taken back: the server ends the connection
            fault = InternalFault(f"{type(error).__name__}: {error}")
            await answer(Request(scope), fault)(scope, receive, named)


def _lifespan(service: Service, sender: Sender, watch: Watch) -> Any:
    @asynccontextmanager
    async def run(_app: FastAPI) -> AsyncGenerator[None]:
        await to_thread.run_sync(service.start)
        tasks = [asyncio.create_task(sender.run()), asyncio.create_task(_watching(watch))]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            for task in tasks:
                with suppress(asyncio.CancelledError):
                    await task
            await to_thread.run_sync(service.stop)

    return run


async def _watching(watch: Watch) -> None:
    while True:
        try:
            await to_thread.run_sync(watch.step)
        except SecondfaceError as error:  # a database that is away comes back
            observe.log("watch.waiting", "warning", code=error.code)
        await asyncio.sleep(_WATCH_S)


def _takes_files(scope: Scope) -> bool:
    """Whether a body may be large: files that go to the store as they come. JSON stays small everywhere."""
    if not _FILE_ROUTES.fullmatch(scope["path"]):
        return False
    headers: Mapping[bytes, bytes] = dict(scope["headers"])
    return scope["method"] == "PUT" or headers.get(b"content-type", b"").lower().startswith(b"multipart/form-data")


def _handle_problems(app: FastAPI) -> None:
    @app.exception_handler(SecondfaceError)
    async def ours(request: Request, error: SecondfaceError) -> JSONResponse:  # pyright: ignore[reportUnusedFunction]
        return answer(request, error)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:  # pyright: ignore[reportUnusedFunction]
        return answer(request, _invalid(request, error))

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> JSONResponse:  # pyright: ignore[reportUnusedFunction]
        return answer(request, _of_http(request, error))

    @app.exception_handler(ClientDisconnect)
    async def gone(_request: Request, _error: ClientDisconnect) -> Response:  # pyright: ignore[reportUnusedFunction]
        return Response(status_code=400)  # nobody reads it


def _invalid(request: Request, error: RequestValidationError) -> SecondfaceError:
    kind = media_type(request)
    problems = cast("Sequence[ErrorDetails]", error.errors())
    in_body = any(problem["loc"][:1] == ("body",) for problem in problems)
    if in_body and kind != "application/json" and not kind.endswith("+json"):
        return refusals.ContentTypeUnsupported(kind, content_type=kind)
    return refusals.BodyInvalid(describe_problems([_placed(problem) for problem in problems], _fields(request)))


def _placed(problem: ErrorDetails) -> ErrorDetails:
    """A field of the body by its own name, as where a route reads its body itself."""
    match problem["loc"]:
        case ("body", str(), *_):
            return {**problem, "loc": problem["loc"][1:]}
        case _:
            return problem


def _fields(request: Request) -> tuple[str, ...]:
    route = request.scope.get("route")
    body = route.body_field if isinstance(route, APIRoute) else None
    model = body.field_info.annotation if body is not None else None
    return tuple(model.model_fields) if isinstance(model, type) and issubclass(model, BaseModel) else ()


def _of_http(request: Request, error: HTTPException) -> SecondfaceError:
    """What the framework refuses by itself, in our words. A body that we stopped reading is inside of it."""
    if isinstance(error.__cause__, SecondfaceError):
        return error.__cause__
    match error.status_code:
        case 404:
            return refusals.RouteMissing(request.url.path[:200])
        case 405:
            return refusals.MethodNotAllowed(request.method, allow=(error.headers or {}).get("Allow", ""))
        case _:
            return refusals.BodyInvalid(str(error.detail))


def _reference(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, with the models of bodies that routes read themselves."""
    if app.openapi_schema is None:
        made = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes,
            separate_input_output_schemas=False,
        )  # fmt: skip
        models = (JobRequest, JobOptions, VerifyRequest, WebhookRequest, Problem)
        _, extra = models_json_schema(
            [(model, "validation") for model in models], ref_template="#/components/schemas/{model}"
        )
        made["components"]["schemas"] |= extra["$defs"]
        made["security"] = [{"HTTPBearer": []}]
        _drop_foreign_refusals(made)
        app.openapi_schema = made
    return app.openapi_schema


def _drop_foreign_refusals(document: dict[str, Any]) -> None:
    """The framework documents a form of refusal of its own, which we never answer."""
    for operations in document["paths"].values():
        for operation in operations.values():
            if "application/json" in operation["responses"].get("422", {}).get("content", {}):
                del operation["responses"]["422"]
    for name in ("HTTPValidationError", "ValidationError"):
        document["components"]["schemas"].pop(name, None)
