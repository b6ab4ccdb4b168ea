"""The indexes of letters a person decides of, and of those that did not arrive; the SQL stands
beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0060"
down_revision = "0059"
# An index beside those who write; each statement can be run once more.
IN_TRANSACTION = False


def upgrade() -> None:
    run_sql_beside(__file__)
