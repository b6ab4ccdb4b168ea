"""Lists over all claims have an order, and jobs have their tables; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0032"
down_revision = "0030"


def upgrade() -> None:
    run_sql_beside(__file__)
