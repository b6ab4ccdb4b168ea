"""The SQL of messages and reports that nobody could place: of no merchant, the newest first."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from dunwell.contact.sending.unplaced import UnplacedKind
from dunwell.platform.database.database import Connection

# By primary key.
_LISTS: Mapping[UnplacedKind, str] = {
    "sms": """
SELECT inbound_id, line, received_at, sender, recipient, text
FROM inbound_sms
WHERE inbound_id = ANY($1::uuid[])
""",
    "reports": """
SELECT report_id, line, received_at, state, provider_id, reason
FROM channel_reports
WHERE report_id = ANY($1::uuid[])
""",
}
# By primary key. Of two who look at once one is told.
_LOOKS: Mapping[UnplacedKind, str] = {
    "sms": """
UPDATE inbound_sms SET looked_at = $2, looked_by = $3
WHERE inbound_id = $1 AND kind = 'UNMATCHED' AND looked_at IS NULL
RETURNING inbound_id
""",
    "reports": """
UPDATE channel_reports SET looked_at = $2, looked_by = $3
WHERE report_id = $1 AND outcome = 'UNMATCHED' AND looked_at IS NULL
RETURNING report_id
""",
}


class Unplaced(msgspec.Struct, frozen=True, gc=False):
    """A message, or a report."""

    key: UUID
    line: str
    received_at: datetime
    # Who wrote, as the gateway says it; what a report says (`ReportState`).
    what: str
    # Which number of ours; the provider's own number of a report.
    where: str
    # What was written; why a message did not arrive.
    text: str


async def load_unplaced(
    kind: UnplacedKind, tx: Connection, keys: Sequence[UUID]
) -> Mapping[UUID, Unplaced]:
    """By id."""
    rows = await tx.fetch(_LISTS[kind], list(keys))
    return {row[0]: Unplaced(*row) for row in rows}


async def save_look(
    tx: Connection, kind: UnplacedKind, key: UUID, *, looked_by: str | None, real_now: datetime
) -> bool:
    """False: it is gone, or somebody has looked at it before."""
    return await tx.fetchval(_LOOKS[kind], key, real_now, looked_by) is not None
