"""What Alembic runs: migrations on the connection that `upgrade` hands over, inside its transaction."""

from __future__ import annotations

from alembic import context

from secondface.storage.tables import METADATA

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=METADATA, render_as_batch=connection.dialect.name == "sqlite")
context.run_migrations()
