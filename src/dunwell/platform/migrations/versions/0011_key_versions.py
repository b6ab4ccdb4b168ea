"""Versions of the secret key; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    run_sql_beside(__file__)
