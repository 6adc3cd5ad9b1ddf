"""Errors as answers: one table from error class to HTTP status, and problem documents (RFC 9457)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from fastapi import Request
from fastapi.responses import JSONResponse

from secondface import errors, observe
from secondface.errors import SecondfaceError
from secondface.gateway import refusals
from secondface.gateway.languages import language_asked, spoken_in
from secondface.language import Language, translated
from secondface.language.details import said_in
from secondface.spec.views import Problem

MEDIA_TYPE: Final = "application/problem+json"
STATUS: Final[Mapping[type[SecondfaceError], int]] = {
    errors.SecondfaceError: 500,
    errors.BadRequest: 400,
    errors.InvalidPipeline: 422,
    errors.UnknownStep: 422,
    errors.StepUnloadable: 422,
    errors.InvalidOption: 422,
    errors.InvalidSetting: 500,
    errors.TooManySources: 422,
    errors.MappingUnresolved: 422,
    errors.OutputNotWritable: 422,
    errors.OutputExists: 422,
    errors.OutputOccupied: 409,
    errors.OutputFormatUnsupported: 422,
    errors.CodecUnavailable: 422,
    refusals.BodyInvalid: 422,
    refusals.BodyTooLarge: 413,
    refusals.BodyTooSlow: 408,
    refusals.ContentTypeUnsupported: 415,
    refusals.NotAcceptable: 406,
    refusals.RangeUnsatisfiable: 416,
    refusals.RouteMissing: 404,
    refusals.MethodNotAllowed: 405,
    refusals.AddressForbidden: 422,
    refusals.FetchFailed: 422,
    errors.BadMedia: 422,
    errors.FileUnreadable: 422,
    errors.MediaUnsupported: 422,
    errors.MediaCorrupt: 422,
    errors.MediaTooLarge: 413,
    errors.MediaEmpty: 422,
    errors.MalwareFound: 422,
    errors.FaceProblem: 422,
    errors.NoFaceInSource: 422,
    errors.NoFaceInTarget: 422,
    errors.ReferenceFaceNotFound: 422,
    errors.AccessProblem: 403,
    errors.KeyUnknown: 401,
    errors.ScopeMissing: 403,
    errors.LinkInvalid: 403,
    errors.RateLimited: 429,
    errors.BudgetExceeded: 402,
    errors.UploadsFull: 413,
    errors.AccountMissing: 404,
    errors.CodeRefused: 403,
    errors.CodesMissing: 403,
    errors.JobProblem: 409,
    errors.JobMissing: 404,
    errors.JobSettled: 409,
    errors.RequestChanged: 409,
    errors.CostLimitReached: 409,
    errors.JobExpired: 409,
    errors.ApprovalExpired: 409,
    errors.DataDeleted: 410,
    errors.JobUnfinished: 409,
    errors.ObjectMissing: 404,
    errors.TrustProblem: 403,
    errors.ContentRefused: 403,
    errors.SourceProtected: 403,
    errors.LikenessUnconfirmed: 403,
    errors.ReviewRefused: 403,
    errors.ProtectedMissing: 404,
    errors.Cancelled: 409,
    errors.ProviderFault: 500,
    errors.ModelMissing: 503,
    errors.ModelCorrupt: 500,
    errors.ModelFailed: 500,
    errors.StepFailed: 500,
    errors.DeviceUnavailable: 503,
    errors.CageUnavailable: 503,
    errors.ScannerUnavailable: 503,
    errors.MarkMissing: 500,
    errors.SigningUnavailable: 500,
    errors.LeaseLost: 409,
    errors.WorkerLost: 500,
    errors.RunCrashed: 500,
    errors.InputPoisonous: 500,
    errors.StorageUnavailable: 503,
    errors.ModerationUnavailable: 503,
    errors.EncodeFailed: 500,
    errors.DiskFull: 507,
    errors.InternalFault: 500,
    errors.AuditBroken: 500,
}
"""Every class has a row of its own, so that a new one is given its status by somebody who thought of it."""

BY_CODE: Final[Mapping[str, type[SecondfaceError]]] = {error.code: error for error in STATUS}

ALWAYS: Final = (
    refusals.BodyInvalid, refusals.BodyTooLarge, refusals.BodyTooSlow, refusals.ContentTypeUnsupported,
    errors.KeyUnknown, errors.ScopeMissing, errors.RateLimited, errors.BadRequest, errors.StorageUnavailable,
)  # fmt: skip
"""What any address that wants a key can answer."""


def problem_of(error: SecondfaceError, request_id: str, language: Language = "en") -> Problem:
    """The document in a language; the code is the same in all.

    Our own faults keep their details to the log: they may hold paths and statements.
    """
    hidden = isinstance(error, errors.InternalFault | errors.StorageUnavailable)
    return Problem(
        type=f"/errors/{error.code}", title=translated(error.title(), language), status=STATUS[type(error)],
        detail="" if hidden else said_in(error.detail, language), code=error.code, fault=error.fault,
        retryable=error.retryable, remedy=translated(type(error).advice("api"), language), request_id=request_id,
    )  # fmt: skip


def answer(request: Request, error: SecondfaceError) -> JSONResponse:
    """The answer to a request that failed."""
    request_id = str(request.scope.get("secondface.request_id", ""))
    language = language_asked(request)
    problem = problem_of(error, request_id, language)
    headers = spoken_in(language)
    if isinstance(error, errors.RateLimited):
        headers["Retry-After"] = str(error.facts.get("retry_after_s", 1))
    if isinstance(error, errors.KeyUnknown):
        headers["WWW-Authenticate"] = 'Bearer realm="secondface"'
    if isinstance(error, refusals.MethodNotAllowed):
        headers["Allow"] = str(error.facts.get("allow", ""))
    if isinstance(error, refusals.RangeUnsatisfiable):
        headers["Content-Range"] = f"bytes */{error.facts.get('size', 0)}"
    if problem.status >= 500:
        observe.log("gateway.fault", "error", code=error.code, detail=error.detail, request=request_id)
    observe.counter("http_problems", code=error.code)
    return JSONResponse(problem.model_dump(), problem.status, headers, MEDIA_TYPE)


def responses(*kinds: type[SecondfaceError], always: Iterable[type[SecondfaceError]] = ALWAYS) -> dict[int | str, Any]:
    """What a route documents: a problem for the status of each class."""
    described: dict[int | str, Any] = {}
    for kind in (*always, *kinds):
        status = STATUS[kind]
        codes = f"{described[status]['description']} " if status in described else ""
        if f"`{kind.code}`" not in codes:
            described[status] = {
                "description": f"{codes}`{kind.code}`",
                "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
            }
    return described
