"""What keeps strangers from locking people out; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0047"
down_revision = "0046"


def upgrade() -> None:
    run_sql_beside(__file__)
