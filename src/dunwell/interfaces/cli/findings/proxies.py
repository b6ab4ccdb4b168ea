"""What `dunwell doctor` says of proxies: behind one that is not trusted, all visitors are one, and
share their limits."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import asyncpg

from dunwell.accounts.installation.store import list_forwarders, load_installation
from dunwell.interfaces.cli.findings.finding import Finding
from dunwell.platform.database.database import Database
from dunwell.platform.errors import Unavailable
from dunwell.platform.http.proxies import Proxies

_SUBJECT = "proxies"
# One that was seen is mended or gone by then.
_SEEN_WITHIN = timedelta(days=1)


async def check_proxies(url: str) -> Finding:
    """What was seen forwarding is judged by the file in force now, not by the one of that time."""
    database = await Database.open(url, application="dunwell doctor")
    try:
        async with database.connection() as connection:
            installation = (await load_installation(connection)).installation
            seen = await list_forwarders(connection, datetime.now(UTC) - _SEEN_WITHIN)
    except (Unavailable, asyncpg.PostgresError) as error:
        return Finding(_SUBJECT, f"cannot be looked up: {error}", "Run dunwell doctor again.")
    finally:
        await database.close()
    trusted = Proxies(installation.trusted_proxies or ())
    return judge_forwarders([each for each in seen if each not in trusted])


def judge_forwarders(untrusted: Sequence[str]) -> Finding:
    if not untrusted:
        return Finding(_SUBJECT, "none forwards that is not trusted")
    words = f"{', '.join(untrusted)} forwards for others and is not trusted"
    remedy = "If it is your proxy, name it: dunwell apply FILE, with trustedProxies: [ADDRESS]."
    return Finding(_SUBJECT, words, remedy)
