"""What belongs to the whole installation; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    run_sql_beside(__file__)
