"""What the service is asked: requests for jobs, quotes, uploads, webhooks; for operators accounts, keys and prices.

Checks what can be known from the words alone. Amounts are whole micro-units of the operator's currency. Must not know
HTTP, accounts or stores.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from secondface.errors import InvalidOption
from secondface.spec.graph import LabelSpec, PipelineSpec
from secondface.spec.outputs import StillOutput, VideoOutput
from secondface.spec.schemas import Restore

Market = Literal["on_demand", "spot"]
RoleName = Literal["owner", "developer", "viewer", "approver", "billing", "reviewer", "operator"]
ScopeName = Literal["jobs:write", "jobs:read", "billing:read", "approve", "review", "admin"]
OutputFormat = Literal[
    "auto", "jpeg", "png", "webp", "avif", "tiff", "gif", "apng", "mp4", "mov", "mkv", "webm",
]  # fmt: skip
FormatName = Annotated[
    str, StringConstraints(pattern=rf"^({'|'.join(name for name in get_args(OutputFormat) if name != 'auto')})$")
]
EventKind = Literal[
    "job.accepted", "job.approved", "job.held", "job.reviewed", "job.succeeded", "job.failed", "job.cancelled",
    "job.expired",
]  # fmt: skip
Micros = Annotated[int, Field(ge=0, le=10**15)]
TierName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
Title = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=120, pattern=r"^[^\x00-\x1f]*$")
]
UploadId = Annotated[str, StringConstraints(pattern=r"^upl_[0-9a-z]{1,40}$")]
Address = Annotated[str, StringConstraints(min_length=8, max_length=2_000)]
MAX_INPUTS = 64


def example(**values: Any) -> ConfigDict:
    """The configuration of a request with an example for the API's reference."""
    return ConfigDict(extra="forbid", frozen=True, json_schema_extra={"examples": [values]})


class InputRef(BaseModel):
    """An input: an upload by its id, or a file at an address on the public internet."""

    model_config = example(upload="upl_01k9a3")

    upload: UploadId | None = None
    url: Address | None = None

    @model_validator(mode="after")
    def _one(self) -> InputRef:
        if (self.upload is None) == (self.url is None):
            raise InvalidOption("An input is either an upload or a url.")
        return self


class MappingRef(BaseModel):
    """A source for the face at a position, counted from the left, or for the person of a reference picture."""

    model_config = example(source=0, index=1)

    source: int = Field(ge=0, le=MAX_INPUTS)
    index: int | None = Field(default=None, ge=0, le=10_000)
    like: InputRef | None = None


class JobOptions(BaseModel):
    """All of a request but its files."""

    model_config = example(faces="largest", max_cost_micros=300_000)

    same_person: bool = Field(default=False, description="The sources are several pictures of one person.")
    faces: str = Field(
        default="auto", max_length=200,
        description="largest, all, left-to-right, positions such as 0,2, like (with a reference), or auto.",
    )  # fmt: skip
    restore: Restore = "auto"
    pipeline: PipelineSpec | None = Field(default=None, description="Empty: swap (if there are sources), then restore.")
    label: LabelSpec | None = None
    video: VideoOutput = VideoOutput()
    still: StillOutput = StillOutput()
    output: OutputFormat = Field(default="auto", description="auto: the target's kind, as PNG, GIF or MP4.")
    keep_metadata: bool = False
    allow_no_face: bool = False
    tier: TierName | None = Field(default=None, description="Empty: the first tier of the service.")
    market: Market = "on_demand"
    priority: int = Field(default=0, ge=-10, le=10, description="Higher goes first among the account's own jobs.")
    deadline_s: int | None = Field(default=None, ge=1, le=30 * 86_400, description="Seconds from now.")
    max_cost_micros: Micros | None = Field(default=None, description="The job is stopped before it would cost more.")
    likeness_confirmed: bool = Field(default=False, description="You may use the likenesses of the sources.")


class JobRequest(JobOptions):
    """A job: files in, one marked file out."""

    model_config = example(
        sources=[{"upload": "upl_01k9a3"}], target={"upload": "upl_01k9a4"}, faces="largest", max_cost_micros=300_000
    )

    sources: tuple[InputRef, ...] = Field(default=(), max_length=MAX_INPUTS)
    target: InputRef
    reference: InputRef | None = Field(default=None, description="A picture of the person meant, with faces=like.")
    mapping: tuple[MappingRef, ...] = Field(default=(), max_length=MAX_INPUTS)


class UploadRequest(BaseModel):
    """A file that is to be uploaded."""

    model_config = example(content_type="video/mp4", size_bytes=1_048_576)

    content_type: str = Field(
        default="application/octet-stream", max_length=100, pattern=r"^[A-Za-z0-9.+-]+/[A-Za-z0-9.+-]+$",
        description="Only kept; what the file is, its bytes say.",
    )  # fmt: skip
    size_bytes: int | None = Field(default=None, ge=1, le=2**50, description="To refuse at once what is too large.")


class VerifyRequest(BaseModel):
    """A file whose marks are to be read."""

    model_config = example(upload="upl_01k9a4")

    upload: UploadId


