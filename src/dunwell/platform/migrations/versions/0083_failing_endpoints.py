"""What operators and merchants are told about webhook endpoints that fail; the SQL stands beside
this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0083"
down_revision = "0080"
# Indexes are built while others write.
IN_TRANSACTION = False


def upgrade() -> None:
    run_sql_beside(__file__)
