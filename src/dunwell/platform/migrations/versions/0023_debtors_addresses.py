"""What a debtor's other claims are found by; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0023"
down_revision = "0022"
# Indexes of a large table, built beside those who write.
IN_TRANSACTION = False


def upgrade() -> None:
    run_sql_beside(__file__)
