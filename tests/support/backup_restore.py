"""A backup of a test's database and its restore. The rows return to their earlier state, but the
folder of the print service does not."""

import asyncio
import subprocess
from dataclasses import dataclass
from datetime import datetime

from dunwell.core.claims.claim_holds import resume_claim
from dunwell.operations.recovery.restore_hold import REASON, hold_installation, resume_installation
from dunwell.platform.embedded.postgres import get_binaries_folder
from dunwell.platform.resources import Resources
from tests.support.harness import Harness

# Tables of the server itself, and the record of earlier restores.
_KEPT = ("schema_migrations", "epochs", "restores")
# Deletes rows, because TRUNCATE creates new files for all tables and takes longer.
_EMPTY = """
SELECT string_agg(format('DELETE FROM %I', relname), '; ') FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> ALL ($1::text[])
"""
_PAUSED = """
SELECT DISTINCT claim_id FROM holds WHERE merchant_id = $1 AND reason = $2 AND lifted_at IS NULL
"""


@dataclass(frozen=True)
class Backup:
    """`rows` is a script for `psql`."""

    taken_at: datetime
    rows: bytes


async def back_up(resources: Resources) -> Backup:
    taken_at = resources.clock.now()
    without = [f"--exclude-table=public.{table}" for table in _KEPT]
    rows = await _run(
        resources, "pg_dump", "--data-only", "--disable-triggers", "--schema=public", *without
    )
    return Backup(taken_at, rows)


async def restore(resources: Resources, backup: Backup) -> None:
    """Restore the backup and record that the lost time ended just now."""
    async with resources.database.transaction() as tx:
        await tx.execute("SET LOCAL session_replication_role = replica")
        await tx.execute(await tx.fetchval(_EMPTY, list(_KEPT)))
    await _run(
        resources, "psql", "--no-psqlrc", "--quiet", "--single-transaction",
        "--set=ON_ERROR_STOP=1", rows=backup.rows,
    )  # fmt: skip
    await hold_installation(resources, backup.taken_at)
    await resume_installation(resources, resources.clock.now())


async def resume_paused_claims(harness: Harness) -> None:
    """Resume every claim that the restore paused."""
    for row in await harness.rows(_PAUSED, REASON):
        async with harness.work() as work:
            await resume_claim(work, row["claim_id"])


async def _run(resources: Resources, program: str, *arguments: str, rows: bytes = b"") -> bytes:
    path = get_binaries_folder(resources.settings.pg_bin) / program
    command = [str(path), *arguments, f"--dbname={resources.settings.database_url}"]
    done = await asyncio.to_thread(
        subprocess.run, command, input=rows, capture_output=True, check=True
    )
    return done.stdout
