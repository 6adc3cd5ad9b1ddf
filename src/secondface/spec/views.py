"""What the service answers: jobs, events, quotes, receipts, usage, accounts, problems.

Moments are whole milliseconds since 1970, amounts whole micro-units of the currency named beside them. Must not know
how anything is stored.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from secondface.spec.service import Market, PlanFields, RoleName, ScopeName

JobStateName = Literal[
    "awaiting_approval", "queued", "running", "held", "succeeded", "failed", "cancelled", "expired"
]  # fmt: skip
WaitingWord = Literal[
    "no_worker", "no_budget", "awaiting_approval", "review", "rate", "workers_crashing", "back_off", "queue"
]  # fmt: skip
"""`rate`: its account runs all it may; `back_off`: it failed by our fault a moment ago; `queue`: others are first."""
FactValue = str | int | bool | None


class View(BaseModel):
    model_config = ConfigDict(frozen=True)


def shown(**values: Any) -> ConfigDict:
    """The configuration of a view, with an example of it."""
    return ConfigDict(frozen=True, json_schema_extra={"examples": [values]})


class Problem(View):
    """A problem document (RFC 9457) with our code and what to do."""

    model_config = shown(
        type="/errors/budget_exceeded", title="The account's balance or budget does not cover this job.", status=402,
        detail="The job may cost 39000 micros; 0 are left.", code="budget_exceeded", fault="caller", retryable=False,
        remedy="Add credit, raise the budget, lower the cost with a cheaper tier, or wait for the next period.",
        request_id="req_01k9a3",
    )  # fmt: skip

    type: str
    title: str
    status: int
    detail: str = ""
    code: str
    fault: Literal["caller", "provider"]
    retryable: bool
    remedy: str
    request_id: str


class ErrorView(View):
    """What an error code means."""

    code: str
    title: str
    remedy: str
    status: int
    fault: Literal["caller", "provider"]
    retryable: bool


class PriceView(View):
    """One row of the price book."""

    model_config = shown(
        tier="a10g", market="on_demand", family="*", price_micros=3_000, minimum_s=1, step_s=1, valid_from_ms=None,
        valid_until_ms=None,
    )  # fmt: skip

    tier: str
    market: Market
    family: str
    price_micros: int = Field(description="For one device-second.")
    minimum_s: int
    step_s: int = Field(description="Charged seconds are rounded up to a multiple of this.")
    valid_from_ms: int | None
    valid_until_ms: int | None


class PricesView(View):
    """The price book."""

    currency: str
    data: tuple[PriceView, ...]


class QuoteView(View):
    """What a job will cost and how long it will take."""

    model_config = shown(
        tier="a10g", market="on_demand", currency="CNY", price_micros=3_000, expected_s=10, expected_micros=30_000,
        upper_s=13, upper_micros=39_000, expected_wall_ms=10_500, frames=100, width=1280, height=720, measured=True,
    )  # fmt: skip

    tier: str
    market: Market
    currency: str
    price_micros: int
    expected_s: int
    expected_micros: int
    upper_s: int
    upper_micros: int = Field(description="Set aside when the job is accepted; never charged more.")
    expected_wall_ms: int
    frames: int
    width: int
    height: int
    measured: bool = Field(description="Whether jobs of this kind were measured on this tier; else it is a guess.")


class FindingView(View):
    """Something that was found in a job's pictures: by which rule, where, and what follows."""

    rule: str = Field(description="`nsfw`, `protected`, or a word of the operator's own judge.")
    verdict: Literal["hold", "refuse"]
    input: str = Field(description="`target`, or `source 0` for the first source picture.")
    frame: int = Field(description="Counted from 0, in the part that was asked for.")
    at_ms: int | None = Field(description="When that frame is shown; null in a picture.")
    score_permille: int | None

    @property
    def place(self) -> str:
        """`target, frame 75, 3.000 s`; of a picture its name alone."""
        return self.input if self.at_ms is None else f"{self.input}, frame {self.frame}, {self.at_ms / 1000:.3f} s"


