"""Stored files as answers: whole or one range of them, never taken for a page by a browser."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator

from anyio import to_thread
from fastapi import Request
from fastapi.responses import Response, StreamingResponse
from starlette.datastructures import Headers

from secondface.domain.ports import ObjectStore, Stored
from secondface.gateway.refusals import RangeUnsatisfiable

_RANGE = re.compile(r"bytes=(\d{0,4000})-(\d{0,4000})", re.ASCII | re.IGNORECASE)
"""Python refuses to read numbers of more digits."""


async def file_answer(
    request: Request, objects: ObjectStore, key: str, name: str, content_type: str = "", *, inline: bool = False
) -> Response:
    """A stored file, or the range that was asked for. Raises ObjectMissing, RangeUnsatisfiable."""
    stored = await to_thread.run_sync(objects.head, key)
    place = "inline" if inline else "attachment"
    headers = {
        "Accept-Ranges": "bytes", "ETag": f'"{stored.sha256}"', "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox; default-src 'none'", "Cache-Control": "private, no-transform",
        "Content-Disposition": f'{place}; filename="{name}"',
    }  # fmt: skip
    asked = request.headers if request.method == "GET" else Headers()  # no other method asks for parts (RFC 9110, 14.2)
    if asked.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    wanted = _wanted(asked, stored)
    first, last = wanted or (0, stored.size_bytes - 1)
    headers["Content-Length"] = str(max(0, last - first + 1))
    if wanted:
        headers["Content-Range"] = f"bytes {first}-{last}/{stored.size_bytes}"
    chunks = await to_thread.run_sync(objects.read, key, first, last)
    return StreamingResponse(
        in_threads(chunks), 206 if wanted else 200, headers, content_type or stored.content_type
    )  # fmt: skip


async def in_threads(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    """A blocking iterator, each step of it in a thread."""
    while (chunk := await to_thread.run_sync(next, chunks, None)) is not None:
        yield chunk


def _wanted(asked: Headers, stored: Stored) -> tuple[int, int] | None:
    """The one range that is asked for; several at once, other units, and what is no range are not looked at.

    Raises RangeUnsatisfiable.
    """
    if asked.get("if-range", f'"{stored.sha256}"') != f'"{stored.sha256}"':
        return None
    match = _RANGE.fullmatch(asked.get("range", "").strip())
    if match is None or match[1] == match[2] == "":
        return None
    size = stored.size_bytes
    begin, end = (int(digits) if digits else None for digits in match.groups())
    if begin is None:
        first, last = max(0, size - (end or 0)), size - 1
    elif end is not None and end < begin:
        return None
    else:
        first, last = begin, size - 1 if end is None else min(end, size - 1)
    if first >= size or last < first:
        raise RangeUnsatisfiable(f"The file has {size} bytes.", size=size)
    return first, last
