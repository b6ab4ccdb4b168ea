"""The tables of the first release; the SQL stands beside this file."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0001"
down_revision = None


def upgrade() -> None:
    run_sql_beside(__file__)
