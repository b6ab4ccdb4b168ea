"""A migration is the SQL file beside its Python file."""

from pathlib import Path

from alembic import op
from sqlalchemy.util import await_only


def run_sql_beside(migration: str) -> None:
    """Run the `.sql` beside this `__file__`: whole in the migration's transaction, or, where it has
    none, statement by statement, each of which ends with a semicolon and its line.

    A migration that is meant to run without a transaction is run inside one only when a whole
    schema is created at once. Its indexes are then built without CONCURRENTLY, which no
    transaction allows: the tables are new, and only this transaction sees them."""
    sql = Path(migration).with_suffix(".sql").read_text()
    driver = op.get_bind().connection.driver_connection
    if driver.is_in_transaction():
        await_only(driver.execute(sql.replace(" CONCURRENTLY", "")))
        return
    for statement in sql.split(";\n"):
        if statement.strip():
            await_only(driver.execute(statement))
