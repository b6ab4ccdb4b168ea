"""Who has changed what in a draft of assignment rules, and who has published which version and why;
the SQL stands beside this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0070"
down_revision = "0067"


def upgrade() -> None:
    run_sql_beside(__file__)
