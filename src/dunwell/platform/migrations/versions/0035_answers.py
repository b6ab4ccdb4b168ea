"""Drafts of answers to disputes, and texts to answer with; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0035"
down_revision = "0034"


def upgrade() -> None:
    run_sql_beside(__file__)
