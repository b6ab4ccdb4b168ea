"""People who sign in to the portal; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0030"
down_revision = "0028"


def upgrade() -> None:
    run_sql_beside(__file__)
