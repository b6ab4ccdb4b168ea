"""What users had typed when their session ended; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0092"
down_revision = "0090"


def upgrade() -> None:
    run_sql_beside(__file__)
