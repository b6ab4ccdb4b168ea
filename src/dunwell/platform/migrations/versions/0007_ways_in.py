"""The ways in: wrong codes counted in one place, links asked for; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    run_sql_beside(__file__)
