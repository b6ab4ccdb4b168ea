"""The baseline: the whole schema, one SQL file for each package, in the order of their numbers."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0001"
down_revision = None


def upgrade() -> None:
    run_sql_beside(__file__)
