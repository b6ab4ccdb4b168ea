"""Indexes for the disputes that stop all contact with a person or suppress an address. The SQL is
in the file of the same name."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0090"
down_revision = "0089"
# Indexes are built while others write.
IN_TRANSACTION = False


def upgrade() -> None:
    run_sql_beside(__file__)
