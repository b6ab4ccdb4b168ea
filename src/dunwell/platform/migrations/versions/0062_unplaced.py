"""Who has looked at messages and reports that nobody could place; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0062"
down_revision = "0061"
# Indexes of large tables, built beside those who write.
IN_TRANSACTION = False


def upgrade() -> None:
    run_sql_beside(__file__)
