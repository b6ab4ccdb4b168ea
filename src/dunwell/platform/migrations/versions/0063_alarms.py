"""Alarms: what needs a person, when it was told, and the e-mails that tell it; the SQL stands
beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0063"
down_revision = "0062"


def upgrade() -> None:
    run_sql_beside(__file__)
