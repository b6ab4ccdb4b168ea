"""The SQL of answers to disputes that their debtors have not been told of."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from dunwell.kit.db import Connection
from dunwell.merchants.configuration import Channel
from dunwell.notices.settlement import State

# Over all merchants: those nothing was sent of yet, and those of which it is known what became of
# what was sent. Rides on disputes_untold, then on debtor_notices_pkey.
_FIND = """
SELECT d.merchant_id, d.claim_id, d.dispute_id, n.channel, n.state
FROM disputes d
LEFT JOIN debtor_notices n
    ON n.merchant_id = d.merchant_id AND n.notice_id = d.answer_notice_id
WHERE d.is_untold AND (n.state IS NULL OR n.state NOT IN ('PLANNED', 'HANDED_OVER'))
ORDER BY d.merchant_id, d.dispute_id
LIMIT $1
"""
# By primary keys, as the next two. The claim is locked: nobody else sends another.
_IS_AS_FOUND = """
SELECT d.is_untold AND n.state IS NOT DISTINCT FROM $3
FROM disputes d
LEFT JOIN debtor_notices n
    ON n.merchant_id = d.merchant_id AND n.notice_id = d.answer_notice_id
WHERE d.merchant_id = $1 AND d.dispute_id = $2
"""
_SAVE_NOTICE = """
UPDATE disputes SET answer_notice_id = $3 WHERE merchant_id = $1 AND dispute_id = $2
"""
_SAVE_TOLD = """
UPDATE disputes SET is_untold = false, told_at = $3 WHERE merchant_id = $1 AND dispute_id = $2
"""
# By primary key.
_LOAD_DEBTOR = """
SELECT email, mobile_number, address, language
FROM debtors
WHERE merchant_id = $1 AND claim_id = $2
"""


class Untold(msgspec.Struct, frozen=True, gc=False):
    """An answer; by which channel a message of it was sent last, and what became of that."""

    merchant_id: int
    claim_id: int
    dispute_id: UUID
    channel: Channel | None
    state: State | None


class Debtor(msgspec.Struct, frozen=True, gc=False):
    """Where a claim's debtor can be reached, and the claim's language."""

    email: str | None
    mobile_number: str | None
    address: dict[str, str] | None
    language: str | None


async def find_untold(tx: Connection, limit: int) -> Sequence[Untold]:
    return [Untold(*row) for row in await tx.fetch(_FIND, limit)]


async def is_as_found(tx: Connection, untold: Untold) -> bool:
    """Whether it is still to be told, of a claim that is locked now."""
    return bool(
        await tx.fetchval(_IS_AS_FOUND, untold.merchant_id, untold.dispute_id, untold.state)
    )


async def save_answer_notice(tx: Connection, untold: Untold, notice_id: UUID) -> None:
    await tx.execute(_SAVE_NOTICE, untold.merchant_id, untold.dispute_id, notice_id)


async def save_told(tx: Connection, untold: Untold, told_at: datetime | None) -> None:
    """told_at: none where the debtor could not be reached, or perhaps was not."""
    await tx.execute(_SAVE_TOLD, untold.merchant_id, untold.dispute_id, told_at)


async def load_debtor(tx: Connection, merchant_id: int, claim_id: int) -> Debtor | None:
    row = await tx.fetchrow(_LOAD_DEBTOR, merchant_id, claim_id)
    return None if row is None else Debtor(*row)
