"""Wrong second factors counted over a day, the lock that follows, the language of e-mails to users;
the SQL is in the file of the same name."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0077"
down_revision = "0076"


def upgrade() -> None:
    run_sql_beside(__file__)
