"""The audit log found by what was done, to what, and by whom; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0027"
down_revision = "0026"
# An index of a large table, built beside those who write.
IN_TRANSACTION = False


def upgrade() -> None:
    run_sql_beside(__file__)
