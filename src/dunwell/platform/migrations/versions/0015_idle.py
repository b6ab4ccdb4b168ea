"""Whether anything is due at all, by one look; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0015"
down_revision = "0014"
# Built while the service works.
IN_TRANSACTION = False


def upgrade() -> None:
    run_sql_beside(__file__)
