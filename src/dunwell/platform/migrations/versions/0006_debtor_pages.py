"""The debtor's pages whole: ways in, notices, evidence, drafts; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    run_sql_beside(__file__)
