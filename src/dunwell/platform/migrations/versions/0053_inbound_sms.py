"""Messages that people write to lines by SMS; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0053"
down_revision = "0050"


def upgrade() -> None:
    run_sql_beside(__file__)
