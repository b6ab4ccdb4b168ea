"""The SQL of notices under a lease: keeping, settling, and taking back what was never called."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from dunwell.contact.notices.settlement import Settlement
from dunwell.contact.notices.store import NOTICES, LeasedNotice
from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import compose

# By primary key, as the next.
_RENEW = NOTICES.renew()
_SETTLE = compose(
    """
UPDATE debtor_notices
SET state = $4, {clear}, failure = $6, line = coalesce($8, line),
    settled_at = CASE WHEN $5::timestamptz IS NULL THEN $7::timestamptz END
WHERE merchant_id = $1 AND notice_id = $2 AND {is_held}
RETURNING notice_id
""",
    clear=NOTICES.clear("$5"),
    is_held=NOTICES.is_held("$3"),
)
# By primary keys, whatever their state is: this waits for a transaction that is still marking them.
# An UPDATE would pass by a row whose committed version it does not want.
_LOCK_LEASED = """
SELECT FROM debtor_notices n
JOIN unnest($1::integer[], $2::uuid[]) AS t (merchant_id, notice_id)
    ON n.merchant_id = t.merchant_id AND n.notice_id = t.notice_id
ORDER BY n.merchant_id, n.notice_id
FOR NO KEY UPDATE OF n
"""
_TAKE_BACK = compose(
    """
UPDATE debtor_notices n
SET state = 'PLANNED', {clear}, tries = tries - 1
FROM unnest($1::integer[], $2::uuid[]) AS t (merchant_id, notice_id)
WHERE n.merchant_id = t.merchant_id AND n.notice_id = t.notice_id AND {is_held}
""",
    clear=NOTICES.clear("$4"),
    is_held=NOTICES.is_held("$3", "n."),
)


async def renew_notice(
    tx: Connection, leased: LeasedNotice, lease_id: UUID, until: datetime
) -> bool:
    """Renew the lease; False if it is not held any more, or if another transaction is changing the
    notice at this moment."""
    renewed = await tx.fetchval(_RENEW, leased.merchant_id, leased.notice_id, lease_id, until)
    return renewed is not None


async def settle_notice(
    tx: Connection, leased: LeasedNotice, lease_id: UUID, settlement: Settlement,
    *, line: str | None, now: datetime,
) -> bool:  # fmt: skip
    """line: that it was given to. False: the lease had run out, and somebody else has taken it
    up."""
    saved = await tx.fetchval(
        _SETTLE, leased.merchant_id, leased.notice_id, lease_id,
        settlement.state, settlement.due_at, settlement.failure, now, line,
    )  # fmt: skip
    return saved is not None


async def take_back_notices(
    tx: Connection, leased: Collection[LeasedNotice], lease_id: UUID, now: datetime
) -> None:
    """Plan those again whose channel was never called, if they are still held under the lease. One
    that was handed over before this lease may have left then, and is not touched."""
    uncalled = [each for each in leased if not each.was_handed_over]
    if uncalled:
        keys = [each.merchant_id for each in uncalled], [each.notice_id for each in uncalled]
        await tx.execute(_LOCK_LEASED, *keys)
        await tx.execute(_TAKE_BACK, *keys, lease_id, now)
