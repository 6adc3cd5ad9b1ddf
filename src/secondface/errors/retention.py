"""What can no longer be had, or not yet be deleted."""

from __future__ import annotations

from secondface.errors.jobs import JobProblem


class DataDeleted(JobProblem):
    """The stored files of this job were deleted, because somebody asked for it or their time was over.

    Run the job again with its inputs; `secondface jobs deletions` shows the receipt.
    API: Run the job again with its inputs; GET /v1/jobs/ID/deletions shows the receipt.
    """

    code = "data_deleted"


class JobUnfinished(JobProblem):
    """The job has not ended, so its files are still needed.

    Cancel it first with `secondface jobs cancel`, or wait for its end; then delete its files.
    API: Cancel it first with DELETE /v1/jobs/ID, or wait for its end; then delete its files.
    """

    code = "job_unfinished"
