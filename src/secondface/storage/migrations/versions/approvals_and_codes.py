"""Who has a key, and the secrets of one-time codes; keys from before belong to nobody who has another one."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column and the table."""
    op.add_column("keys", sa.Column("person", sa.Text(), nullable=False, server_default=""))
    op.create_table(
        "one_time_codes",
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("sealed", sa.Text(), nullable=False),
        sa.Column("made_ms", sa.BigInteger(), nullable=False),
        sa.Column("used_step", sa.BigInteger(), nullable=False),
        sa.Column("used_for", sa.Text(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("blocked_until_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["key_id"], ["keys.id"], name="fk_one_time_codes_key_id"),
        sa.PrimaryKeyConstraint("key_id", name="pk_one_time_codes"),
    )
