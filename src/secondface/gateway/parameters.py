"""Query parameters that a route does not have are refused: a slip such as `?states=` must not be taken for no wish.

Must not know what the parameters mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from fastapi.security.base import SecurityBase

from secondface.gateway.refusals import BodyInvalid
from secondface.spec.slips import slip_detail


def known_parameters(request: Request) -> None:
    """Raises BodyInvalid with the names that the route knows."""
    route = request.scope.get("route")
    if not request.query_params or not isinstance(route, APIRoute):
        return
    known = sorted(set(_names(route.dependant)))
    for name in request.query_params:
        if name not in known:
            raise BodyInvalid(_detail(name, known))


async def known_without_key(request: Request) -> None:
    """A dependency of the whole application; where a key can be asked for, its answer comes first (`caller_of`).

    Raises BodyInvalid. On the loop, not in a thread: every request passes here.
    """
    route = request.scope.get("route")
    if isinstance(route, APIRoute) and not _asks_for_key(route.dependant):
        known_parameters(request)


def _asks_for_key(dependant: Dependant) -> bool:
    return isinstance(dependant.call, SecurityBase) or any(map(_asks_for_key, dependant.dependencies))


def _detail(name: str, known: Sequence[str]) -> str:
    if not known:
        return f"There is no query parameter {name[:100]!r}: this address takes none."
    return f"There is no query parameter {name[:100]!r}; {slip_detail(name, known)}"


def _names(dependant: Dependant) -> Iterator[str]:
    yield from (each.alias for each in dependant.query_params)
    for inner in dependant.dependencies:
        yield from _names(inner)
