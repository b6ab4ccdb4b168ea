"""Scenarios, rule drafts, guards, suppression, the sealed ledger; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    run_sql_beside(__file__)
