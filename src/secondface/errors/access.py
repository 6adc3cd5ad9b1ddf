"""What a key, a link or an account may not do."""

from __future__ import annotations

from secondface.errors.tree import SecondfaceError


class AccessProblem(SecondfaceError):
    """This key, link or account may not do that.

    Ask the operator of the service for a key with the scopes that you need.
    """

    code = "access_problem"
    fault = "caller"


class KeyUnknown(AccessProblem):
    """The request carries no key that is known here.

    Send `Authorization: Bearer KEY` with a key that was not revoked; `secondface keys create` makes one.
    API: Send `Authorization: Bearer KEY` with a key that was not revoked; the operator of the service makes keys.
    """

    code = "key_unknown"


class ScopeMissing(AccessProblem):
    """The key is known, but it may not do this.

    The message says what is missing: a scope (ask for a key that has it), or another person's key.
    """

    code = "scope_missing"


class LinkInvalid(AccessProblem):
    """The signed link is not valid, or it has expired.

    Ask the service for a new link; a link holds for one method, one object and a short time.
    """

    code = "link_invalid"


class RateLimited(AccessProblem):
    """Too many requests in too short a time.

    Wait for the seconds that the answer names, then send the request again.
    """

    code = "rate_limited"
    retryable = True


class BudgetExceeded(AccessProblem):
    """The account's balance or budget does not cover this job.

    Add credit, raise the budget, lower the cost with a cheaper tier, or wait for the next period.
    """

    code = "budget_exceeded"


class UploadsFull(AccessProblem):
    """The account holds as many bytes in uploads as its plan allows.

    Delete the data of jobs that have ended, send a smaller file, or wait until older uploads go by themselves. The
    operator of the service can raise `max_upload_bytes` of the account's plan.
    API: DELETE /v1/jobs/{id}/data for jobs that have ended, send a smaller file, or wait until older uploads go by
    themselves. The operator of the service can raise `max_upload_bytes` of the account's plan.
    """

    code = "uploads_full"


class AccountMissing(AccessProblem):
    """There is no account of that name.

    GET /v1/admin/accounts lists the accounts.
    """

    code = "account_missing"
