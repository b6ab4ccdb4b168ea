"""The SQL of a migration is in the files next to its Python file."""

from pathlib import Path

from alembic import op
from sqlalchemy.util import await_only


def run_sql_beside(migration: str) -> None:
    """Run the SQL of the migration whose `__file__` this is: the `.sql` file of the same name, or
    every one in the folder of the same name, in the order of their names.

    A migration runs in its transaction. Without one, the file is split into statements, each of
    which ends with a semicolon at the end of its line. Such a migration runs in a transaction only
    when a whole schema is created at once. Its indexes are then built without CONCURRENTLY, which
    no transaction allows: the tables are new, and only this transaction sees them.
    """
    sql = _read_sql(Path(migration))
    driver = op.get_bind().connection.driver_connection
    if driver.is_in_transaction():
        await_only(driver.execute(sql.replace(" CONCURRENTLY", "")))
        return
    for statement in sql.split(";\n"):
        if statement.strip():
            await_only(driver.execute(statement))


def _read_sql(migration: Path) -> str:
    folder = migration.with_suffix("")
    files = sorted(folder.glob("*.sql")) if folder.is_dir() else [migration.with_suffix(".sql")]
    return "\n".join(each.read_text("utf-8") for each in files)
