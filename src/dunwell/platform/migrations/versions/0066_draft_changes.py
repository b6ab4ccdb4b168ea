"""Who changed what in a workflow's draft; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0066"
down_revision = "0064"


def upgrade() -> None:
    run_sql_beside(__file__)
