"""Alembic's entry: runs the migrations on the connection that `kit.migrate` opened."""

from alembic import context
from sqlalchemy import text

connection = context.config.attributes["connection"]
context.configure(connection=connection, transaction_per_migration=False)
with context.begin_transaction():
    # A migration never queues behind long transactions, and never runs twice at once.
    connection.execute(text("SET LOCAL lock_timeout = '4s'"))
    connection.execute(text("SELECT pg_advisory_xact_lock(4711)"))
    context.run_migrations()
