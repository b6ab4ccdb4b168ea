"""Deliveries that were given up are found by an index; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0040"
down_revision = "0037"
# An index of a large table, built beside those who write.
IN_TRANSACTION = False


def upgrade() -> None:
    run_sql_beside(__file__)
