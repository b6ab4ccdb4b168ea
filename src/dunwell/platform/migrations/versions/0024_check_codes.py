"""Codes by which e-mails and texts are checked; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    run_sql_beside(__file__)
