"""The tables of the first release; the SQL stands beside this file."""

from pathlib import Path

from alembic import op
from sqlalchemy.util import await_only

revision = "0001"
down_revision = None


def upgrade() -> None:
    sql = Path(__file__).with_suffix(".sql").read_text()
    driver = op.get_bind().connection.driver_connection
    await_only(driver.execute(sql))
