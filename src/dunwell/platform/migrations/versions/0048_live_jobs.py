"""How many jobs of a merchant may wait or run, held by the database; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0048"
down_revision = "0047"
# An index beside those who write; each statement can be run once more.
IN_TRANSACTION = False


def upgrade() -> None:
    run_sql_beside(__file__)
