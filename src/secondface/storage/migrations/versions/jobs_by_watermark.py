"""Jobs are found by the watermark of their output."""

from __future__ import annotations

import hashlib

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_ROWS = 1000


def upgrade() -> None:
    """Add the column, fill it for jobs that are there, and index it."""
    op.add_column("jobs", sa.Column("watermark", sa.Text(), nullable=False, server_default=""))
    jobs = sa.table("jobs", sa.column("id", sa.Text()), sa.column("watermark", sa.Text()))
    fill = sa.update(jobs).where(jobs.c.id == sa.bindparam("of")).values(watermark=sa.bindparam("to"))
    connection, last = op.get_bind(), ""
    while ids := connection.scalars(
        sa.select(jobs.c.id).where(jobs.c.id > last).order_by(jobs.c.id).limit(_ROWS)
    ).all():
        # written out, for a migration must do tomorrow what it does today
        connection.execute(fill, [{"of": each, "to": hashlib.sha256(each.encode()).hexdigest()[:16]} for each in ids])
        last = ids[-1]
    op.create_index("ix_jobs_watermark", "jobs", ["watermark"])
