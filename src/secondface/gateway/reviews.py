"""What reviewers and keepers of the list of protected people do: look at held results, decide, and keep the list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Path, Query, Request, Response

from secondface import errors
from secondface.control.auth import Caller
from secondface.domain.ports import Stored
from secondface.domain.protected import Descriptor
from secondface.gateway import refusals
from secondface.gateway.access import WithCaller, WithService
from secondface.gateway.desk import Desk, WithDesk
from secondface.gateway.files import file_answer
from secondface.gateway.inputs import told_of
from secondface.gateway.problems import responses
from secondface.gateway.views import protected_view, result_name, review_view
from secondface.spec.service import InputRef, ProtectedRequest, ReviewRequest
from secondface.spec.trust_views import ProtectedPage, ProtectedView, ReviewPage, ReviewView

router = APIRouter(prefix="/v1/admin", tags=["reviews"])

JobId = Annotated[str, Path(min_length=1, max_length=100, description="A job's id.")]
EntryId = Annotated[str, Path(min_length=1, max_length=100, description="An entry's id.")]
_PICTURE_REFUSALS = (
    errors.ProtectedMissing, errors.NoFaceInSource, errors.MediaUnsupported, errors.MediaCorrupt, errors.MediaTooLarge,
    errors.MediaEmpty, errors.FileUnreadable, errors.ObjectMissing, errors.InvalidOption, errors.CageUnavailable,
    errors.DiskFull, errors.UploadsFull, refusals.AddressForbidden, refusals.FetchFailed,
)  # fmt: skip


@router.get("/reviews", responses=responses())
def reviews(
    caller: WithCaller, service: WithService,
    after: Annotated[str | None, Query(max_length=100, description="The `next` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> ReviewPage:  # fmt: skip
    """Jobs that wait for a reviewer, of all accounts, newest first. It needs the scope review."""
    found = service.reviews.page(caller, after, limit)
    with service.transactions.view() as work:
        data = tuple(review_view(service, job, work) for job in found)
    return ReviewPage(data=data, next=found[-1].id if len(found) == limit else None)


@router.get("/reviews/{job_id}", responses=responses(errors.JobMissing))
def review(job_id: JobId, caller: WithCaller, service: WithService) -> ReviewView:
    """A job that waits for a reviewer, or was reviewed, with what was found."""
    return review_view(service, service.reviews.get(caller, job_id))


@router.get(
    "/reviews/{job_id}/result", response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}, "description": "The file."},
               206: {"content": {"application/octet-stream": {}}, "description": "The range that was asked for."},
               304: {"description": "The caller has it already."},
               **responses(errors.JobMissing, errors.JobSettled, errors.ObjectMissing, refusals.RangeUnsatisfiable)},
)  # fmt: skip
async def held_result(job_id: JobId, request: Request, caller: WithCaller, service: WithService) -> Response:
    """The held file, for the reviewer's eyes alone."""
    key = await to_thread.run_sync(service.reviews.result, caller, job_id)
    found = await to_thread.run_sync(service.reviews.get, caller, job_id)
    return await file_answer(request, service.objects, key, result_name(found))


@router.post("/reviews/{job_id}/approve", responses=responses(errors.JobMissing, errors.JobSettled))
def approve(job_id: JobId, asked: ReviewRequest, caller: WithCaller, service: WithService) -> ReviewView:
    """Hand the result out; not with a key of whoever submitted the job."""
    return review_view(service, service.reviews.approve(caller, job_id, asked.reason))


@router.post("/reviews/{job_id}/refuse", responses=responses(errors.JobMissing, errors.JobSettled))
def refuse(job_id: JobId, asked: ReviewRequest, caller: WithCaller, service: WithService) -> ReviewView:
    """Keep the result back for good; the caller pays what the device worked."""
    return review_view(service, service.reviews.refuse(caller, job_id, asked.reason))


@router.get("/protected", responses=responses())
def protected(caller: WithCaller, service: WithService) -> ProtectedPage:
    """The list of protected people. It needs the scope admin, as all that follows."""
    return ProtectedPage(data=tuple(protected_view(each) for each in service.protected.all(caller)))


@router.post("/protected", status_code=201, responses=responses(*_PICTURE_REFUSALS))
async def protect(asked: ProtectedRequest, caller: WithCaller, desk: WithDesk) -> ProtectedView:
    """Put somebody on the list, by pictures of the face. Numbers and the note are kept, the pictures are deleted."""
    caller.require("admin")
    described = await _described(desk, caller, asked.pictures)
    made = await to_thread.run_sync(desk.service.protected.add, caller, described, asked.note)
    return protected_view(made)


@router.post("/protected/{entry_id}/pictures", status_code=201, responses=responses(*_PICTURE_REFUSALS))
async def extend(entry_id: EntryId, asked: ProtectedRequest, caller: WithCaller, desk: WithDesk) -> ProtectedView:
    """More pictures of the same person, so that they are known in more poses; the note stays."""
    caller.require("admin")
    described = await _described(desk, caller, asked.pictures)
    return protected_view(await to_thread.run_sync(desk.service.protected.extend, caller, entry_id, described))


@router.delete("/protected/{entry_id}", status_code=204, responses=responses(errors.ProtectedMissing))
def unprotect(entry_id: EntryId, caller: WithCaller, service: WithService) -> Response:
    """Take somebody off the list; nothing is kept of them."""
    service.protected.remove(caller, entry_id)
    return Response(status_code=204)


async def _described(desk: Desk, caller: Caller, pictures: Sequence[InputRef]) -> Sequence[Descriptor]:
    """The numbers of the faces; whatever comes of it, the pictures are not there afterwards."""
    stored: list[Stored] = []
    found: list[Descriptor] = []
    try:
        for at, each in enumerate(pictures):
            stored.append(await desk.inputs.stored(caller, each, f"pictures[{at}]"))
            (known,) = await desk.inputs.known([(f"pictures[{at}]", stored[-1])])
            if known.facts.kind == "video":
                raise errors.MediaUnsupported(f"{known.place}: a video ({known.facts.format_name}), not a picture")
            with told_of(known.place, known.stored.key):
                found.append(await to_thread.run_sync(desk.service.describe_face, known.stored))
    finally:
        for each in stored:
            await to_thread.run_sync(desk.service.objects.delete, each.key)
    return found