class JobView(View):
    """A job as it is now."""

    model_config = shown(
        id="job_01k9a5", state="running", tier="cpu", priority=0, created_ms=1_790_000_000_000, ended_ms=None,
        waiting=None, done_frames=40, total_frames=100, attempts=1, cause=None, error=None, currency="CNY",
        price_micros=300, hold_micros=3_900, max_cost_micros=None, cost_micros=1_200, deadline_ms=None,
        expected_active_ms=10_000, links={"self": "/v1/jobs/job_01k9a5", "events": "/v1/jobs/job_01k9a5/events"},
    )  # fmt: skip

    id: str
    state: JobStateName
    tier: str
    priority: int
    created_ms: int
    ended_ms: int | None
    waiting: WaitingWord | None = Field(description="Why it does not run yet.")
    done_frames: int
    total_frames: int
    attempts: int
    cause: str | None
    error: str | None = Field(description="The code of an error; /errors/CODE explains it.")
    findings: tuple[FindingView, ...] = Field(default=(), description="Why it is held or was refused; worst first.")
    reason: str = Field(default="", description="What a reviewer said.")
    likeness_confirmed: bool = False
    currency: str
    price_micros: int = Field(description="For one device-second, bound when the job was accepted.")
    hold_micros: int
    max_cost_micros: int | None
    cost_micros: int = Field(description="What it has cost so far; final once it has ended.")
    deadline_ms: int | None
    expected_active_ms: int
    links: dict[str, str]


class JobPage(View):
    """Jobs, newest first."""

    data: tuple[JobView, ...]
    next: str | None = Field(description="Pass it as `after` for the next page; none: this is the last one.")


class EventView(View):
    """Something that happened to a job."""

    model_config = shown(number=3, kind="job.progress", at_ms=1_790_000_000_000, facts={"done": 40, "total": 100})

    number: int
    kind: str
    at_ms: int
    facts: dict[str, FactValue]


class EventSubject(View):
    """The job of a webhook's event, as it was then, and what happened to it."""

    id: str
    state: JobStateName
    cause: str | None = None
    error: str | None = None
    done_frames: int = 0
    total_frames: int = 0
    facts: dict[str, FactValue] = {}


class WebhookEvent(View):
    """The body of a webhook's delivery."""

    model_config = shown(
        type="job.succeeded", timestamp_ms=1_790_000_000_000,
        data={"id": "job_01k9a5", "state": "succeeded", "done_frames": 100, "total_frames": 100},
    )  # fmt: skip

    type: str
    timestamp_ms: int
    data: EventSubject


class LedgerEntryView(View):
    """One transaction of an account. Postings sum to zero; amounts that come into a part are positive."""

    model_config = shown(
        number=12, kind="capture", subject="job_01k9a5", at_ms=1_790_000_000_000, currency="CNY",
        postings={"held": -30_000, "revenue": 30_000},
    )  # fmt: skip

    number: int
    kind: Literal["deposit", "hold", "capture", "release", "refund", "device_cost"]
    subject: str = Field(description="The job, or the reference of a payment.")
    at_ms: int
    currency: str
    postings: dict[str, int] = Field(description="Micro-units by the part of the account: wallet, held, revenue …")


class LedgerPage(View):
    """Entries of an account, newest first."""

    data: tuple[LedgerEntryView, ...]
    next: int | None = Field(description="Pass it as `before` for the page after this one.")


class ReceiptLineView(View):
    """One stretch of one attempt."""

    attempt: int
    item: Literal["boot", "load", "fetch", "device", "run", "store"]
    length_ms: int
    charged_ms: int
    reason: str


class ReceiptView(View):
    """Usage turned into money, line by line."""

    model_config = shown(
        job="job_01k9a5", final=True, currency="CNY", price_micros=3_000, charged_ms=9_600, charged_s=10,
        total_micros=30_000, waived_micros=0,
        lines=[{"attempt": 1, "item": "device", "length_ms": 9_600, "charged_ms": 9_600, "reason": "device_worked"}],
    )  # fmt: skip

    job: str
    final: bool
    currency: str
    price_micros: int
    lines: tuple[ReceiptLineView, ...]
    charged_ms: int
    charged_s: int
    total_micros: int
    waived_micros: int


class UsageView(View):
    """What an account's jobs of a stretch of time consumed."""

    model_config = shown(
        from_ms=1_789_900_000_000, until_ms=1_790_000_000_000, jobs={"succeeded": 12}, attempts=13, wall_ms=120_000,
        device_active_ms=80_000, frames=2_400, charged_s=84, total_micros=25_200, currency="CNY", complete=True,
    )  # fmt: skip

    from_ms: int
    until_ms: int
    jobs: dict[str, int] = Field(description="How many were created in that time, by their state now.")
    attempts: int
    wall_ms: int
    device_active_ms: int
    frames: int
    charged_s: int
    total_micros: int
    currency: str
    complete: bool = Field(description="False where there are more jobs than one answer sums up.")


