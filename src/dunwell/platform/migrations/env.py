"""Alembic's entry: runs a migration on the connection and in the transaction of `kit.migrate`."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
