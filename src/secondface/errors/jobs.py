"""What cannot be done with a job, and jobs that their caller stopped."""

from __future__ import annotations

from secondface.errors.tree import SecondfaceError


class JobProblem(SecondfaceError):
    """The job cannot do what was asked of it.

    Look at the job's state first: `secondface jobs list` shows them.
    API: Look at the job's state first: GET /v1/jobs/ID shows it.
    """

    code = "job_problem"
    fault = "caller"


class JobMissing(JobProblem):
    """There is no job of that name in this account.

    Check the job's id and the key that you use; `secondface jobs list` shows the jobs of the account.
    API: Check the job's id and the key that you use; GET /v1/jobs lists the jobs of the account.
    """

    code = "job_missing"


class JobSettled(JobProblem):
    """The job is in a state in which this is not possible.

    The message names the state. A job that ended stays as it ended; submit a new one. One that is held goes on when a
    reviewer releases it, one that is awaiting_approval when somebody else approves it.
    """

    code = "job_settled"


class RequestChanged(JobProblem):
    """The idempotency key was used before, with another request.

    Use a new key for a new request; send the same body to get the first answer again.
    """

    code = "request_changed"


class CostLimitReached(JobProblem):
    """The job was stopped before it would have cost more than its limit.

    Submit it again with a higher --max-cost, a cheaper tier, or a shorter input.
    API: Submit it again with a higher `max_cost_micros`, a cheaper `tier`, or a shorter input.
    """

    code = "cost_limit_reached"


class JobExpired(JobProblem):
    """The job did not end before its deadline.

    Submit it again with a later deadline or a faster tier; you are not charged.
    """

    code = "job_expired"


class ObjectMissing(JobProblem):
    """There is no stored file of that name, or it was removed after its time.

    Upload the input again, or run the job again.
    """

    code = "object_missing"


class Cancelled(SecondfaceError):
    """The run was cancelled.

    Nothing was left behind; run it again when you are ready.
    """

    code = "cancelled"
    fault = "caller"
