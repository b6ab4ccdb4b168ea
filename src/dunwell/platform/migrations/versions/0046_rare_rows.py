"""Indexes of what is rare among very many rows; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0046"
down_revision = "0044"
# Indexes of large tables, built beside those who write.
IN_TRANSACTION = False


def upgrade() -> None:
    run_sql_beside(__file__)
