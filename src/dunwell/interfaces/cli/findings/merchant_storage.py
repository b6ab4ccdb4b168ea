"""What `dunwell doctor` says of merchants whose uploads take most of the storage that they have."""

from collections.abc import Sequence

import asyncpg

from dunwell.core.files.store import list_near_limit
from dunwell.core.files.upload import NEAR_PERCENT, StorageUse
from dunwell.interfaces.cli.findings.finding import Finding
from dunwell.platform.config import Settings
from dunwell.platform.database.database import Database
from dunwell.platform.errors import Unavailable

_SUBJECT = "uploads"
# The fullest: an operator who reads more raises the limit for all.
_MOST_NAMED = 20


async def check_merchant_storage(url: str, settings: Settings) -> list[Finding]:
    """None for a database that is not migrated, or that answers no statement: other findings say
    that."""
    least_bytes = settings.merchant_storage_bytes * NEAR_PERCENT // 100
    database = await Database.open(url, application="dunwell doctor")
    try:
        async with database.connection() as connection:
            near = await list_near_limit(connection, least_bytes, _MOST_NAMED)
    except (Unavailable, asyncpg.PostgresError):
        return []
    finally:
        await database.close()
    return judge_merchant_storage(near, settings.merchant_storage_mib)


def judge_merchant_storage(near: Sequence[tuple[str, int]], limit_mib: int) -> list[Finding]:
    """near: the keys of merchants that are near the limit, and what their uploads take."""
    if not near:
        return [Finding(_SUBJECT, f"no merchant is near its limit of {limit_mib:,} MiB")]
    remedy = "Raise DUNWELL_MERCHANT_STORAGE_MIB, or ask them to delete attachments."
    uses = [(key, StorageUse(used_bytes, limit_mib * 1024 * 1024)) for key, used_bytes in near]
    return [
        Finding(_SUBJECT, f"{key} uses {use.percent} % of {limit_mib:,} MiB", remedy, is_note=True)
        for key, use in uses
    ]
