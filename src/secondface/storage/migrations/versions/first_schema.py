"""The first schema: accounts, jobs, money and records.

Written out and not taken from `tables`: what a database went through does not change when the tables do.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make all tables of an empty database."""
    _accounts()
    _jobs()
    _money()
    _records()


def _accounts() -> None:
    op.create_table(
        "accounts",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("plan", sa.Text(), nullable=False),
        sa.Column("credit_micros", sa.BigInteger(), nullable=False),
        sa.Column("suspended", sa.Boolean(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_accounts"),
    )
    op.create_table(
        "loads",
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("running", sa.Integer(), nullable=False),
        sa.Column("max_running", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name="fk_loads_account"),
        sa.PrimaryKeyConstraint("account", name="pk_loads"),
    )
    op.create_table(
        "shares",
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("tier", sa.Text(), nullable=False),
        sa.Column("turn", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name="fk_shares_account"),
        sa.PrimaryKeyConstraint("account", "tier", name="pk_shares"),
    )
    op.create_index("ix_shares_tier", "shares", ["tier", "turn"])
    op.create_table(
        "keys",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("expires_ms", sa.BigInteger()),
        sa.Column("revoked_ms", sa.BigInteger()),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name="fk_keys_account"),
        sa.PrimaryKeyConstraint("id", name="pk_keys"),
        sa.UniqueConstraint("digest", name="uq_keys_digest"),
    )
    op.create_index("ix_keys_account", "keys", ["account"])


def _jobs() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("tier", sa.Text(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("spec", sa.Text(), nullable=False),
        sa.Column("cache_key", sa.Text()),
        sa.Column("price", sa.Text(), nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("hold_micros", sa.BigInteger(), nullable=False),
        sa.Column("max_cost_micros", sa.BigInteger()),
        sa.Column("expected_ms", sa.BigInteger(), nullable=False),
        sa.Column("turn", sa.BigInteger(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("queued_ms", sa.BigInteger(), nullable=False),
        sa.Column("not_before_ms", sa.BigInteger(), nullable=False),
        sa.Column("deadline_ms", sa.BigInteger()),
        sa.Column("ended_ms", sa.BigInteger()),
        sa.Column("stop_asked", sa.Text()),
        sa.Column("cause", sa.Text()),
        sa.Column("error", sa.Text()),
        sa.Column("result", sa.Text()),
        sa.Column("done_frames", sa.BigInteger(), nullable=False),
        sa.Column("total_frames", sa.BigInteger(), nullable=False),
        sa.Column("suspect", sa.Boolean(), nullable=False),
        sa.Column("last_attempt", sa.Integer(), nullable=False),
        sa.Column("lease_until_ms", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
    )
    op.create_index("ix_jobs_account", "jobs", ["account", "id"])
    op.create_index(
        "ix_jobs_deadlines",
        "jobs",
        ["deadline_ms"],
        sqlite_where=sa.text("state IN ('awaiting_approval', 'queued', 'running') AND deadline_ms IS NOT NULL"),
        postgresql_where=sa.text("state IN ('awaiting_approval', 'queued', 'running') AND deadline_ms IS NOT NULL"),
    )
    op.create_index(
        "ix_jobs_leases",
        "jobs",
        ["lease_until_ms"],
        sqlite_where=sa.text("state = 'running'"),
        postgresql_where=sa.text("state = 'running'"),
    )
    op.create_index(
        "ix_jobs_live",
        "jobs",
        ["account", "id"],
        sqlite_where=sa.text("state IN ('awaiting_approval', 'queued', 'running')"),
        postgresql_where=sa.text("state IN ('awaiting_approval', 'queued', 'running')"),
    )
    op.create_index(
        "ix_jobs_queue",
        "jobs",
        ["tier", sa.literal_column("priority DESC"), "turn", "id"],
        sqlite_where=sa.text("state = 'queued'"),
        postgresql_where=sa.text("state = 'queued'"),
    )
    op.create_index(
        "ix_jobs_running",
        "jobs",
        ["tier", "turn"],
        sqlite_where=sa.text("state = 'running'"),
        postgresql_where=sa.text("state = 'running'"),
    )
    op.create_index(
        "ix_jobs_turns",
        "jobs",
        ["tier", "turn"],
        sqlite_where=sa.text("state = 'queued'"),
        postgresql_where=sa.text("state = 'queued'"),
    )
    op.create_table(
        "attempts",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("leased_ms", sa.BigInteger(), nullable=False),
        sa.Column("lease_until_ms", sa.BigInteger(), nullable=False),
        sa.Column("started_ms", sa.BigInteger()),
        sa.Column("ended_ms", sa.BigInteger()),
        sa.Column("cause", sa.Text()),
        sa.Column("error", sa.Text()),
        sa.Column("fault", sa.Text()),
        sa.Column("boot_ms", sa.BigInteger(), nullable=False),
        sa.Column("load_ms", sa.BigInteger(), nullable=False),
        sa.Column("fetch_ms", sa.BigInteger(), nullable=False),
        sa.Column("run_ms", sa.BigInteger(), nullable=False),
        sa.Column("store_ms", sa.BigInteger(), nullable=False),
        sa.Column("device_active_ms", sa.BigInteger(), nullable=False),
        sa.Column("frames", sa.BigInteger(), nullable=False),
        sa.Column("faces", sa.BigInteger(), nullable=False),
        sa.Column("peak_resident_bytes", sa.BigInteger(), nullable=False),
        sa.Column("peak_device_bytes", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_attempts_job_id"),
        sa.PrimaryKeyConstraint("job_id", "number", name="pk_attempts"),
    )
    op.create_table(
        "segments",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("index", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer()),
        sa.Column("active_ms", sa.BigInteger(), nullable=False),
        sa.Column("result", sa.Text()),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_segments_job_id"),
        sa.PrimaryKeyConstraint("job_id", "index", name="pk_segments"),
    )


def _money() -> None:
    op.create_table(
        "prices",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("tier", sa.Text(), nullable=False),
        sa.Column("market", sa.Text(), nullable=False),
        sa.Column("family", sa.Text(), nullable=False),
        sa.Column("price_micros", sa.BigInteger(), nullable=False),
        sa.Column("minimum_s", sa.Integer(), nullable=False),
        sa.Column("step_s", sa.Integer(), nullable=False),
        sa.Column("valid_from", sa.Text()),
        sa.Column("valid_until", sa.Text()),
        sa.PrimaryKeyConstraint("number", name="pk_prices"),
    )
    op.create_table(
        "entries",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_entries"),
        sa.UniqueConstraint("subject", "kind", name="uq_entries_subject_kind"),
    )
    op.create_table(
        "postings",
        sa.Column("entry", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("micros", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["entry"], ["entries.number"], name="fk_postings_entry"),
        sa.PrimaryKeyConstraint("entry", "account", name="pk_postings"),
    )
    op.create_index("ix_postings_account", "postings", ["account", "entry"])
    op.create_table(
        "balances",
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("micros", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("account", "currency", name="pk_balances"),
    )
    op.create_table(
        "budgets",
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("span", sa.Text(), nullable=False),
        sa.Column("limit_micros", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("scope", "span", name="pk_budgets"),
    )
    op.create_table(
        "spends",
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("period", sa.Text(), nullable=False),
        sa.Column("reserved_micros", sa.BigInteger(), nullable=False),
        sa.Column("spent_micros", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("scope", "period", name="pk_spends"),
    )


def _records() -> None:
    op.create_table(
        "events",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("facts", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger()),
        sa.Column("digest", sa.Text()),
        sa.PrimaryKeyConstraint("number", name="pk_events"),
        sa.UniqueConstraint("position", name="uq_events_position"),
    )
    op.create_index("ix_events_account", "events", ["account", "position"])
    op.create_index("ix_events_subject", "events", ["subject", "number"])
    op.create_index(
        "ix_events_unsealed",
        "events",
        ["number"],
        sqlite_where=sa.text("position IS NULL"),
        postgresql_where=sa.text("position IS NULL"),
    )
    op.create_table(
        "endpoints",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("kinds", sa.Text(), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name="fk_endpoints_account"),
        sa.PrimaryKeyConstraint("id", name="pk_endpoints"),
    )
    op.create_index("ix_endpoints_account", "endpoints", ["account"])
    op.create_table(
        "deliveries",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("endpoint", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("due_ms", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Integer()),
        sa.Column("note", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["endpoint"], ["endpoints.id"], name="fk_deliveries_endpoint"),
        sa.PrimaryKeyConstraint("id", name="pk_deliveries"),
    )
    op.create_index("ix_deliveries_account", "deliveries", ["account", "id"])
    op.create_index(
        "ix_deliveries_due",
        "deliveries",
        ["due_ms"],
        sqlite_where=sa.text("state = 'pending'"),
        postgresql_where=sa.text("state = 'pending'"),
    )
    op.create_table(
        "replays",
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("account", "key", name="pk_replays"),
    )
    op.create_index("ix_replays_at_ms", "replays", ["at_ms"])
    op.create_table(
        "cache",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("expires_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_cache"),
    )
    op.create_index("ix_cache_expires_ms", "cache", ["expires_ms"])
