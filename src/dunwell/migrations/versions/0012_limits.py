"""How often something may be tried; the SQL stands beside this."""

from pathlib import Path

from alembic import op
from sqlalchemy.util import await_only

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    sql = Path(__file__).with_suffix(".sql").read_text()
    driver = op.get_bind().connection.driver_connection
    await_only(driver.execute(sql))
