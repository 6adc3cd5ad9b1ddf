"""Every error that secondface raises on purpose, as one tree.

SecondfaceError                       code, fault, retryable, remedy
├── BadRequest                        fault "caller": nothing was run, nothing is charged
│   ├── InvalidPipeline, UnknownStep, StepUnloadable, InvalidOption, InvalidSetting
│   ├── TooManySources, MappingUnresolved
│   └── OutputNotWritable, OutputExists, OutputOccupied, OutputFormatUnsupported, CodecUnavailable
├── BadMedia                          fault "caller": a file is not what it claims to be
│   ├── FileUnreadable, MediaUnsupported, MediaCorrupt, MediaTooLarge, MediaEmpty, MalwareFound
├── FaceProblem                       fault "caller": the pixels do not hold what was asked for
│   ├── NoFaceInSource, NoFaceInTarget, ReferenceFaceNotFound
├── AccessProblem                     fault "caller": this key, link or account may not do that
│   ├── KeyUnknown, ScopeMissing, LinkInvalid, RateLimited, BudgetExceeded, UploadsFull
│   └── AccountMissing, CodeRefused, CodesMissing
├── JobProblem                        fault "caller": the job cannot do what was asked of it
│   ├── JobMissing, JobSettled, RequestChanged, CostLimitReached, JobExpired, ObjectMissing
│   └── ApprovalExpired, DataDeleted, JobUnfinished
├── TrustProblem                      fault "caller": what is shown, or who, may not be used here
│   ├── ContentRefused, SourceProtected, LikenessUnconfirmed, ReviewRefused, ProtectedMissing
├── Cancelled                         fault "caller": the caller stopped the run
└── ProviderFault                     fault "provider": ours; never charged
    ├── ModelMissing, ModelCorrupt, ModelFailed, StepFailed, DeviceUnavailable, CageUnavailable
    ├── ScannerUnavailable            no file is used that could not be scanned
    ├── AuditBroken                   the audit is not what was written down, so nothing more of it is signed
    ├── MarkMissing                   an output could not be marked, so it is not handed out
    ├── SigningUnavailable            there is no key to sign outputs with
    ├── LeaseLost, WorkerLost, RunCrashed, InputPoisonous, StorageUnavailable, ModerationUnavailable
    └── EncodeFailed, DiskFull, InternalFault

The first line of a class's docstring is its default message, the rest is the remedy; a part that begins with
`API:` is the remedy in the words of the HTTP API, where those of the command line do not serve. Arguments are
attributes. A code is stable and never reused. This package knows nothing of HTTP, exit codes or languages.
"""

from __future__ import annotations

from secondface.errors.access import (
    AccessProblem,
    AccountMissing,
    BudgetExceeded,
    KeyUnknown,
    LinkInvalid,
    RateLimited,
    ScopeMissing,
    UploadsFull,
)
from secondface.errors.faces import FaceProblem, NoFaceInSource, NoFaceInTarget, ReferenceFaceNotFound
from secondface.errors.files import (
    BadMedia,
    FileUnreadable,
    MalwareFound,
    MediaCorrupt,
    MediaEmpty,
    MediaTooLarge,
    MediaUnsupported,
)
from secondface.errors.jobs import (
    Cancelled,
    CostLimitReached,
    JobExpired,
    JobMissing,
    JobProblem,
    JobSettled,
    ObjectMissing,
    RequestChanged,
)
from secondface.errors.moderation import (
    ContentRefused,
    LikenessUnconfirmed,
    ModerationUnavailable,
    ProtectedMissing,
    ReviewRefused,
    SourceProtected,
    TrustProblem,
)
from secondface.errors.provider import (
    AuditBroken,
    CageUnavailable,
    DeviceUnavailable,
    DiskFull,
    EncodeFailed,
    InputPoisonous,
    InternalFault,
    LeaseLost,
    MarkMissing,
    ModelCorrupt,
    ModelFailed,
    ModelMissing,
    ProviderFault,
    RunCrashed,
    ScannerUnavailable,
    StepFailed,
    StorageUnavailable,
    WorkerLost,
)
from secondface.errors.requests import (
    BadRequest,
    CodecUnavailable,
    InvalidOption,
    InvalidPipeline,
    InvalidSetting,
    MappingUnresolved,
    OutputExists,
    OutputFormatUnsupported,
    OutputNotWritable,
    OutputOccupied,
    StepUnloadable,
    TooManySources,
    UnknownStep,
)
from secondface.errors.retention import DataDeleted, JobUnfinished
from secondface.errors.second_authorisation import ApprovalExpired, CodeRefused, CodesMissing
from secondface.errors.signing import SigningUnavailable
from secondface.errors.tree import Fault, SecondfaceError

__all__ = [
    "AccessProblem",
    "AccountMissing",
    "ApprovalExpired",
    "AuditBroken",
    "BadMedia",
    "BadRequest",
    "BudgetExceeded",
    "CageUnavailable",
    "Cancelled",
    "CodeRefused",
    "CodecUnavailable",
    "CodesMissing",
    "ContentRefused",
    "CostLimitReached",
    "DataDeleted",
    "DeviceUnavailable",
    "DiskFull",
    "EncodeFailed",
    "FaceProblem",
    "Fault",
    "FileUnreadable",
    "InputPoisonous",
    "InternalFault",
    "InvalidOption",
    "InvalidPipeline",
    "InvalidSetting",
    "JobExpired",
    "JobMissing",
    "JobProblem",
    "JobSettled",
    "JobUnfinished",
    "KeyUnknown",
    "LeaseLost",
    "LikenessUnconfirmed",
    "LinkInvalid",
    "MalwareFound",
    "MappingUnresolved",
    "MarkMissing",
    "MediaCorrupt",
    "MediaEmpty",
    "MediaTooLarge",
    "MediaUnsupported",
    "ModelCorrupt",
    "ModelFailed",
    "ModelMissing",
    "ModerationUnavailable",
    "NoFaceInSource",
    "NoFaceInTarget",
    "ObjectMissing",
    "OutputExists",
    "OutputFormatUnsupported",
    "OutputNotWritable",
    "OutputOccupied",
    "ProtectedMissing",
    "ProviderFault",
    "RateLimited",
    "ReferenceFaceNotFound",
    "RequestChanged",
    "ReviewRefused",
    "RunCrashed",
    "ScannerUnavailable",
    "ScopeMissing",
    "SecondfaceError",
    "SigningUnavailable",
    "SourceProtected",
    "StepFailed",
    "StepUnloadable",
    "StorageUnavailable",
    "TooManySources",
    "TrustProblem",
    "UnknownStep",
    "UploadsFull",
    "WorkerLost",
]
