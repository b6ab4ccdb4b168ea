"""How often something may be tried; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    run_sql_beside(__file__)
