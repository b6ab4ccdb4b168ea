"""The whole merchant API: lists, disputes, payment modalities; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    run_sql_beside(__file__)
