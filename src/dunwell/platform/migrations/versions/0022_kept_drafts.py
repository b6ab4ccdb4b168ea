"""What is typed is the claim's, and kept; sessions know when they began; SQL beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0022"
down_revision = "0019"


def upgrade() -> None:
    run_sql_beside(__file__)
