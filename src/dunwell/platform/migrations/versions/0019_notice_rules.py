"""Rules for notices are proven for the rows there were, and lists of disputes get their indexes.

The SQL stands beside this.
"""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0019"
down_revision = "0018"
# A large table is read beside those who write.
IN_TRANSACTION = False


def upgrade() -> None:
    run_sql_beside(__file__)
