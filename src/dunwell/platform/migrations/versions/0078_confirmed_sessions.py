"""When a session's user last proved who they are; the SQL is in the file of the same name."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0078"
down_revision = "0077"


def upgrade() -> None:
    run_sql_beside(__file__)
