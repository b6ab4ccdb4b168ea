"""What debtors answer to our e-mails, and how far mailboxes were read; the SQL stands beside
this."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0050"
down_revision = "0048"


def upgrade() -> None:
    run_sql_beside(__file__)
