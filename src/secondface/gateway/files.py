"""Stored files as answers: whole or one range of them, never taken for a page by a browser."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator

from anyio import to_thread
from fastapi import Request
from fastapi.responses import Response, StreamingResponse

from secondface.domain.ports import ObjectStore, Stored
from secondface.gateway.refusals import RangeUnsatisfiable

_RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})", re.ASCII)


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
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    wanted = _wanted(request, stored)
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


def _wanted(request: Request, stored: Stored) -> tuple[int, int] | None:
    """The one range that is asked for; several at once, and other units, are answered with the whole file."""
    if request.headers.get("if-range", f'"{stored.sha256}"') != f'"{stored.sha256}"':
        return None
    match = _RANGE.fullmatch(request.headers.get("range", "").replace(" ", ""))
    if match is None or match[1] == match[2] == "":
        return None
    size = stored.size_bytes
    if match[1] == "":
        first, last = max(0, size - int(match[2])), size - 1
    else:
        first, last = int(match[1]), min(int(match[2]) if match[2] else size - 1, size - 1)
        if match[2] and int(match[2]) < int(match[1]):
            return None
    if first >= size or last < first:
        raise RangeUnsatisfiable(f"The file has {size} bytes.", size=size)
    return first, last
