"""Who is calling, and what they may do: keys shown once and stored as digests, scopes, roles, rates.

Must not know HTTP: the text of a key comes in, a caller or one of our errors goes out.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from secondface.domain.accounts import OPERATOR, ROLE_SCOPES, Account, Actor, Key, Role, Scope
from secondface.domain.jobs import Event, Fact
from secondface.domain.ports import Clock, Ids, Transactions, UnitOfWork
from secondface.errors import AccessProblem, KeyUnknown, RateLimited, ScopeMissing

_PREFIX = "sf_"
"""How our keys begin, so that people and scanners of leaked secrets can tell one."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody with a key that holds."""

    account: Account
    key_id: str
    scopes: frozenset[Scope]
    address: str | None = None
    """Where the request came from; none where it came from no network."""

    @property
    def actor(self) -> Actor:
        """What the journal says of who did it."""
        return Actor(f"key:{self.key_id}", self.address)

    def require(self, scope: Scope) -> None:
        """Let pass who has the scope. Raises ScopeMissing."""
        if scope not in self.scopes:
            raise ScopeMissing(f"It needs {scope}.", scope=scope)


class Keyring:
    """Makes, finds and revokes keys."""

    def __init__(self, transactions: Transactions, ids: Ids) -> None:
        self._transactions, self._ids = transactions, ids

    def issue(
        self, account_id: str, role: Role, *, name: str = "", expires_ms: int | None = None, actor: Actor = OPERATOR,
        person: str = "",
    ) -> tuple[Key, str]:  # fmt: skip
        """A new key and its text, which nobody can read again. Raises AccessProblem where there is no such account."""
        with self._transactions.begin() as work:
            return self.issue_within(
                work, account_id, role, name=name, expires_ms=expires_ms, actor=actor, person=person
            )

    def issue_within(
        self, work: UnitOfWork, account_id: str, role: Role, *, name: str = "", expires_ms: int | None = None,
        actor: Actor = OPERATOR, person: str = "",
    ) -> tuple[Key, str]:  # fmt: skip
        """The same in a transaction of the caller's: the key holds from its end on."""
        text = _PREFIX + self._ids.secret()
        if work.accounts.get(account_id) is None:
            raise AccessProblem(f"There is no account {account_id}.", account=account_id)
        key = Key(
            id=self._ids.new("key"), account=account_id, digest=_digest(text), name=name,
            scopes=ROLE_SCOPES[role], created_ms=work.now_ms(), expires_ms=expires_ms, person=person,
        )  # fmt: skip
        work.accounts.save_key(key)
        _tell(work, key, "key.created", actor, role)
        return key, text

    def revoke(self, account_id: str, key_id: str, *, actor: Actor = OPERATOR) -> Key:
        """Make a key useless from now on; a second time changes nothing. Raises AccessProblem."""
        with self._transactions.begin() as work:
            key = next((each for each in work.accounts.keys(account_id) if each.id == key_id), None)
            if key is None:
                raise AccessProblem(f"The account has no key {key_id}.", key=key_id)
            if key.revoked_ms is not None:
                return key
            revoked = replace(key, revoked_ms=work.now_ms())
            work.accounts.save_key(revoked)
            _tell(work, revoked, "key.revoked", actor, "")
        return revoked

    def caller(self, text: str, address: str | None = None) -> Caller:
        """Who holds this key. Raises KeyUnknown, the same for every reason, or AccessProblem if suspended."""
        with self._transactions.view() as work:
            key = work.accounts.find_key(_digest(text)) if text.startswith(_PREFIX) else None
            account = work.accounts.get(key.account) if key else None
            now_ms = work.now_ms()
        if key is None or account is None or not key.holds(now_ms):
            raise KeyUnknown
        if account.suspended:
            raise AccessProblem("The account is suspended.", account=account.id)
        return Caller(account, key.id, key.scopes, address)


class Rates:
    """Token buckets: each name may do so many things a minute, some of them at once. Lives in one process."""

    def __init__(self, clock: Clock, most_names: int = 100_000) -> None:
        self._clock, self._most_names = clock, most_names
        self._buckets: dict[str, tuple[float, int]] = {}

    def take(self, name: str, per_minute: int) -> None:
        """Count one thing. Raises RateLimited with the seconds to wait (`retry_after_s`)."""
        now_ms = self._clock.elapsed_ms()
        room, since_ms = self._buckets.get(name, (float(per_minute), now_ms))
        room = min(float(per_minute), room + (now_ms - since_ms) * per_minute / 60_000)
        if room < 1:
            wait_s = -int(-(1 - room) * 60 // per_minute)
            raise RateLimited(f"Try again in {wait_s} s.", retry_after_s=wait_s)
        if name not in self._buckets and len(self._buckets) >= self._most_names:
            self._buckets.clear()  # so many names are an attack; all start full again, and memory stays bounded
        self._buckets[name] = (room - 1, now_ms)


def holder_of(work: UnitOfWork, account_id: str, key_id: str) -> str:
    """Whose key it is; a key that is not there is nobody else's."""
    return next((key.holder for key in work.accounts.keys(account_id) if key.id == key_id), key_id)


def _digest(text: str) -> str:
    # A key is 256 random bits: it cannot be guessed, so a fast digest is as good as a slow one.
    return hashlib.sha256(text.encode()).hexdigest()


def _tell(work: UnitOfWork, key: Key, kind: str, actor: Actor, role: str) -> None:
    facts: dict[str, Fact] = {"name": key.name}
    if role:
        facts |= {"role": role, "person": key.person}
    work.journal.record(key.account, actor, [Event(key.id, kind, work.now_ms(), facts)])
