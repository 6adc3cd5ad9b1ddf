"""Faults of ours or of the machine; an attempt that ends with one is never charged."""

from __future__ import annotations

from secondface.errors.tree import SecondfaceError


class ProviderFault(SecondfaceError):
    """secondface or its machine failed; you are not charged.

    Run it again; if it fails again, report the code and the log.
    """

    code = "provider_fault"
    retryable = True


class ModelMissing(ProviderFault):
    """A model that this pipeline needs is not on this machine.

    `secondface models list` shows what is here.
    API: GET /v1/models lists what is there; ask the operator of the service for the model.
    """

    code = "model_missing"
    retryable = False


class ModelCorrupt(ProviderFault):
    """A model file does not match its manifest.

    Install secondface again; the file on disk is damaged or was changed.
    API: Tell the operator of the service; you are not charged.
    """

    code = "model_corrupt"
    retryable = False


class ModelFailed(ProviderFault):
    """A model failed while it ran.

    Run it again; if it fails again, run `secondface doctor`.
    API: Send it again; if it fails again, report the job and its code.
    """

    code = "model_failed"


class StepFailed(ProviderFault):
    """A step that another package brings failed while it ran.

    Report it to the authors of that package, or leave the step out.
    """

    code = "step_failed"
    retryable = False


class DeviceUnavailable(ProviderFault):
    """The device that was asked for is not usable here.

    `secondface doctor` says which devices work here and why others do not; --device cpu always works.
    API: Choose another tier, or leave `tier` out.
    """

    code = "device_unavailable"
    retryable = False


class CageUnavailable(ProviderFault):
    """Files cannot be looked at in a process of their own on this machine.

    `secondface doctor` says what holds such processes here; free some memory or raise the limit of processes.
    API: Send the request again in a moment; if it fails again, tell the operator of the service.
    """

    code = "cage_unavailable"


class RunCrashed(ProviderFault):
    """The process that worked on the files of a job ended by itself.

    Nothing is to be done: the job is tried again alone, and you are not charged. The worker's log says how it ended.
    """

    code = "run_crashed"
    retryable = True


class ScannerUnavailable(ProviderFault):
    """Files cannot be scanned for malware now, so none is taken.

    See that clamd runs and answers at the address in the setting `scanner`, and takes files as large as yours
    (StreamMaxLength); `secondface doctor --security` asks it.
    API: Send the request again in a moment; if it fails again, tell the operator of the service.
    """

    code = "scanner_unavailable"


class MarkMissing(ProviderFault):
    """The output could not be marked as AI-made, so it was not handed out.

    Choose another output format; if it happens again, report it.
    """

    code = "mark_missing"


class LeaseLost(ProviderFault):
    """The worker does not hold the job any more; another attempt may be running.

    Nothing is to be done: the worker drops what it made, and the job goes on elsewhere.
    """

    code = "lease_lost"


class WorkerLost(ProviderFault):
    """Workers were lost while they ran the job, more often than the job may be tried.

    Submit it again; you are not charged. The operator sees why in the attempts of the job.
    """

    code = "worker_lost"


class InputPoisonous(ProviderFault):
    """The job ended two workers, so it is not tried again.

    Report the job's id; you are not charged. An input that was exported again may pass.
    """

    code = "input_poisonous"
    retryable = False


class StorageUnavailable(ProviderFault):
    """The database or the object store does not answer.

    Send the request again in a moment; what was accepted before is not lost.
    """

    code = "storage_unavailable"


class EncodeFailed(ProviderFault):
    """The output could not be encoded.

    Choose another codec or container by the output's name.
    API: Choose another `output`.
    """

    code = "encode_failed"
    retryable = False


class DiskFull(ProviderFault):
    """The disk is full.

    Free some space, or write the output to another disk.
    API: The service has no room left; tell its operator, and send the request again later.
    """

    code = "disk_full"


class InternalFault(ProviderFault):
    """secondface met a state that it does not know.

    This is our bug: please report it with the log.
    """

    code = "internal_fault"


class AuditBroken(ProviderFault):
    """The audit log is not what was written down.

    `secondface audit verify` names the first entry that cannot be trusted; keep the database as it is and find out who
    wrote to it. If you put back a backup of it yourself, move audit.head of the folder of secrets away.
    API: Tell the operator of the service.
    """

    code = "audit_broken"
    retryable = False
