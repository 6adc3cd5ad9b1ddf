"""Signed words of the audit, and what is left of each job that ended; jobs from before are taken in as they are."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_LEFT = sa.text("(inputs IN ('kept', 'deleting') OR output IN ('kept', 'deleting'))")


def upgrade() -> None:
    """Make both tables, and fill the second one."""
    op.create_table(
        "audit_heads",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("from_position", sa.BigInteger(), nullable=False),
        sa.Column("from_digest", sa.Text(), nullable=False),
        sa.Column("public_key", sa.Text(), nullable=False),
        sa.Column("signature", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "position", name="pk_audit_heads"),
    )
    op.create_table(
        "remains",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("ended_ms", sa.BigInteger(), nullable=False),
        sa.Column("inputs", sa.Text(), nullable=False),
        sa.Column("output", sa.Text(), nullable=False),
        sa.Column("inputs_h", sa.Integer()),
        sa.Column("output_h", sa.Integer()),
        sa.Column("files", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("address", sa.Text()),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_remains_job_id"),
        sa.PrimaryKeyConstraint("job_id", name="pk_remains"),
    )
    op.create_index("ix_remains_left", "remains", ["ended_ms", "job_id"], sqlite_where=_LEFT, postgresql_where=_LEFT)
    op.execute(
        "INSERT INTO remains (job_id, account, ended_ms, inputs, output, files, reason, actor) "
        "SELECT id, account, ended_ms, 'kept', CASE WHEN result IS NULL THEN 'none' ELSE 'kept' END, '[]', 'policy', "
        "'retention' FROM jobs WHERE ended_ms IS NOT NULL"
    )
