"""How much of the file storage each merchant's uploads take; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0080"
down_revision = "0078"


def upgrade() -> None:
    run_sql_beside(__file__)
