"""One preview of a merchant at a time, held by the database; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0076"
down_revision = "0075"
# An index beside those who write; each statement can be run once more.
IN_TRANSACTION = False


def upgrade() -> None:
    run_sql_beside(__file__)
