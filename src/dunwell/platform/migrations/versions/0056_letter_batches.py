"""Batches of letters: what was handed to a print service, which manifest releases it, and which
status files were read; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0056"
down_revision = "0053"


def upgrade() -> None:
    run_sql_beside(__file__)
