"""All tables, for SQLite and PostgreSQL alike.

Moments are whole milliseconds since 1970, amounts whole micro-units, both BIGINT. What is looked for among live jobs
has a partial index on the live state, so that its cost does not grow with history.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    TextClause,
    UniqueConstraint,
    text,
)

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    }
)

_SERIAL = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows by itself only under INTEGER

JOBS = Table(
    "jobs",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("account", Text, nullable=False),
    Column("key_id", Text, nullable=False),
    Column("tier", Text, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("spec", Text, nullable=False),
    Column("cache_key", Text),
    Column("price", Text, nullable=False),
    Column("currency", Text, nullable=False),
    Column("hold_micros", BigInteger, nullable=False),
    Column("max_cost_micros", BigInteger),
    Column("expected_ms", BigInteger, nullable=False),
    Column("turn", BigInteger, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("queued_ms", BigInteger, nullable=False),
    Column("not_before_ms", BigInteger, nullable=False),
    Column("deadline_ms", BigInteger),
    Column("ended_ms", BigInteger),
    Column("stop_asked", Text),
    Column("cause", Text),
    Column("error", Text),
    Column("result", Text),
    Column("done_frames", BigInteger, nullable=False),
    Column("total_frames", BigInteger, nullable=False),
    Column("suspect", Boolean, nullable=False),
    Column("last_attempt", Integer, nullable=False),
    Column("lease_until_ms", BigInteger),
    Column("reason", Text, nullable=False),
    Column("pending", Text),
    Column("findings", Text, nullable=False),
    Column("likeness_confirmed", Boolean, nullable=False),
    Column("watermark", Text, nullable=False, server_default=""),
)
_QUEUED, _RUNNING = text("state = 'queued'"), text("state = 'running'")
_LIVE = text("state IN ('awaiting_approval', 'queued', 'running', 'held')")
_LATE = text("state IN ('awaiting_approval', 'queued', 'running', 'held') AND deadline_ms IS NOT NULL")
_HELD = text("state = 'held'")

_LEFT = text("(inputs IN ('kept', 'deleting') OR output IN ('kept', 'deleting'))")


def _partial(name: str, condition: TextClause, *columns: ColumnElement[Any]) -> Index:
    return Index(name, *columns, sqlite_where=condition, postgresql_where=condition)


_partial("ix_jobs_queue", _QUEUED, JOBS.c.tier, JOBS.c.priority.desc(), JOBS.c.turn, JOBS.c.id)
_partial("ix_jobs_turns", _QUEUED, JOBS.c.tier, JOBS.c.turn)
_partial("ix_jobs_running", _RUNNING, JOBS.c.tier, JOBS.c.turn)
_partial("ix_jobs_leases", _RUNNING, JOBS.c.lease_until_ms)
_partial("ix_jobs_deadlines", _LATE, JOBS.c.deadline_ms)
_partial("ix_jobs_live", _LIVE, JOBS.c.account, JOBS.c.id)
_partial("ix_jobs_held", _HELD, JOBS.c.id)
Index("ix_jobs_account", JOBS.c.account, JOBS.c.id)
Index("ix_jobs_watermark", JOBS.c.watermark)

ATTEMPTS = Table(
    "attempts",
    METADATA,
    Column("job_id", Text, ForeignKey("jobs.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("worker", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("leased_ms", BigInteger, nullable=False),
    Column("lease_until_ms", BigInteger, nullable=False),
    Column("started_ms", BigInteger),
    Column("ended_ms", BigInteger),
    Column("cause", Text),
    Column("error", Text),
    Column("fault", Text),
    Column("boot_ms", BigInteger, nullable=False),
    Column("load_ms", BigInteger, nullable=False),
    Column("fetch_ms", BigInteger, nullable=False),
    Column("run_ms", BigInteger, nullable=False),
    Column("store_ms", BigInteger, nullable=False),
    Column("device_active_ms", BigInteger, nullable=False),
    Column("frames", BigInteger, nullable=False),
    Column("faces", BigInteger, nullable=False),
    Column("peak_resident_bytes", BigInteger, nullable=False),
    Column("peak_device_bytes", BigInteger, nullable=False),
)

SEGMENTS = Table(
    "segments",
    METADATA,
    Column("job_id", Text, ForeignKey("jobs.id"), primary_key=True),
    Column("index", Integer, primary_key=True),
    Column("state", Text, nullable=False),
    Column("attempt", Integer),
    Column("active_ms", BigInteger, nullable=False),
    Column("result", Text),
)

ACCOUNTS = Table(
    "accounts",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("plan", Text, nullable=False),
    Column("credit_micros", BigInteger, nullable=False),
    Column("suspended", Boolean, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
)

# Counters of an account's jobs: a row of its own, so that a claim does not wait for an admission.
LOADS = Table(
    "loads",
    METADATA,
    Column("account", Text, ForeignKey("accounts.id"), primary_key=True),
    Column("running", Integer, nullable=False),
    Column("max_running", Integer, nullable=False),
)

SHARES = Table(
    "shares",
    METADATA,
    Column("account", Text, ForeignKey("accounts.id"), primary_key=True),
    Column("tier", Text, primary_key=True),
    Column("turn", BigInteger, nullable=False),
)
Index("ix_shares_tier", SHARES.c.tier, SHARES.c.turn)

KEYS = Table(
    "keys",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("account", Text, ForeignKey("accounts.id"), nullable=False, index=True),
    Column("digest", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("scopes", Text, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("expires_ms", BigInteger),
    Column("revoked_ms", BigInteger),
    Column("person", Text, nullable=False, server_default=""),
)

# Secrets of one-time codes, encrypted: the key to them lies outside of the database.
CODES = Table(
    "one_time_codes",
    METADATA,
    Column("key_id", Text, ForeignKey("keys.id"), primary_key=True),
    Column("account", Text, nullable=False),
    Column("sealed", Text, nullable=False),
    Column("made_ms", BigInteger, nullable=False),
    Column("used_step", BigInteger, nullable=False),
    Column("used_for", Text, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("blocked_until_ms", BigInteger, nullable=False),
)

PRICES = Table(
    "prices",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("currency", Text, nullable=False),
    Column("tier", Text, nullable=False),
    Column("market", Text, nullable=False),
    Column("family", Text, nullable=False),
    Column("price_micros", BigInteger, nullable=False),
    Column("minimum_s", Integer, nullable=False),
    Column("step_s", Integer, nullable=False),
    Column("valid_from", Text),
    Column("valid_until", Text),
)

ENTRIES = Table(
    "entries",
    METADATA,
    Column("number", _SERIAL, primary_key=True),
    Column("subject", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("currency", Text, nullable=False),
    UniqueConstraint("subject", "kind"),
)

POSTINGS = Table(
    "postings",
    METADATA,
    Column("entry", _SERIAL, ForeignKey("entries.number"), primary_key=True, autoincrement=False),
    Column("account", Text, primary_key=True),
    Column("micros", BigInteger, nullable=False),
    Index("ix_postings_account", "account", "entry"),
)

BALANCES = Table(
    "balances",
    METADATA,
    Column("account", Text, primary_key=True),
    Column("currency", Text, primary_key=True),
    Column("micros", BigInteger, nullable=False),
)

BUDGETS = Table(
    "budgets",
    METADATA,
    Column("scope", Text, primary_key=True),
    Column("span", Text, primary_key=True),
    Column("limit_micros", BigInteger, nullable=False),
)

SPENDS = Table(
    "spends",
    METADATA,
    Column("scope", Text, primary_key=True),
    Column("period", Text, primary_key=True),
    Column("reserved_micros", BigInteger, nullable=False),
    Column("spent_micros", BigInteger, nullable=False),
)

EVENTS = Table(
    "events",
    METADATA,
    Column("number", _SERIAL, primary_key=True),
    Column("account", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("facts", Text, nullable=False),
    Column("position", BigInteger, unique=True),
    Column("digest", Text),
    Column("address", Text),
    Index("ix_events_subject", "subject", "number"),
    Index("ix_events_account", "account", "position"),
)
_partial("ix_events_unsealed", text("position IS NULL"), EVENTS.c.number)

HEADS = Table(
    "audit_heads",
    METADATA,
    Column("kind", Text, primary_key=True),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("digest", Text, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("from_position", BigInteger, nullable=False),
    Column("from_digest", Text, nullable=False),
    Column("public_key", Text, nullable=False),
    Column("signature", Text, nullable=False),
)

REMAINS = Table(
    "remains",
    METADATA,
    Column("job_id", Text, ForeignKey("jobs.id"), primary_key=True),
    Column("account", Text, nullable=False),
    Column("ended_ms", BigInteger, nullable=False),
    Column("inputs", Text, nullable=False),
    Column("output", Text, nullable=False),
    Column("inputs_h", Integer),
    Column("output_h", Integer),
    Column("files", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("address", Text),
)
_partial("ix_remains_left", _LEFT, REMAINS.c.ended_ms, REMAINS.c.job_id)

# Room of accounts that uploads take, from before their first byte on.
UPLOADS = Table(
    "upload_shares",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("account", Text, ForeignKey("accounts.id"), nullable=False, index=True),
    Column("key", Text, nullable=False, index=True),
    Column("size_bytes", BigInteger, nullable=False),
    Column("stored", Boolean, nullable=False),
    Column("touched_ms", BigInteger, nullable=False),
)

ENDPOINTS = Table(
    "endpoints",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("account", Text, ForeignKey("accounts.id"), nullable=False, index=True),
    Column("url", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("kinds", Text, nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
)

DELIVERIES = Table(
    "deliveries",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("endpoint", Text, ForeignKey("endpoints.id"), nullable=False),
    Column("account", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("tries", Integer, nullable=False),
    Column("due_ms", BigInteger, nullable=False),
    Column("status", Integer),
    Column("note", Text, nullable=False),
    Index("ix_deliveries_account", "account", "id"),
)
_partial("ix_deliveries_due", text("state = 'pending'"), DELIVERIES.c.due_ms)

REPLAYS = Table(
    "replays",
    METADATA,
    Column("account", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("digest", Text, nullable=False),
    Column("job_id", Text, nullable=False),
    Column("at_ms", BigInteger, nullable=False, index=True),
)

PROTECTED = Table(
    "protected",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("note", Text, nullable=False),
    Column("descriptors", Text, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("changed_ms", BigInteger, nullable=False),
)

CACHE = Table(
    "cache",
    METADATA,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
    Column("expires_ms", BigInteger, nullable=False, index=True),
)
