"""Where a contact was sent to, as figures count it, and what alarms look at; the SQL stands beside
this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0064"
down_revision = "0063"
# Indexes of large tables, built beside those who write.
IN_TRANSACTION = False


def upgrade() -> None:
    run_sql_beside(__file__)
