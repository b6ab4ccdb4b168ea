"""What `dunwell doctor` says of the networks that webhooks may reach."""

from collections.abc import Sequence

import asyncpg

from dunwell.accounts.installation.store import load_installation
from dunwell.accounts.merchants.credentials.store import find_merchant_id_by_key
from dunwell.interfaces.cli.findings.finding import Finding
from dunwell.platform.database.database import Database
from dunwell.platform.errors import Unavailable

_SUBJECT = "webhooks"


async def check_webhook_networks(url: str) -> list[Finding]:
    """None for a database that is not migrated, or that answers no statement: other findings say
    that."""
    database = await Database.open(url, application="dunwell doctor")
    try:
        async with database.connection() as connection:
            installation = (await load_installation(connection)).installation
            keys = [each.merchant for each in installation.webhook_networks or ()]
            unknown = [
                key for key in keys if await find_merchant_id_by_key(connection, key) is None
            ]
    except (Unavailable, asyncpg.PostgresError):
        return []
    finally:
        await database.close()
    return [judge_webhook_networks(keys, unknown)]


def judge_webhook_networks(keys: Sequence[str], unknown: Sequence[str]) -> Finding:
    """keys: of the merchants that webhookNetworks names; unknown: those that do not exist."""
    if not keys:
        return Finding(_SUBJECT, "no merchant's webhooks have networks of their own")
    if not unknown:
        return Finding(_SUBJECT, "every merchant that webhookNetworks names exists")
    remedy = (
        "Correct the keys in the installation file and apply it, or apply the merchants' files. "
        "Until then these networks are open to nobody's webhooks."
    )
    names = ", ".join(f'"{key}"' for key in unknown)
    return Finding(_SUBJECT, f"webhookNetworks names no existing merchant: {names}", remedy)
