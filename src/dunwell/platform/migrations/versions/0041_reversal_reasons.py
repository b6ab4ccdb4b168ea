"""Why a payment was taken back; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0041"
down_revision = "0040"


def upgrade() -> None:
    run_sql_beside(__file__)
