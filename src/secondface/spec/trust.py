"""Second authorisation, deletion and the audit: what the service is asked and what it answers.

Moments are whole milliseconds since 1970. Must not know how anything is stored, signed or computed.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from secondface.spec.service import example

OneTimeCode = Annotated[str, StringConstraints(pattern=r"^[0-9]{6}$")]


class _View(BaseModel):
    model_config = ConfigDict(frozen=True)


def _shown(**values: Any) -> ConfigDict:
    return ConfigDict(frozen=True, json_schema_extra={"examples": [values]})


class CodeRequest(BaseModel):
    """A fresh one-time code, in place of an approver."""

    model_config = example(one_time_code="492039")

    one_time_code: OneTimeCode


class RefusalRequest(BaseModel):
    """Why a job is refused."""

    model_config = example(reason="Nobody asked the second person.")

    reason: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500, pattern=r"^[^\x00-\x1f]*$")
    ] | None = None  # fmt: skip


class ApprovalView(_View):
    """A job that waits for a second authorisation."""

    model_config = _shown(
        job="job_01k9a5", account="default", key_id="key_01k9a1", holder="Ann", faces=3, created_ms=1_790_000_000_000,
        until_ms=1_790_086_400_000, hold_micros=39_000, currency="CNY", own=False,
    )  # fmt: skip

    job: str
    account: str
    key_id: str = Field(description="The key that submitted it.")
    holder: str = Field(description="Whose key that is.")
    faces: int | None
    created_ms: int
    until_ms: int = Field(description="Then it ends as expired, and costs nothing.")
    hold_micros: int = Field(description="What is set aside for it.")
    currency: str
    own: bool = Field(description="Whether you submitted it yourself: then somebody else must approve it.")


class ApprovalPage(_View):
    """Jobs that wait, newest first."""

    data: tuple[ApprovalView, ...]
    next: str | None


class CodesView(_View):
    """Whether a key has one-time codes."""

    key_id: str
    enrolled: bool


class NewCodesView(CodesView):
    """New one-time codes of a key; their secret is in this answer and nowhere else."""

    model_config = _shown(
        key_id="key_01k9a1", enrolled=True, secret="JBSWY3DPEHPK3PXP",  # noqa: S106 - an example
        uri="otpauth://totp/secondface:Ann?secret=JBSWY3DPEHPK3PXP&issuer=secondface",
    )  # fmt: skip

    secret: str
    uri: str = Field(description="What an authenticator reads; as a QR code, a phone does.")


class DeletedFileView(_View):
    """One file of a deletion."""

    name: str
    sha256: str
    size_bytes: int
    kept_for: str | None = Field(description="The job that still needs the file, so that it stayed; none: it is gone.")


class DeletionView(_View):
    """The receipt of a deletion. Its place in the audit's chain is known a few seconds after it."""

    model_config = _shown(
        job="job_01k9a5", what=["inputs", "output"], reason="asked", by="key:key_01k9a1", at_ms=1_790_000_000_000,
        files=[{"name": "out.png", "sha256": "00" * 32, "size_bytes": 1_048_576, "kept_for": None}],
        receipt="11" * 32, position=812, digest="22" * 32,
    )  # fmt: skip

    job: str
    what: tuple[Literal["inputs", "output"], ...]
    reason: Literal["asked", "policy"]
    by: str
    at_ms: int
    files: tuple[DeletedFileView, ...]
    receipt: str = Field(description="SHA-256 over job, what, moment and files.")
    position: int | None
    digest: str | None


class DeletionPage(_View):
    """The receipts of a job's deletions, oldest first."""

    data: tuple[DeletionView, ...]


class AuditFindingView(_View):
    """What a check of the audit found."""

    model_config = _shown(
        whole=True, entries=812, last=812, first_bad=None, flaw=None, signed_to=812, anchored=True, public_key="ab" * 32
    )

    whole: bool
    entries: int
    last: int
    first_bad: int | None = Field(description="The first entry that cannot be trusted.")
    flaw: str | None
    signed_to: int
    anchored: bool = Field(description="Whether the signed word outside of the database was there to compare.")
    public_key: str
