"""What the API says of marks, of what a reviewer looks at, and of people who are protected."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from secondface.spec.views import EventView, JobView, LayerVerdict, View, shown


class LayersView(View):
    """What became of each layer of marks: proven unchanged (intact), there (present), damaged or changed (altered), not
    there (absent), not possible in this format (impossible)."""

    model_config = shown(watermark="intact", metadata="intact", signature="intact")

    watermark: LayerVerdict = "absent"
    metadata: LayerVerdict
    signature: LayerVerdict


class SignatureView(View):
    """A signature (C2PA): whether it holds and is of somebody trusted, whose it is, and what it says."""

    model_config = shown(
        verdict="trusted", signer="secondface 1a2b3c4d", issuer="secondface, self-hosted", signed_at="",
        generator="secondface 0.1.0", actions=["c2pa.opened", "c2pa.placed", "c2pa.edited"],
        ingredients=["target", "source"], failures=[],
    )  # fmt: skip

    verdict: Literal["trusted", "unknown", "invalid"] = Field(
        description="trusted; unknown: valid, but by an unknown signer; invalid: not what was signed."
    )
    signer: str = ""
    issuer: str = ""
    signed_at: str = Field(default="", description="By a timestamp server; empty without one.")
    generator: str = ""
    actions: tuple[str, ...] = ()
    ingredients: tuple[str, ...] = ()
    failures: tuple[str, ...] = Field(default=(), description="Codes of C2PA for what does not hold.")


class MarksView(View):
    """The marks in a file, and how far they can be believed."""

    model_config = shown(
        ai_made=True, sound=True, format_name="PNG",
        layers={"watermark": "intact", "metadata": "intact", "signature": "intact"},

        signature={"verdict": "trusted", "signer": "secondface 1a2b3c4d"}, producer="",
        produce_id="0123456789abcdef0123456789abcdef", watermark="0123456789abcdef", job="job_01k9a3", record=[],
        digital_source_type="http://cv.iptc.org/newscodes/digitalsourcetype/compositeWithTrainedAlgorithmicMedia",
        problems=[],
    )  # fmt: skip

    ai_made: bool = Field(description="Whether any mark says so. Absence of marks proves nothing.")
    sound: bool = Field(default=False, description="Whether a mark says so, and none was altered.")
    format_name: str = ""
    layers: LayersView | None = None
    signature: SignatureView | None = None
    producer: str | None = None
    produce_id: str | None = None
    watermark: str | None = Field(default=None, description="The id in the pixels, with which the produce_id begins.")
    job: str | None = Field(
        default=None,
        description="The job that made it, by its signature or else its watermark, where the caller may see that job.",
    )
    record: tuple[EventView, ...] = Field(default=(), description="What is on record of that job.")
    digital_source_type: str | None = None
    problems: tuple[str, ...] = ()


class ReviewView(View):
    """A job that waits for a reviewer, or was reviewed."""

    account: str
    job: JobView


class ReviewPage(View):
    """Jobs that wait for a reviewer, newest first."""

    data: tuple[ReviewView, ...]
    next: str | None = Field(description="Pass it as `after` for the next page; none: this is the last one.")


class ProtectedView(View):
    """Somebody whose face must not be given to others: a note, and how many faces they are known by."""

    id: str
    note: str
    faces: int
    created_ms: int
    changed_ms: int


class ProtectedPage(View):
    """The whole list, oldest first."""

    data: tuple[ProtectedView, ...]
