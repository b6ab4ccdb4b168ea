"""Contacts for operators: the list of unknown outcomes, and any single contact."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.messages.identities import mask_address
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.sql import compose
from dunwell.platform.errors import NotFound

# The id before all others.
BEFORE_ALL_IDS = UUID(int=0)


_COLUMNS = """
m.communication_id, m.claim_id, c.reference_number, m.run, m.step_id, m.channel, m.state,
    m.attempts,
m.planned_at, m.handed_over_at, m.settled_at, m.failure, m.held_by, t.recipient
"""


_JOINED = """
FROM communications m
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = m.claim_id
LEFT JOIN communication_contents t
    ON t.merchant_id = $1 AND t.communication_id = m.communication_id
"""
# Uses communications_unknown.
_LIST = compose(
    """
SELECT {columns} {joined}
WHERE m.merchant_id = $1 AND m.state = 'UNKNOWN' AND m.communication_id > $2
ORDER BY m.communication_id
LIMIT $3
""",
    columns=_COLUMNS,
    joined=_JOINED,
)


# Uses primary keys.
_FIND = compose(
    """
SELECT {columns} {joined}
WHERE m.merchant_id = $1 AND m.communication_id = $2
""",
    columns=_COLUMNS,
    joined=_JOINED,
)


@dataclass(frozen=True, slots=True)
class ContactView:
    communication_id: UUID
    claim_id: int
    reference_number: str
    run: int
    step_id: int
    channel: Channel
    state: str
    attempts: int
    planned_at: datetime
    handed_over_at: datetime | None
    settled_at: datetime | None
    failure: str | None
    # The reason that holds a planned contact back.
    held_by: str | None
    # None if nothing was rendered yet or the content was erased.
    masked_recipient: str | None


async def list_unknown_contacts(
    tx: Connection, merchant_id: int, after: UUID, limit: int
) -> Sequence[ContactView]:
    """List contacts of unknown outcome, the oldest planned first.

    `after` is the last id of the previous page, or BEFORE_ALL_IDS.
    """
    return [_build_view(row) for row in await tx.fetch(_LIST, merchant_id, after, limit)]


async def get_contact(tx: Connection, merchant_id: int, communication_id: UUID) -> ContactView:
    """Return a contact in any state. Raises NotFound."""
    row = await tx.fetchrow(_FIND, merchant_id, communication_id)
    if row is None:
        raise NotFound(f"There is no communication {communication_id}. Check the reference.")
    return _build_view(row)


def _build_view(row: Row) -> ContactView:
    values: dict[str, Any] = dict(row)
    recipient = values.pop("recipient")
    masked = None if recipient is None else mask_recipient(values["channel"], recipient)
    return ContactView(**values, masked_recipient=masked)


def mask_recipient(channel: Channel, recipient: str) -> str:
    """Mask a recipient. A postal address is reduced to the first letter of the name and the line
    with the postcode and city. This is the last line that contains a digit, because the country may
    follow."""
    if channel != "LETTER":
        return mask_address(channel, recipient)
    lines = recipient.split("\n")
    town = next((line for line in reversed(lines) if any(map(str.isdigit, line))), lines[-1])
    return f"{lines[0][:1]}***, {town}"
