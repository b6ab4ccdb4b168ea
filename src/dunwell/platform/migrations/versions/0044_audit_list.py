"""What the audit log and people's own work are found by; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0044"
down_revision = "0043"
# Indexes of large tables, built beside those who write.
IN_TRANSACTION = False


def upgrade() -> None:
    run_sql_beside(__file__)
