"""Single sign-on: identities, attempts, logouts, break-glass admins; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0074"
down_revision = "0070"


def upgrade() -> None:
    run_sql_beside(__file__)
