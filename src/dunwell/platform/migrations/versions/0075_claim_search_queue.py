"""The queue of claims that are not searchable yet; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0075"
down_revision = "0074"


def upgrade() -> None:
    run_sql_beside(__file__)