class SpendView(View):
    """What was spent in a period, and what is set aside in it."""

    period: str
    reserved_micros: int
    spent_micros: int


class BudgetView(View):
    """A limit."""

    scope: str
    span: Literal["day", "month"]
    limit_micros: int


class AccountView(View):
    """An account's money and limits."""

    id: str
    name: str
    suspended: bool
    created_ms: int
    credit_micros: int
    currency: str
    balance_micros: int
    held_micros: int
    plan: PlanFields
    spends: tuple[SpendView, ...]
    budgets: tuple[BudgetView, ...]


class OwnAccountView(AccountView):
    """The caller's account, and the key that was used."""

    key_id: str
    scopes: tuple[ScopeName, ...]


class AccountSummary(View):
    """An account in a list."""

    id: str
    name: str
    suspended: bool
    created_ms: int


class AccountPage(View):
    """Every account."""

    data: tuple[AccountSummary, ...]


class KeyView(View):
    """A key without its text."""

    id: str
    account: str
    name: str
    scopes: tuple[ScopeName, ...]
    created_ms: int
    expires_ms: int | None
    revoked_ms: int | None


class NewKeyView(KeyView):
    """A new key; its text is shown this once."""

    key: str
    role: RoleName


class KeyPage(View):
    """Keys of an account."""

    data: tuple[KeyView, ...]


class UploadView(View):
    """Where to send the bytes of an upload."""

    model_config = shown(
        id="upl_01k9a3", method="PUT", url="http://127.0.0.1:8080/v1/files/uploads/default/upl_01k9a3?expires=1",
        expires_ms=1_790_000_000_000, most_bytes=2_147_483_648,
    )  # fmt: skip

    id: str
    method: Literal["PUT"] = "PUT"
    url: str
    expires_ms: int
    most_bytes: int


class StoredView(View):
    """A stored file."""

    id: str
    size_bytes: int
    sha256: str


LayerVerdict = Literal["intact", "present", "altered", "absent", "impossible"]


class ParameterView(View):
    """A parameter of a step."""

    name: str
    values: str
    default: str
    description: str


class StepView(View):
    """A step that a pipeline may name."""

    name: str
    title: str
    description: str
    once: bool
    parameters: tuple[ParameterView, ...]


class StepPage(View):
    """All steps."""

    data: tuple[StepView, ...]


class ModelView(View):
    """A model of the service."""

    name: str
    version: str = ""
    licence: str = ""
    state: str = "ready"


class ModelPage(View):
    """All models."""

    data: tuple[ModelView, ...]


class WebhookView(View):
    """Where events are sent."""

    id: str
    url: str
    kinds: tuple[str, ...]
    enabled: bool
    created_ms: int


class NewWebhookView(WebhookView):
    """A new webhook; the secret that signs its deliveries is shown this once."""

    secret: str


class WebhookPage(View):
    """The account's webhooks."""

    data: tuple[WebhookView, ...]


class DeliveryView(View):
    """One event on its way to one webhook."""

    id: str
    webhook: str
    job: str
    kind: str
    state: Literal["pending", "delivered", "given_up"]
    tries: int
    due_ms: int
    status: int | None
    note: str


class DeliveryPage(View):
    """Deliveries, newest first."""

    data: tuple[DeliveryView, ...]
    next: str | None


class WorkerView(View):
    """One worker."""

    id: str
    state: str
    since_ms: int
    served: int
    market: Market


class TierView(View):
    """A tier's queue and workers."""

    tier: str
    queued_jobs: int
    queued_ms: Annotated[int, Field(description="Expected device milliseconds of the queue.")]
    oldest_queued_ms: int | None
    running_jobs: int
    workers: tuple[WorkerView, ...]
    target: int | None
    why: str | None


class FleetView(View):
    """All tiers."""

    data: tuple[TierView, ...]


class AuditRow(View):
    """One sealed event of the journal."""

    position: int
    digest: str
    account: str
    actor: str
    address: str | None = Field(description="Where the request came from; none where it came from no network.")
    subject: str
    kind: str
    at_ms: int
    facts: dict[str, FactValue]


class AuditPage(View):
    """Sealed events in order."""

    data: tuple[AuditRow, ...]
    next: int | None
    broken_at: int | None = Field(description="The first position at which the chain does not hold; none: whole.")


class Health(View):
    """Whether the service can take jobs, and what stands against it."""

    status: Literal["ok", "not_ready"]
    problems: tuple[str, ...] = ()
