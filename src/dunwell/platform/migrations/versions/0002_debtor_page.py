"""All three channels, the debtor's way in, payments by providers; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    run_sql_beside(__file__)
