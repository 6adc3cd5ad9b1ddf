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
    ├── LeaseLost, WorkerLost, RunCrashed, InputPoisonous, StorageUnavailable
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
)
from secondface.errors.faces import FaceProblem, NoFaceInSource, NoFaceInTarget, ReferenceFaceNotFound
from secondface.errors.files import BadMedia, FileUnreadable, MediaCorrupt, MediaEmpty, MediaTooLarge, MediaUnsupported
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
from secondface.errors.provider import (
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
from secondface.errors.tree import Fault, SecondfaceError

__all__ = [
    "AccessProblem",
    "AccountMissing",
    "BadMedia",
    "BadRequest",
    "BudgetExceeded",
    "CageUnavailable",
    "Cancelled",
    "CodecUnavailable",
    "CostLimitReached",
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
    "KeyUnknown",
    "LeaseLost",
    "LinkInvalid",
    "MappingUnresolved",
    "MarkMissing",
    "MediaCorrupt",
    "MediaEmpty",
    "MediaTooLarge",
    "MediaUnsupported",
    "ModelCorrupt",
    "ModelFailed",
    "ModelMissing",
    "NoFaceInSource",
    "NoFaceInTarget",
    "ObjectMissing",
    "OutputExists",
    "OutputFormatUnsupported",
    "OutputNotWritable",
    "OutputOccupied",
    "ProviderFault",
    "RateLimited",
    "ReferenceFaceNotFound",
    "RequestChanged",
    "RunCrashed",
    "ScopeMissing",
    "SecondfaceError",
    "StepFailed",
    "StepUnloadable",
    "StorageUnavailable",
    "TooManySources",
    "UnknownStep",
    "WorkerLost",
]
