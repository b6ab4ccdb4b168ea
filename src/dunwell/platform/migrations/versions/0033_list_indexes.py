"""What lists over all claims are found by; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0033"
down_revision = "0032"
# Indexes of large tables, built beside those who write.
IN_TRANSACTION = False


def upgrade() -> None:
    run_sql_beside(__file__)
