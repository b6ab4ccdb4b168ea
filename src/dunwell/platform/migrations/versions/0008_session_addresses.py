"""Where a session's debtor is reached, as suppressions know it; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    run_sql_beside(__file__)
