"""Who answers disputes and requests, and the order of the audit log; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0043"
down_revision = "0041"


def upgrade() -> None:
    run_sql_beside(__file__)
