"""Lists over very many rows; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    run_sql_beside(__file__)
