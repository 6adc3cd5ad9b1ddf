"""Uploads by signed links, and reading the marks of a file."""

from __future__ import annotations

from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Depends, Path, Query, Request, Response

from secondface import errors
from secondface.control.auth import Caller
from secondface.control.uploads import PLACE
from secondface.domain.accounts import Actor
from secondface.errors import LinkInvalid
from secondface.gateway import refusals
from secondface.gateway.access import WithCaller, WithService, address_of, take_address
from secondface.gateway.bodies import content_length
from secondface.gateway.desk import WithDesk
from secondface.gateway.files import file_answer
from secondface.gateway.forms import checked, media_type, read_json
from secondface.gateway.inputs import SCANNER_SAYS, told_of
from secondface.gateway.intake import upload_key
from secondface.gateway.multipart import parts
from secondface.gateway.problems import responses
from secondface.gateway.refusals import BodyInvalid, BodyTooLarge, ContentTypeUnsupported
from secondface.gateway.service import Service
from secondface.gateway.views import event_view
from secondface.spec.service import UploadRequest, VerifyRequest
from secondface.spec.trust_views import MarksView
from secondface.spec.views import StoredView, UploadView

router = APIRouter(tags=["files"])

StoredKey = Annotated[str, Path(min_length=1, max_length=512)]
Expires = Annotated[str, Query(max_length=12, pattern=r"^[0-9]+$")]
Signature = Annotated[str, Query(max_length=128)]


def fits_method(
    request: Request,
    method: Annotated[str | None, Query(max_length=8, description="What the link was made for: GET or PUT.")] = None,
) -> None:
    """A link says itself what it is for. Raises LinkInvalid."""
    if method is not None and method != request.method:
        raise LinkInvalid(f"It is for {method}.")


_LINK = (errors.LinkInvalid, errors.ObjectMissing, errors.RateLimited, refusals.BodyInvalid)
_VERIFY_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": {"$ref": "#/components/schemas/VerifyRequest"}},
            "multipart/form-data": {
                "schema": {
                    "type": "object", "required": ["file"],
                    "properties": {"file": {"type": "string", "format": "binary"}},
                },
            },
        },
    }
}  # fmt: skip


@router.post("/v1/uploads", status_code=201, responses=responses(errors.UploadsFull))
def upload(asked: UploadRequest, caller: WithCaller, desk: WithDesk) -> UploadView:
    """Ask for a link to which one file can be sent with PUT."""
    caller.require("jobs:write")
    most = desk.options.bodies.file_bytes
    if asked.size_bytes is not None and asked.size_bytes > most:
        raise BodyTooLarge(f"It takes {most} bytes.", most_bytes=most)
    service, upload_id = desk.service, desk.service.ids.new("upl")
    service.shelf.require_room(caller.account.id, asked.size_bytes or 1)
    url = service.objects.link(upload_key(caller.account.id, upload_id), "PUT", desk.options.link_s)
    expires_ms = service.clock.now_ms() + desk.options.link_s * 1000
    return UploadView(id=upload_id, url=url, expires_ms=expires_ms, most_bytes=most)


@router.put(
    "/v1/files/{key:path}", dependencies=[Depends(fits_method)],
    responses=responses(
        *_LINK, *SCANNER_SAYS, errors.MediaTooLarge, errors.UploadsFull, refusals.BodyTooLarge, refusals.BodyTooSlow,
        errors.DiskFull,
        always=(),
    ),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        },
        "security": [],
    },
)  # fmt: skip
async def receive(
    key: StoredKey, expires: Expires, signature: Signature, request: Request, desk: WithDesk
) -> StoredView:
    """Send the bytes of an upload to its signed link; no key is needed."""
    take_address(request)
    await to_thread.run_sync(desk.service.check_link, key, "PUT", expires, signature)
    if not key.startswith(PLACE):
        raise LinkInvalid("Only uploads are sent by callers.")
    kind = media_type(request) or "application/octet-stream"
    most, actor = desk.options.bodies.file_bytes, Actor("link", address_of(request))
    stored = await desk.intake.store(
        key, request.stream(), kind[:100], most, actor, announced_bytes=content_length(request.scope)
    )  # fmt: skip
    desk.inputs.expect(stored)
    return StoredView(id=key.rsplit("/", 1)[-1], size_bytes=stored.size_bytes, sha256=stored.sha256)


@router.get(
    "/v1/files/{key:path}", response_class=Response, dependencies=[Depends(fits_method)],
    responses={200: {"content": {"application/octet-stream": {}}, "description": "The file."},
               206: {"content": {"application/octet-stream": {}}, "description": "The range that was asked for."},
               304: {"description": "The caller has it already."},
               **responses(*_LINK, refusals.RangeUnsatisfiable, always=())},
    openapi_extra={"security": []},
)  # fmt: skip
async def send(
    key: StoredKey, expires: Expires, signature: Signature, request: Request, service: WithService
) -> Response:
    """The file of a signed link."""
    take_address(request)
    await to_thread.run_sync(service.check_link, key, "GET", expires, signature)
    return await file_answer(request, service.objects, key, key.rsplit("/", 1)[-1])


@router.post(
    "/v1/verify",
    responses=responses(
        errors.ObjectMissing, errors.MediaUnsupported, errors.MediaCorrupt, errors.MediaEmpty, errors.MediaTooLarge,
        errors.CageUnavailable, errors.DiskFull, errors.UploadsFull, *SCANNER_SAYS,
    ),
    openapi_extra=_VERIFY_BODY,
)  # fmt: skip
async def verify(request: Request, caller: WithCaller, desk: WithDesk) -> MarksView:
    """Read the marks of a file back: which layers are there and intact, who signed, and which job made it."""
    caller.require("jobs:read")
    match media_type(request):
        case "application/json":
            asked = checked(VerifyRequest, await read_json(request))
            stored = await desk.inputs.upload(caller, asked.upload, "upload")
            return await to_thread.run_sync(_marks, desk.service, caller, stored.key)
        case "multipart/form-data":
            key = ""
            async for part in parts(request.headers["content-type"], request.stream()):
                if part.name != "file" or key:
                    raise BodyInvalid("The form has one part, `file`.")
                key = (await desk.inputs.store(caller, part.chunks, part.content_type, part.name)).key
            if not key:
                raise BodyInvalid("The form has no part `file`.")
            try:
                with told_of("file", key):
                    return await to_thread.run_sync(_marks, desk.service, caller, key)
            finally:
                await to_thread.run_sync(desk.service.objects.delete, key)
        case other:
            raise ContentTypeUnsupported(other, content_type=other)


def _marks(service: Service, caller: Caller, key: str) -> MarksView:
    """The marks of a stored file, with the record of the job that made it for those who may see the job."""
    marks = service.read_marks(key)
    job_id = marks.job
    if job_id is None and marks.watermark is not None:  # whatever else was stripped
        job = service.requests.marked(caller, marks.watermark)
        job_id = job.id if job is not None else None
    if job_id is None:
        return marks
    try:
        record = service.requests.events(caller, job_id)
    except errors.JobMissing:
        return marks.model_copy(update={"job": None})
    return marks.model_copy(update={"job": job_id, "record": tuple(map(event_view, record))})
