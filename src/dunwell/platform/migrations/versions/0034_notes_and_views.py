"""Notes on claims, and saved views of lists; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0034"
down_revision = "0033"


def upgrade() -> None:
    run_sql_beside(__file__)