class WebhookRequest(BaseModel):
    """Where events of the account's jobs are to be sent."""

    model_config = example(url="https://example.org/hooks/secondface", kinds=["job.succeeded", "job.failed"])

    url: Address
    kinds: tuple[EventKind, ...] = Field(default=(), max_length=16, description="Empty: all that end a job.")


class WebhookChange(BaseModel):
    """Switch a webhook off or on again."""

    model_config = example(enabled=True)

    enabled: bool


# ---- for operators ---------------------------------------------------------------------------------------------------


class PlanFields(BaseModel):
    """What an account's jobs may be at most."""

    model_config = example(max_running=8, approval_above_faces=1)

    max_running: int = Field(default=8, ge=0, le=100_000)
    max_pixels: int = Field(default=50_000_000, ge=1, le=2**40)
    max_frames: int = Field(default=1_000_000, ge=1, le=2**40)
    max_faces: int = Field(
        default=16, ge=1, le=256,
        description="Faces that a job may change. More are refused; of those found by `all`, the largest are changed.",
    )  # fmt: skip
    formats: tuple[FormatName, ...] = Field(
        default=(), max_length=20, description="Formats that results may have, as in a job's output; empty: all."
    )
    approval_above_faces: int | None = Field(
        default=None, ge=0, le=256,
        description="Jobs with more faces need a second authorisation: another person, or a fresh one-time code.",
    )  # fmt: skip
    label_optional: bool = Field(default=False, description="The visible label may be left off, with a reason.")
    likeness_required: bool = Field(
        default=False, description="A job with sources needs `likeness_confirmed`, the caller's word for it."
    )
    nsfw_hold_permille: int | None = Field(
        default=500, ge=1, le=1000,
        description="A picture or frame that scores so much keeps the result back for a reviewer; null: none does.",
    )  # fmt: skip
    nsfw_refuse_permille: int | None = Field(
        default=850, ge=1, le=1000, description="One that scores so much ends the job; null: none does."
    )
    requests_per_minute: int = Field(default=600, ge=1, le=1_000_000)
    max_upload_bytes: int = Field(
        default=20 << 30, ge=0, le=2**50,
        description="Bytes held in uploads at once, those that jobs have taken included; more are refused.",
    )  # fmt: skip
    retain_inputs_h: int | None = Field(
        default=None, ge=0, le=100_000,
        description="Hours after a job's end for which its inputs are kept; empty: as the service does.",
    )  # fmt: skip
    retain_outputs_h: int | None = Field(default=None, ge=0, le=100_000, description="The same for its result.")


class AccountRequest(BaseModel):
    """A new account."""

    model_config = example(name="Film School", credit_micros=0)

    name: Title
    plan: PlanFields = PlanFields()
    credit_micros: Micros = 0


class AccountChange(BaseModel):
    """What is to change of an account; what is left out stays."""

    model_config = example(suspended=True)

    name: Title | None = None
    plan: PlanFields | None = None
    credit_micros: Micros | None = None
    suspended: bool | None = None


class DepositRequest(BaseModel):
    """Money that came in; the same reference twice moves nothing."""

    model_config = example(micros=50_000_000, reference="invoice-2026-0042")

    micros: int = Field(ge=1, le=10**15)
    reference: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,80}$")]


class BudgetRequest(BaseModel):
    """A limit of what may be spent in a day or a month, for an account or one of its keys."""

    model_config = example(span="month", limit_micros=200_000_000)

    span: Literal["day", "month"]
    limit_micros: Micros
    key_id: Annotated[str, StringConstraints(pattern=r"^key_[0-9a-z]{1,40}$")] | None = Field(
        default=None, description="Empty: the whole account."
    )


class KeyRequest(BaseModel):
    """A new key."""

    model_config = example(role="developer", name="build server", expires_s=86_400)

    role: RoleName
    name: Title | None = None
    expires_s: int | None = Field(default=None, ge=60, le=10 * 366 * 86_400, description="Seconds from now.")
    person: Title | None = Field(
        default=None, description="Who gets it; nobody approves their own jobs with another key. Empty: you yourself."
    )


class PriceRequest(BaseModel):
    """A new price from now on; jobs that were accepted keep theirs."""

    model_config = example(tier="a10g", market="on_demand", price_micros=3_000)

    tier: TierName
    market: Market = "on_demand"
    family: Annotated[str, StringConstraints(pattern=r"^(\*|[A-Za-z0-9_.-]{1,64})$")] = "*"
    price_micros: Micros
    minimum_s: int = Field(default=1, ge=0, le=86_400)
    step_s: int = Field(default=1, ge=1, le=86_400)


class ReviewRequest(BaseModel):
    """What a reviewer decided, and why; the job's caller reads it."""

    model_config = example(reason="A swimming lesson; nothing is wrong with it.")

    reason: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


class ProtectedRequest(BaseModel):
    """Somebody whose face must not be given to others, by pictures of the face; the pictures are not kept."""

    model_config = example(pictures=[{"upload": "upl_01k9a3"}], note="Asked for by letter of 3 May")

    pictures: tuple[InputRef, ...] = Field(min_length=1, max_length=16)
    note: Annotated[str, StringConstraints(strip_whitespace=True, max_length=500)] = ""
