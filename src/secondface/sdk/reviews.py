"""Flows of reviewers and of keepers of the list of protected people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote as quoted

from secondface.sdk.answers import read_as
from secondface.sdk.calls import Call, Flow
from secondface.sdk.files import upload
from secondface.sdk.inputs import checked, said
from secondface.sdk.retries import Retries, call
from secondface.spec.service import InputRef, ProtectedRequest, ReviewRequest
from secondface.spec.trust_views import ProtectedPage, ProtectedView, ReviewPage, ReviewView

_REVIEWS, _PROTECTED = "/v1/admin/reviews", "/v1/admin/protected"


def reviews(after: str | None, limit: int, retries: Retries) -> Flow[ReviewPage]:
    query = (("limit", str(limit)), *((("after", after),) if after is not None else ()))
    return read_as(ReviewPage, (yield from call(Call(method="GET", path=_REVIEWS, query=query), retries)))


def review(job_id: str, retries: Retries) -> Flow[ReviewView]:
    return read_as(ReviewView, (yield from call(Call(method="GET", path=_place(job_id)), retries)))


def decide(job_id: str, word: str, reason: str, retries: Retries) -> Flow[ReviewView]:
    words = said(checked(ReviewRequest, {"reason": reason}))
    wanted = Call(method="POST", path=f"{_place(job_id)}/{word}", words=words, repeatable=False)
    return read_as(ReviewView, (yield from call(wanted, retries)))


def protected(retries: Retries) -> Flow[ProtectedPage]:
    return read_as(ProtectedPage, (yield from call(Call(method="GET", path=_PROTECTED), retries)))


def protect(
    pictures: Sequence[Path | bytes], note: str, entry_id: str | None, retries: Retries
) -> Flow[ProtectedView]:  # fmt: skip
    """Send the pictures and name them; the service keeps none of them."""
    sent: list[InputRef] = []
    for each in pictures:
        sent.append(InputRef(upload=(yield from upload(each, retries)).id))  # noqa: PERF401 - a comprehension cannot yield
    words = said(checked(ProtectedRequest, {"pictures": tuple(sent), "note": note}))
    path = _PROTECTED if entry_id is None else f"{_PROTECTED}/{quoted(entry_id, safe='')}/pictures"
    wanted = Call(method="POST", path=path, words=words, repeatable=False)
    return read_as(ProtectedView, (yield from call(wanted, retries)))


def unprotect(entry_id: str, retries: Retries) -> Flow[None]:
    yield from call(Call(method="DELETE", path=f"{_PROTECTED}/{quoted(entry_id, safe='')}"), retries)


def held_place(job_id: str) -> str:
    """Where a reviewer finds the held result."""
    return f"{_place(job_id)}/result"


def _place(job_id: str) -> str:
    return f"{_REVIEWS}/{quoted(job_id, safe='')}"
