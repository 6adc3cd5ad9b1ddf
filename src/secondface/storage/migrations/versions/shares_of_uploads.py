"""What uploads take of their accounts' room. Files that are there already are counted by the sweep."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "upload_shares",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("stored", sa.Boolean(), nullable=False),
        sa.Column("touched_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["account"], ["accounts.id"], name="fk_upload_shares_account"),
        sa.PrimaryKeyConstraint("id", name="pk_upload_shares"),
    )
    op.create_index("ix_upload_shares_account", "upload_shares", ["account"])
    op.create_index("ix_upload_shares_key", "upload_shares", ["key"])
