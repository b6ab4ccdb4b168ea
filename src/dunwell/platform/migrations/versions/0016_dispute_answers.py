"""Answers to disputes are told; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    run_sql_beside(__file__)
