"""Lines that messages leave by: their secrets and pace, and what is reported back; the SQL stands
beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0036"
down_revision = "0035"


def upgrade() -> None:
    run_sql_beside(__file__)
