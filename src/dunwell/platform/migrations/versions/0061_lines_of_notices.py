"""The line a notice left by, so that STOP in answer to it finds who wrote; the SQL stands beside
this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0061"
down_revision = "0060"
# An index of a large table, built beside those who write.
IN_TRANSACTION = False


def upgrade() -> None:
    run_sql_beside(__file__)
