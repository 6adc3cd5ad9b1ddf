"""What stands between a job and its second authorisation."""

from __future__ import annotations

from secondface.errors.access import AccessProblem
from secondface.errors.jobs import JobProblem


class CodeRefused(AccessProblem):
    """The one-time code is wrong, or it was used before.

    Wait for the next code and send it within half a minute; check that the clock of the device that shows it is right.
    """

    code = "code_refused"


class CodesMissing(AccessProblem):
    """This key has no one-time codes.

    `secondface keys one-time-codes` enrols it, with an operator's key; or let another person approve the job.
    API: Ask the operator of the service to enrol the key, or let another person approve the job.
    """

    code = "codes_missing"


class ApprovalExpired(JobProblem):
    """Nobody approved the job in time.

    Submit it again, and ask somebody who may approve; `secondface approvals list` shows what waits. It costs nothing.
    API: Submit it again, and ask somebody who may approve; GET /v1/approvals shows what waits. It costs nothing.
    """

    code = "approval_expired"
