"""Claims whose page is withheld: it reached the wrong person, or the person has died. The SQL is in
the file of the same name."""

from dunwell.platform.migrations.beside import run_sql_beside

revision = "0089"
down_revision = "0083"


def upgrade() -> None:
    run_sql_beside(__file__)
