"""Jobs that wait for a reviewer, what was found in their pictures, and the list of protected people."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_LIVE = "state IN ('awaiting_approval', 'queued', 'running', 'held')"


def upgrade() -> None:
    """Add the columns and the table, and let the indexes of live jobs hold those that are held."""
    op.add_column("jobs", sa.Column("reason", sa.Text(), nullable=False, server_default=""))
    op.add_column("jobs", sa.Column("pending", sa.Text()))
    op.add_column("jobs", sa.Column("findings", sa.Text(), nullable=False, server_default="[]"))
    op.add_column("jobs", sa.Column("likeness_confirmed", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.drop_index("ix_jobs_live", "jobs")
    op.drop_index("ix_jobs_deadlines", "jobs")
    _index("ix_jobs_live", ["account", "id"], _LIVE)
    _index("ix_jobs_deadlines", ["deadline_ms"], f"{_LIVE} AND deadline_ms IS NOT NULL")
    _index("ix_jobs_held", ["id"], "state = 'held'")
    op.create_table(
        "protected",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("descriptors", sa.Text(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("changed_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_protected"),
    )
    # Operators' keys may do all that operators may; those from before did not know this word.
    op.execute("UPDATE keys SET scopes = scopes || ' review' WHERE ' ' || scopes || ' ' LIKE '% admin %'")


def _index(name: str, columns: list[str], condition: str) -> None:
    op.create_index(name, "jobs", columns, sqlite_where=sa.text(condition), postgresql_where=sa.text(condition))
