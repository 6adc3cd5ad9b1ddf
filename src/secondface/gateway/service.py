"""What the gateway is given: use cases, stores and a few functions of other rooms, put together by `compose.server()`.

The gateway opens no database, no folder and no picture itself: whatever it can do is one of these fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from secondface.control.accounts import Accounts
from secondface.control.admission import Admission
from secondface.control.approvals import JobRequests
from secondface.control.audit import AuditTrail
from secondface.control.auth import Keyring, Rates
from secondface.control.one_time_codes import OneTimeCodes
from secondface.control.protected import ProtectedRegister
from secondface.control.retention import Retention
from secondface.control.reviews import Reviews
from secondface.control.screening import Screening
from secondface.control.speeds import Speeds
from secondface.control.subscriptions import Subscriptions
from secondface.control.upload_shelf import UploadShelf
from secondface.control.waiting_room import WaitingRoom
from secondface.domain.ports import Clock, Fleet, Ids, ObjectStore, Stored, Transactions
from secondface.domain.protected import Descriptor
from secondface.domain.scaling import Decision
from secondface.gateway.news import News
from secondface.observe import Meter
from secondface.spec.trust_views import MarksView
from secondface.spec.views import ModelView
from secondface.spec.work import InputFacts


def _no_decisions() -> Mapping[str, Decision]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One service. All functions are plain and may block: the gateway calls them in threads."""

    transactions: Transactions
    objects: ObjectStore
    shelf: UploadShelf
    """Where whatever callers send is put."""
    clock: Clock
    ids: Ids
    keyring: Keyring
    admission: Admission
    requests: JobRequests
    codes: OneTimeCodes
    waiting_room: WaitingRoom
    retention: Retention
    audit: AuditTrail
    rates: Rates
    accounts: Accounts
    subscriptions: Subscriptions
    speeds: Speeds
    tiers: tuple[str, ...]
    """Tiers that somebody serves; a job whose caller names none goes to the first that is fast enough for it."""
    check_link: Callable[[str, str, str, str], None]
    """`storage.links.Links.check(key, method, expires, signature)`; raises LinkInvalid."""
    inspect: Callable[[Stored], InputFacts]
    """What the stored file is, of these very bytes, found out in the cage; raises BadMedia errors, ObjectMissing."""
    read_marks: Callable[[str], MarksView]
    """The marks in the stored file of a key; raises BadMedia errors."""
    reviews: Reviews
    protected: ProtectedRegister
    describe_face: Callable[[Stored], Descriptor]
    """The numbers of the largest face in a stored picture; raises BadMedia errors and NoFaceInSource."""
    models: Callable[[], Sequence[ModelView]]
    marked_by: str = ""
    """The version of this program and whom it names in marks: other results are not handed out again."""
    screening: Screening | None = None
    """What every file of a caller passes before it is used; none where the operator set up no scanner."""
    fleet: Fleet | None = None
    """Whose workers are shown; none where workers come by themselves."""
    decisions: Callable[[], Mapping[str, Decision]] = _no_decisions
    """The scaler's last decision of each tier."""
    news: News = field(default_factory=News)
    """Word of jobs from workers of this machine."""
    meter: Meter | None = None
    """Where counters and histograms of this process are summed up."""
    start: Callable[[], None] = lambda: None
    """Begin what goes on beside requests: workers, scaling, sweeps, housekeeping. Webhooks are the gateway's own."""
    stop: Callable[[], None] = lambda: None
    """End that again; returns when it has ended."""
    ready: Callable[[], Sequence[str]] = tuple
    """What is not ready: workers that crash, a full disk; empty when all is well. The database is asked beside it."""
