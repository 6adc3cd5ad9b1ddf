"""Every error that secondface raises on purpose, as one tree.

SecondfaceError                       code, fault, retryable, remedy
├── BadRequest                        fault "caller": nothing was run, nothing is charged
│   ├── InvalidPipeline, UnknownStep, StepUnloadable, InvalidOption, InvalidSetting
│   ├── TooManySources, MappingUnresolved
│   └── OutputNotWritable, OutputExists, OutputOccupied, OutputFormatUnsupported, CodecUnavailable
├── BadMedia                          fault "caller": a file is not what it claims to be
│   ├── FileUnreadable, MediaUnsupported, MediaCorrupt, MediaTooLarge, MediaEmpty
├── FaceProblem                       fault "caller": the pixels do not hold what was asked for
│   ├── NoFaceInSource, NoFaceInTarget, ReferenceFaceNotFound
├── AccessProblem                     fault "caller": this key, link or account may not do that
│   ├── KeyUnknown, ScopeMissing, LinkInvalid, RateLimited, BudgetExceeded, AccountMissing
├── JobProblem                        fault "caller": the job cannot do what was asked of it
│   ├── JobMissing, JobSettled, RequestChanged, CostLimitReached, JobExpired, ObjectMissing
├── Cancelled                         fault "caller": the caller stopped the run
└── ProviderFault                     fault "provider": ours; never charged
    ├── ModelMissing, ModelCorrupt, ModelFailed, StepFailed, DeviceUnavailable, CageUnavailable
    ├── MarkMissing                   an output could not be marked, so it is not handed out
    ├── LeaseLost, WorkerLost, InputPoisonous, StorageUnavailable
    └── EncodeFailed, DiskFull, InternalFault

The first line of a class's docstring is its default message, the rest is the remedy; a part that begins with
`API:` is the remedy in the words of the HTTP API, where those of the command line do not serve. Arguments are
attributes. A code is stable and never reused. This module knows nothing of HTTP, exit codes or languages.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from secondface.advice import Surface, advice_in

Fault = Literal["caller", "provider"]


class SecondfaceError(Exception):
    """Something went wrong in secondface.

    Look at `code` and `remedy`; `secondface doctor` shows what this machine can run.
    API: Send it again; if it fails again, report the code and the request's id.
    """

    code: ClassVar[str] = "secondface_error"
    fault: ClassVar[Fault] = "provider"
    retryable: ClassVar[bool] = False

    def __init__(self, detail: str = "", **facts: object) -> None:
        super().__init__(detail)
        self.detail = detail
        self.facts: dict[str, object] = dict(facts)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.detail, self.facts))

    def __str__(self) -> str:
        return f"{self.title()} {self.detail}".strip() if self.detail else self.title()

    @classmethod
    def title(cls) -> str:
        """The one-line message of this class of error."""
        return advice_in(cls).title

    @classmethod
    def advice(cls, surface: Surface) -> str:
        """What to do about errors of this class, in the words of the command line or in those of the HTTP API."""
        said = advice_in(cls)
        return said.api or said.command if surface == "api" else said.command

    @property
    def remedy(self) -> str:
        """What the caller or the operator can do about it; a service that was asked may know better than the class."""
        told = self.facts.get("remedy")
        return told if isinstance(told, str) and told else self.advice("command")


def _rebuild(cls: type[SecondfaceError], detail: str, facts: dict[str, object]) -> SecondfaceError:
    return cls(detail, **facts)


class BadRequest(SecondfaceError):
    """The request cannot be run as it stands.

    Correct the option named in the message and send it again.
    """

    code = "bad_request"
    fault = "caller"


class InvalidPipeline(BadRequest):
    """The pipeline is not valid.

    `secondface steps` lists the steps and their parameters.
    API: GET /v1/steps lists the steps and their parameters.
    """

    code = "invalid_pipeline"


class UnknownStep(InvalidPipeline):
    """There is no step of that name.

    `secondface steps` lists the steps and their parameters.
    API: GET /v1/steps lists the steps and their parameters.
    """

    code = "unknown_step"


class StepUnloadable(InvalidPipeline):
    """A step that another package brings cannot be used.

    `secondface steps` says why; repair or remove that package, or leave the step out.
    API: Leave the step out, or ask the operator of the service to repair the package that brings it.
    """

    code = "step_unloadable"


class InvalidOption(BadRequest):
    """An option has a value that it cannot take.

    `secondface run --help` explains each option with examples.
    API: The message names the field; `/openapi.json` describes each field with an example.
    """

    code = "invalid_option"


class InvalidSetting(BadRequest):
    """A setting has a value that it cannot take.

    `secondface config show` prints each setting, where its value came from, and what it means.
    API: The service is set up wrongly; tell its operator.
    """

    code = "invalid_setting"


class TooManySources(BadRequest):
    """There are more source people than faces chosen in the target.

    Use one source, or say who gets which face with --map SOURCE=INDEX or --map SOURCE=REFERENCE_IMAGE.
    Several pictures of one person belong together: --same-person combines them.
    API: Send one source, or say with `mapping` which source goes to which face. Several pictures of one person belong
    together: `same_person` combines them.
    """

    code = "too_many_sources"


class MappingUnresolved(BadRequest):
    """A --map entry names a source or a face that does not exist.

    Write SOURCE=INDEX (faces count from 0, left to right) or SOURCE=REFERENCE_IMAGE, with SOURCE one of the -s files.
    API: An entry of `mapping` is {"source": N, "index": FACE} (faces count from 0, left to right) or {"source": N,
    "like": INPUT}; sources count from 0.
    """

    code = "mapping_unresolved"


class OutputNotWritable(BadRequest):
    """The output cannot be written there.

    Choose a folder that exists and that you may write to.
    """

    code = "output_not_writable"


class OutputExists(BadRequest):
    """The output is one of the inputs.

    Choose another name for the output.
    """

    code = "output_exists"


class OutputOccupied(BadRequest):
    """A file of the output's name exists already.

    Choose another name, or pass -y to overwrite it.
    API: Choose another name.
    """

    code = "output_occupied"


class OutputFormatUnsupported(BadRequest):
    """The output format cannot hold this result.

    For pictures use .png, .jpg, .webp, .avif, .tiff or .gif; for animations .gif, .webp or .apng; for video .mp4,
    .mov, .mkv or .webm.
    API: Choose with `output`: png, jpeg, webp, avif or tiff for pictures; gif, webp or apng for animations; mp4, mov,
    mkv or webm for video.
    """

    code = "output_format_unsupported"


class CodecUnavailable(BadRequest):
    """This machine cannot run that encoder or decoder.

    Leave the option out to use the processor, or pass --encoder gpu, which takes what the machine has and says so.
    API: Leave the codec or the encoder out of `video`, so that the service chooses.
    """

    code = "codec_unavailable"


class BadMedia(SecondfaceError):
    """A media file cannot be used.

    Check that the file plays in an ordinary player, or export it again as MP4, JPEG or PNG.
    """

    code = "bad_media"
    fault = "caller"


class FileUnreadable(BadMedia):
    """A file cannot be read.

    Check the path and its permissions.
    """

    code = "file_unreadable"


class MediaUnsupported(BadMedia):
    """This kind of file is not supported.

    Pictures: JPEG, PNG, WebP, AVIF, HEIC, TIFF, GIF, BMP. Video: MP4, MOV, MKV, WebM and most that FFmpeg decodes.
    """

    code = "media_unsupported"


class MediaCorrupt(BadMedia):
    """The file is damaged or is not what its header says.

    Export it again from the program that made it.
    """

    code = "media_corrupt"


class MediaTooLarge(BadMedia):
    """The picture or video is larger than the limit.

    Make it smaller, or raise the limit in the settings (`secondface config show`).
    API: Make it smaller, or ask the operator of the service for a higher limit.
    """

    code = "media_too_large"


class MediaEmpty(BadMedia):
    """The file holds no picture and no video frame.

    Check that the right file was given.
    """

    code = "media_empty"


class FaceProblem(SecondfaceError):
    """The pictures do not hold the faces that were asked for.

    Use a picture in which the face is larger, sharper or turned more towards the camera.
    """

    code = "face_problem"
    fault = "caller"


class NoFaceInSource(FaceProblem):
    """No face was found in a source picture.

    Use a picture with one clear face, at least 64 pixels wide, turned towards the camera.
    """

    code = "no_face_in_source"


class NoFaceInTarget(FaceProblem):
    """No face was found in the target.

    Check the target, choose other faces with --faces, or pass --allow-no-face to keep it unchanged.
    API: Check the target, choose other faces with `faces`, or set `allow_no_face` to keep it unchanged.
    """

    code = "no_face_in_target"


class ReferenceFaceNotFound(FaceProblem):
    """Nobody in the target looks like the reference picture.

    Take the reference from the target itself, or choose faces by position with --faces left-to-right.
    API: Take the reference from the target itself, or choose faces by position with `faces`, such as left-to-right.
    """

    code = "reference_face_not_found"


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

    The message names the scope that is missing; ask for a key that has it.
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


class AccountMissing(AccessProblem):
    """There is no account of that name.

    GET /v1/admin/accounts lists the accounts.
    """

    code = "account_missing"


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

    The message names the state. A job that ended stays as it ended; submit a new one.
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
