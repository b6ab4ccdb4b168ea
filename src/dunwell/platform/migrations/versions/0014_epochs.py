"""Order over any restore, and restores that wait; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    run_sql_beside(__file__)
