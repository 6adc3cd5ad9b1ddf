"""Who calls, and how often: a key from the Authorization header, and token buckets for keys and addresses."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address
from typing import Annotated, cast

from fastapi import Depends, Request
from fastapi.security import HTTPBearer

from secondface.control.auth import Caller
from secondface.errors import KeyUnknown
from secondface.gateway.options import GatewayOptions
from secondface.gateway.parameters import known_parameters
from secondface.gateway.service import Service

bearer = HTTPBearer(auto_error=False, description="A key of the service: `Authorization: Bearer sf_…`.")


def service_of(request: Request) -> Service:
    """The service that the application was made over."""
    return cast("Service", request.app.state.service)


def options_of(request: Request) -> GatewayOptions:
    """How the operator wants the HTTP side."""
    return cast("GatewayOptions", request.app.state.options)


def caller_of(request: Request, _documented: Annotated[object, Depends(bearer)]) -> Caller:
    """The caller. Raises KeyUnknown, AccessProblem, RateLimited, and BodyInvalid for an unknown parameter."""
    service, options, address = service_of(request), options_of(request), address_of(request)
    take_address(request)
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    try:
        if scheme.lower() != "bearer":
            raise KeyUnknown
        caller = service.keyring.caller(text.strip(), address)
    except KeyUnknown:
        service.rates.take(f"refused:{address}", options.refused_per_minute)
        raise
    service.rates.take(f"key:{caller.key_id}", caller.account.plan.requests_per_minute)
    known_parameters(request)  # only now: who has no key learns nothing else
    return caller


def take_address(request: Request) -> None:
    """Count a request of its address. Raises RateLimited."""
    service_of(request).rates.take(f"address:{address_of(request)}", options_of(request).address_per_minute)


def address_of(request: Request) -> str:
    """The address of the peer, in one spelling; a trusted proxy's header names another (uvicorn judges that)."""
    try:
        found = ip_address(request.client.host if request.client else "")
    except ValueError:
        return "unknown"  # a proxy that hands on what its caller wrote: no text of a stranger gets into the books
    return str((found.ipv4_mapped if isinstance(found, IPv6Address) else None) or found)


WithService = Annotated[Service, Depends(service_of)]
WithCaller = Annotated[Caller, Depends(caller_of)]
WithOptions = Annotated[GatewayOptions, Depends(options_of)]
