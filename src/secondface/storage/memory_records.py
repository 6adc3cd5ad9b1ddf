"""Everything but jobs in memory: ledger, accounts, journal, outbox, idempotency keys, cached results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from secondface.domain.accounts import Account, Actor, Key
from secondface.domain.audit import FIRST, HeadKind, SignedHead
from secondface.domain.budgets import Budget, Spend
from secondface.domain.chain import first_broken, link, version_of
from secondface.domain.deliveries import Delivery, Endpoint
from secondface.domain.jobs import Event
from secondface.domain.ledger import Entry
from secondface.domain.ports import Recorded
from secondface.domain.pricing import PriceBook
from secondface.domain.protected import Protected
from secondface.errors import RequestChanged


class MemoryLedger:
    """Entries, balances and budgets inside one transaction."""

    def __init__(
        self, entries: dict[tuple[str, str], Entry], balances: dict[tuple[str, str], int],
        budgets: dict[tuple[str, str], Budget], spends: dict[tuple[str, str], Spend],
    ) -> None:  # fmt: skip
        self._entries, self._balances, self._budgets, self._spends = entries, balances, budgets, spends

    def post(self, entry: Entry) -> bool:
        if (entry.subject, entry.kind) in self._entries:
            return False
        self._entries[entry.subject, entry.kind] = replace(entry, number=len(self._entries) + 1)
        for posting in entry.postings:
            place = (posting.account, entry.currency)
            self._balances[place] = self._balances.get(place, 0) + posting.micros
        return True

    def balance(self, account: str, currency: str) -> int:
        return self._balances.get((account, currency), 0)

    def entries(
        self, subject: str | None = None, *, accounts: Sequence[str] = (), before: int | None = None, limit: int = 1_000
    ) -> Sequence[Entry]:
        found = [
            entry
            for entry in self._entries.values()
            if (subject is None or entry.subject == subject)
            and (not accounts or any(posting.account in accounts for posting in entry.postings))
            and (before is None or (entry.number or 0) < before)
        ][-limit:]
        return [
            replace(entry, postings=tuple(sorted(entry.postings, key=lambda each: (each.micros, each.account))))
            for entry in found
        ]

    def imbalance(self) -> int:
        return sum(posting.micros for entry in self._entries.values() for posting in entry.postings)

    def budgets(self, scopes: Iterable[str]) -> Sequence[Budget]:
        wanted = set(scopes)
        return [self._budgets[key] for key in sorted(self._budgets) if key[0] in wanted]

    def set_budget(self, budget: Budget) -> None:
        self._budgets[budget.scope, budget.span] = budget

    def spend(self, scope: str, period: str) -> Spend:
        return self._spends.get((scope, period), Spend(scope, period))

    def save_spend(self, spend: Spend) -> None:
        self._spends[spend.scope, spend.period] = spend


class MemoryAccounts:
    """Accounts, keys and prices inside one transaction."""

    def __init__(self, accounts: dict[str, Account], keys: dict[str, Key], books: dict[str, PriceBook]) -> None:
        self._accounts, self._keys, self._books = accounts, keys, books

    def save(self, account: Account) -> None:
        self._accounts[account.id] = account

    def get(self, account_id: str) -> Account | None:
        return self._accounts.get(account_id)

    def lock(self, account_id: str) -> Account | None:
        return self.get(account_id)

    def save_key(self, key: Key) -> None:
        self._keys[key.id] = key

    def find_key(self, digest: str) -> Key | None:
        return next((key for key in self._keys.values() if key.digest == digest), None)

    def keys(self, account_id: str) -> Sequence[Key]:
        return [self._keys[key_id] for key_id in sorted(self._keys) if self._keys[key_id].account == account_id]

    def prices(self) -> PriceBook | None:
        return self._books.get("now")

    def save_prices(self, book: PriceBook) -> None:
        self._books["now"] = book


class MemoryJournal:
    """Events inside one transaction."""

    def __init__(self, events: dict[int, Recorded], heads: dict[tuple[str, int], SignedHead]) -> None:
        self._events, self._heads = events, heads

    def record(self, account: str, actor: Actor, events: Iterable[Event]) -> None:
        for event in events:
            number = max(self._events, default=0) + 1
            self._events[number] = Recorded(number=number, account=account, actor=actor, event=event)

    def since(self, subject: str, number: int = 0, limit: int = 1000) -> Sequence[Recorded]:
        found = [each for each in self._events.values() if each.event.subject == subject and each.number > number]
        return found[:limit]

    def audit(self, account: str | None, after: int = 0, limit: int = 100) -> Sequence[Recorded]:
        found = [each for each in self._sealed() if each.position is not None and each.position > after]
        return [each for each in found if account is None or each.account == account][:limit]

    def seal(self, limit: int = 1000) -> int:
        sealed = self._sealed()
        digest = (sealed[-1].digest if sealed else None) or FIRST
        loose = [each for each in self._events.values() if each.position is None][:limit]
        for position, recorded in enumerate(loose, (sealed[-1].position or 0) + 1 if sealed else 1):
            digest = link(digest, position, recorded)
            self._events[recorded.number] = replace(recorded, position=position, digest=digest)
        return len(loose)

    def broken(self) -> int | None:
        pruned = self.heads("checkpoint")
        after, before = (pruned[-1].position, pruned[-1].digest) if pruned else (0, FIRST)
        return first_broken((each for each in self._sealed() if (each.position or 0) > after), after, before)

    def save_head(self, head: SignedHead) -> None:
        self._heads.setdefault((head.kind, head.position), head)

    def heads(self, kind: HeadKind, newest: int | None = None) -> Sequence[SignedHead]:
        found = [self._heads[place] for place in sorted(self._heads) if place[0] == kind]
        return found if newest is None else found[-newest:]

    def prune(self, checkpoint: SignedHead, keep_subject: str) -> int:
        old = [each for each in self._sealed() if (each.position or 0) <= checkpoint.position]
        gone = [each.number for each in old if each.event.subject != keep_subject]
        for number in gone:
            del self._events[number]
        for each in old:
            if each.event.subject == keep_subject:
                self._events[each.number] = replace(each, actor=replace(each.actor, address=None))
        for place in [place for place in self._heads if place[1] <= checkpoint.position]:
            del self._heads[place]
        self.save_head(checkpoint)
        return len(gone)

    def _sealed(self) -> list[Recorded]:
        found = [(each.position, each) for each in self._events.values() if each.position is not None]
        return [each for _, each in sorted(found, key=lambda pair: pair[0])]


class MemoryOutbox:
    """Endpoints and deliveries inside one transaction."""

    def __init__(self, endpoints: dict[str, Endpoint], deliveries: dict[str, Delivery], now_ms: int) -> None:
        self._endpoints, self._deliveries, self._now_ms = endpoints, deliveries, now_ms

    def save_endpoint(self, endpoint: Endpoint) -> None:
        self._endpoints[endpoint.id] = endpoint

    def endpoints(self, account: str) -> Sequence[Endpoint]:
        return [self._endpoints[key] for key in sorted(self._endpoints) if self._endpoints[key].account == account]

    def put(self, delivery: Delivery) -> None:
        self._deliveries[delivery.id] = delivery

    def due(self, limit: int, lease_ms: int) -> Sequence[Delivery]:
        waiting = [d for d in self._deliveries.values() if d.state == "pending" and d.due_ms <= self._now_ms]
        taken = [
            replace(delivery, due_ms=self._now_ms + lease_ms)
            for delivery in sorted(waiting, key=lambda delivery: delivery.due_ms)[:limit]
        ]
        self._deliveries.update({delivery.id: delivery for delivery in taken})
        return sorted(taken, key=lambda delivery: delivery.id)

    def find(self, delivery_id: str) -> Delivery | None:
        return self._deliveries.get(delivery_id)

    def page(self, account: str, after: str | None = None, limit: int = 50) -> Sequence[Delivery]:
        mine = [each for each in self._deliveries.values() if each.account == account]
        fitting = [each for each in mine if after is None or each.id < after]
        return sorted(fitting, key=lambda delivery: delivery.id, reverse=True)[:limit]


class MemoryProtected:
    """The list of protected people inside one transaction."""

    def __init__(self, people: dict[str, Protected]) -> None:
        self._people = people

    def save(self, person: Protected) -> None:
        self._people[person.id] = person

    def get(self, entry_id: str) -> Protected | None:
        return self._people.get(entry_id)

    def all(self) -> Sequence[Protected]:
        return [self._people[entry_id] for entry_id in sorted(self._people)]

    def remove(self, entry_id: str) -> bool:
        return self._people.pop(entry_id, None) is not None

    def version(self) -> str:
        return version_of((each.id, each.changed_ms) for each in self.all())


class MemoryReplays:
    """Idempotency keys inside one transaction."""

    def __init__(self, replays: dict[tuple[str, str], tuple[str, str, int]], now_ms: int) -> None:
        self._replays, self._now_ms = replays, now_ms

    def remember(self, account: str, key: str, digest: str, job_id: str) -> str | None:
        self._replays.setdefault((account, key), (digest, job_id, self._now_ms))
        known = self.known(account, key, digest)
        return None if known == job_id else known

    def known(self, account: str, key: str, digest: str) -> str | None:
        if (account, key) not in self._replays:
            return None
        said, job_id, _ = self._replays[account, key]
        if said != digest:
            raise RequestChanged(key=key, job=job_id)
        return job_id

    def forget(self, before_ms: int) -> int:
        old = [place for place, (_, _, at_ms) in self._replays.items() if at_ms < before_ms]
        for place in old:
            del self._replays[place]
        return len(old)


class MemoryCache:
    """Cached results inside one transaction."""

    def __init__(self, cache: dict[str, tuple[str, int]], now_ms: int) -> None:
        self._cache, self._now_ms = cache, now_ms

    def get(self, key: str) -> str | None:
        value, expires_ms = self._cache.get(key, ("", 0))
        return value if expires_ms > self._now_ms else None

    def put(self, key: str, value: str, seconds: int) -> None:
        self._cache[key] = (value, self._now_ms + seconds * 1000)

    def prune(self) -> int:
        old = [key for key, (_, expires_ms) in self._cache.items() if expires_ms <= self._now_ms]
        for key in old:
            del self._cache[key]
        return len(old)

    def forget(self, key: str) -> None:
        self._cache.pop(key, None)
