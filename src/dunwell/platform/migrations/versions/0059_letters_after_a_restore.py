"""Letters that may have been released in a time that was lost, and who reads status files; the SQL
stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0059"
down_revision = "0056"


def upgrade() -> None:
    run_sql_beside(__file__)
