"""The SQL of messages and reports that nobody could place: of no merchant, the newest first."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from dunwell.contact.sending.unplaced import UnplacedKind
from dunwell.platform.database.database import Connection

# By inbound_sms_unplaced and channel_reports_unplaced; ids begin with the instant.
_LISTS: Mapping[UnplacedKind, str] = {
    "sms": """
SELECT inbound_id, line, received_at, sender, recipient, text
FROM inbound_sms
WHERE kind = 'UNMATCHED' AND looked_at IS NULL AND inbound_id < $1
ORDER BY inbound_id DESC
LIMIT $2
""",
    "reports": """
SELECT report_id, line, received_at, state, provider_id, reason
FROM channel_reports
WHERE outcome = 'UNMATCHED' AND looked_at IS NULL AND report_id < $1
ORDER BY report_id DESC
LIMIT $2
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
    tx: Connection, kind: UnplacedKind, before: UUID, limit: int
) -> Sequence[Unplaced]:
    return [Unplaced(*row) for row in await tx.fetch(_LISTS[kind], before, limit)]


async def save_look(
    tx: Connection, kind: UnplacedKind, key: UUID, *, looked_by: str | None, real_now: datetime
) -> bool:
    """False: it is gone, or somebody has looked at it before."""
    return await tx.fetchval(_LOOKS[kind], key, real_now, looked_by) is not None
