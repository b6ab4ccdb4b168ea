"""Whether any plan or deferment is to be looked at, by one look; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0026"
down_revision = "0024"
# Built while the service works.
IN_TRANSACTION = False


def upgrade() -> None:
    run_sql_beside(__file__)
