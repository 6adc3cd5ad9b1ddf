"""From answers that refuse to the errors of secondface, as if the service had raised them here.

SecondfaceError (secondface.errors)
├── ServiceRefused (BadRequest)           a refusal with a code that this version does not know
├── ServiceUnreachable (ProviderFault)    nobody answered
├── AnswerUnreadable (ProviderFault)      somebody answered, but not the service
└── WebhookInvalid (AccessProblem)        a delivery that the service did not send
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from pydantic import ValidationError

from secondface import errors
from secondface.errors import AccessProblem, BadRequest, ProviderFault, SecondfaceError
from secondface.sdk.calls import Answer
from secondface.spec.views import Problem

_LONGEST_EXCERPT = 200


class ServiceRefused(BadRequest):
    """The service refused the request.

    The message holds the service's own words and its code; its documentation explains each code.
    """

    code = "service_refused"


class ServiceUnreachable(ProviderFault):
    """The service does not answer.

    Check the address and the network; `curl ADDRESS/healthz` shows whether it lives.
    """

    code = "service_unreachable"


class AnswerUnreadable(ProviderFault):
    """The answer is not one of the service.

    Check that the address is that of a secondface service, not of a proxy or another program.
    """

    code = "answer_unreadable"
    retryable = False


class WebhookInvalid(AccessProblem):
    """The delivery is not one that the service sent just now.

    Check the secret, pass the body exactly as it came, and keep the clock of this machine right.
    """

    code = "webhook_invalid"


def error_of(answer: Answer) -> SecondfaceError:
    """The error that an answer tells of; `facts` holds `status`, `request_id`, `remedy` and `code` of the service."""
    try:
        problem = Problem.model_validate_json(answer.body)
    except ValidationError:
        excerpt = answer.body[:_LONGEST_EXCERPT].decode("utf-8", "replace").strip()
        kind = ServiceUnreachable if answer.status in (502, 503, 504) else AnswerUnreadable
        return kind(f"It answered {answer.status}: {excerpt}", status=answer.status)
    facts = {
        "status": problem.status, "request_id": problem.request_id, "remedy": problem.remedy, "code": problem.code,
        "retryable": problem.retryable,
    }  # fmt: skip
    kind = _known().get(problem.code)
    if kind is not None:
        return kind(problem.detail, **facts)
    detail = f"{problem.title} {problem.detail}".strip() + f" ({problem.code})"
    return (ServiceRefused if problem.fault == "caller" else ProviderFault)(detail, **facts)


def error_of_code(code: str, detail: str) -> SecondfaceError:
    """The error that ended a job. A code that this version does not know is in the detail."""
    kind = _known().get(code)
    return kind(detail) if kind is not None else ServiceRefused(f"{detail} ({code})")


@lru_cache(maxsize=1)
def _known() -> Mapping[str, type[SecondfaceError]]:
    classes = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, SecondfaceError)]
    return {each.code: each for each in classes}
