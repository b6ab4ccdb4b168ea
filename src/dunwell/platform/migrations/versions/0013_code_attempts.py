"""What is counted of a visitor; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    run_sql_beside(__file__)
