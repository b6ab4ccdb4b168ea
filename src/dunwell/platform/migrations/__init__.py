"""Builds and adopts the schema; each migration is plain SQL beside a small Alembic file."""
