"""What debtors are to be told, once each; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    run_sql_beside(__file__)
