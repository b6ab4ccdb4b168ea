"""Accounts at payment providers whose contract has ended: since when a closed account gives no
answer, and whether one was removed for good."""

from datetime import datetime

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.platform.database.database import Connection

_SAVE_FAILURE = """
INSERT INTO closed_account_failures (provider, failing_since)
VALUES ($1, $2)
ON CONFLICT DO NOTHING
"""
_DELETE_FAILURE = "DELETE FROM closed_account_failures WHERE provider = $1"
_FIND_FAILURE = "SELECT failing_since FROM closed_account_failures WHERE provider = $1"
# The newest installation file that names the account says that it is closed, and a newer one
# exists. Uses the primary key; the file is applied rarely.
_IS_REMOVED = """
SELECT named.account ->> 'closed' = 'true'
       AND named.revision < (SELECT max(revision) FROM installation_revisions)
FROM (
    SELECT revision, document #> ARRAY['paymentProviders', $1] AS account
    FROM installation_revisions
    WHERE document #> ARRAY['paymentProviders', $1] IS NOT NULL
    ORDER BY revision DESC
    LIMIT 1) named
"""


async def save_closed_failure(tx: Connection, provider: str, since: datetime) -> None:
    """Save since when a closed account gives no answer, unless that is stored already. `since` is
    real time."""
    await tx.execute(_SAVE_FAILURE, provider, since)


async def delete_closed_failure(tx: Connection, provider: str) -> None:
    """Save that an account gives answers again, or that nothing more is asked of it."""
    await tx.execute(_DELETE_FAILURE, provider)


async def find_closed_failure(work: Work, provider: str) -> datetime | None:
    """Return since when a closed account gives no answer (real time), or None."""
    work.require(Right.READ_CLAIMS)
    since: datetime | None = await work.tx.fetchval(_FIND_FAILURE, provider)
    return since


async def is_removed_account(tx: Connection, provider: str) -> bool:
    """Return whether the operator has closed an account and then removed it, so that its payments
    are no longer read. An account that is missing for another reason is not removed."""
    return await tx.fetchval(_IS_REMOVED, provider) is True
