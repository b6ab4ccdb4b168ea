"""Scopes of credentials, what an audited change was from and to, and the installation's own audit
log; the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    run_sql_beside(__file__)
