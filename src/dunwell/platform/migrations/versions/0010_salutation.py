"""How a debtor is greeted; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    run_sql_beside(__file__)
