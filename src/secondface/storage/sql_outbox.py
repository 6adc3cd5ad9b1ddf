"""Webhooks on their way, idempotency keys and cached results in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, bindparam, delete, literal_column, select, update

from secondface.domain.deliveries import Delivery, Endpoint
from secondface.errors import RequestChanged
from secondface.storage.database import Database
from secondface.storage.rows import delivery_of, endpoint_of, endpoint_row
from secondface.storage.sql_ledger import insert_or_ignore
from secondface.storage.tables import CACHE, DELIVERIES, ENDPOINTS, REPLAYS

_ENDPOINTS = select(ENDPOINTS).where(ENDPOINTS.c.account == bindparam("account")).order_by(ENDPOINTS.c.id)


class SqlOutbox:
    """Endpoints and deliveries inside one transaction."""

    def __init__(self, connection: Connection, database: Database) -> None:
        self._connection, self._database = connection, database

    def save_endpoint(self, endpoint: Endpoint) -> None:
        row = endpoint_row(endpoint)
        if not insert_or_ignore(self._connection, ENDPOINTS, row):
            self._connection.execute(update(ENDPOINTS).where(ENDPOINTS.c.id == endpoint.id).values(row))

    def endpoints(self, account: str) -> Sequence[Endpoint]:
        found = self._connection.execute(_ENDPOINTS, {"account": account}).mappings()
        return [endpoint_of(row) for row in found]

    def put(self, delivery: Delivery) -> None:
        row = asdict(delivery)
        if not insert_or_ignore(self._connection, DELIVERIES, row):
            self._connection.execute(update(DELIVERIES).where(DELIVERIES.c.id == delivery.id).values(row))

    def due(self, limit: int, lease_ms: int) -> Sequence[Delivery]:
        now = self._database.now()
        waiting = (
            select(DELIVERIES.c.id)
            .where(literal_column("state = 'pending'"), DELIVERIES.c.due_ms <= now)
            .order_by(DELIVERIES.c.due_ms)
            .limit(limit)
            .with_for_update(skip_locked=True)
        )
        taken = update(DELIVERIES).where(DELIVERIES.c.id.in_(waiting)).values(due_ms=now + lease_ms)
        rows = self._connection.execute(taken.returning(DELIVERIES)).mappings().all()
        return sorted((delivery_of(row) for row in rows), key=lambda delivery: delivery.id)

    def find(self, delivery_id: str) -> Delivery | None:
        query = select(DELIVERIES).where(DELIVERIES.c.id == delivery_id)
        row = self._connection.execute(query).mappings().one_or_none()
        return delivery_of(row) if row else None

    def page(self, account: str, after: str | None = None, limit: int = 50) -> Sequence[Delivery]:
        query = select(DELIVERIES).where(DELIVERIES.c.account == account).order_by(DELIVERIES.c.id.desc())
        if after is not None:
            query = query.where(DELIVERIES.c.id < after)
        return [delivery_of(row) for row in self._connection.execute(query.limit(limit)).mappings()]


class SqlReplays:
    """Idempotency keys inside one transaction."""

    def __init__(self, connection: Connection, database: Database) -> None:
        self._connection, self._database = connection, database

    def remember(self, account: str, key: str, digest: str, job_id: str) -> str | None:
        row: dict[str, Any] = {
            "account": account, "key": key, "digest": digest, "job_id": job_id, "at_ms": self._database.now(),
        }  # fmt: skip
        return None if insert_or_ignore(self._connection, REPLAYS, row) else self.known(account, key, digest)

    def known(self, account: str, key: str, digest: str) -> str | None:
        mine = (REPLAYS.c.account == account, REPLAYS.c.key == key)
        known = self._connection.execute(select(REPLAYS).where(*mine)).mappings().one_or_none()
        if known is None:
            return None
        if known["digest"] != digest:
            raise RequestChanged(key=key, job=known["job_id"])
        return known["job_id"]

    def forget(self, before_ms: int) -> int:
        return self._connection.execute(delete(REPLAYS).where(REPLAYS.c.at_ms < before_ms)).rowcount


class SqlCache:
    """Cached results inside one transaction."""

    def __init__(self, connection: Connection, database: Database) -> None:
        self._connection, self._database = connection, database

    def get(self, key: str) -> str | None:
        query = select(CACHE.c.value).where(CACHE.c.key == key, CACHE.c.expires_ms > self._database.now())
        return self._connection.scalar(query)

    def put(self, key: str, value: str, seconds: int) -> None:
        row: dict[str, Any] = {"key": key, "value": value, "expires_ms": self._database.now() + seconds * 1000}
        if not insert_or_ignore(self._connection, CACHE, row):
            self._connection.execute(update(CACHE).where(CACHE.c.key == key).values(row))

    def prune(self) -> int:
        return self._connection.execute(delete(CACHE).where(CACHE.c.expires_ms <= self._database.now())).rowcount

    def forget(self, key: str) -> None:
        self._connection.execute(delete(CACHE).where(CACHE.c.key == key))
