"""The SQL of communications for merchants. Contains no rules.

The stored content has masks in place of the link token and the codes, so neither can be shown.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from msgspec.structs import asdict

from dunwell.contact.messages.communications.communication import (
    Communication,
    CommunicationStep,
    FoundCommunication,
    SentAttachment,
)
from dunwell.core.workflows.versions.versions import render_version_name
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.sql import compose
from dunwell.platform.text.wire import render_instant

# A contact that was not handed over has no version yet. Its step's name is that of the newest minor
# version of the claim's workflow, if the claim still runs it.
_SELECT = """
SELECT m.communication_id, m.claim_id, m.channel, m.state, m.held_by, m.step_id, m.version_id,
    m.planned_at, m.not_before, m.handed_over_at, m.settled_at, m.failure,
    v.major, v.minor, s.name AS step_name,
    t.recipient, t.language, t.subject, t.body_text, t.body_html,
    a.ids AS attachment_ids, a.names AS attachment_names, c.reference_number
FROM {found} m
JOIN claims c ON c.merchant_id = m.merchant_id AND c.claim_id = m.claim_id
LEFT JOIN communication_contents t
    ON t.merchant_id = m.merchant_id AND t.communication_id = m.communication_id
LEFT JOIN LATERAL (
    SELECT n.major, n.minor, n.definition
    FROM workflow_versions n
    WHERE n.merchant_id = m.merchant_id AND n.version_id = m.version_id
    UNION ALL
    (
        SELECT n.major, n.minor, n.definition
        FROM workflow_versions n
        WHERE m.version_id IS NULL AND m.run = c.run
          AND n.merchant_id = m.merchant_id AND n.workflow_id = c.workflow_id
          AND n.major = c.workflow_major
        ORDER BY n.minor DESC
        LIMIT 1
    )
) v ON true
LEFT JOIN LATERAL (
    SELECT step ->> 'name' AS name
    FROM jsonb_array_elements(v.definition -> 'steps') step
    WHERE (step ->> 'id')::integer = m.step_id
) s ON true
LEFT JOIN LATERAL (
    SELECT array_agg(wanted.id ORDER BY wanted.place) AS ids,
        array_agg(u.friendly_name ORDER BY wanted.place) AS names
    FROM unnest(t.attachment_ids) WITH ORDINALITY AS wanted (id, place)
    LEFT JOIN attachments f ON f.merchant_id = m.merchant_id AND f.claim_id = m.claim_id
        AND f.attachment_id = wanted.id
    LEFT JOIN uploads u ON u.merchant_id = m.merchant_id AND u.ticket_id = f.ticket_id
) a ON true
{rest}
"""
# Uses primary keys, as does the next statement.
_LOAD_FOUND = compose(
    _SELECT,
    found="communications",
    rest="WHERE m.merchant_id = $1 AND m.communication_id = ANY($2::uuid[])",
)
_FIND = compose(
    _SELECT, found="communications", rest="WHERE m.merchant_id = $1 AND m.communication_id = $2"
)


# Uses communications_failed_settled.
_COUNT_FAILED = """
SELECT count(*) AS number, min(settled_at) AS oldest_at
FROM (
    SELECT settled_at
    FROM communications
    WHERE merchant_id = $1 AND state = 'FAILED' AND settled_at >= $2
    ORDER BY settled_at
    LIMIT $3) counted
"""


async def load_communications(
    tx: Connection, merchant_id: int, communication_ids: Sequence[UUID]
) -> dict[UUID, Communication]:
    """Load communications by id."""
    rows = await tx.fetch(_LOAD_FOUND, merchant_id, list(communication_ids))
    return {row["communication_id"]: _build_communication(row) for row in rows}


async def find_communication(
    tx: Connection, merchant_id: int, communication_id: UUID
) -> Communication | None:
    row = await tx.fetchrow(_FIND, merchant_id, communication_id)
    return None if row is None else _build_communication(row)


async def load_found_communications(
    tx: Connection, merchant_id: int, communication_ids: Sequence[UUID]
) -> dict[UUID, FoundCommunication]:
    """Load communications by id, each with the reference number of its claim."""
    rows = await tx.fetch(_LOAD_FOUND, merchant_id, list(communication_ids))
    return {
        row["communication_id"]: FoundCommunication(
            **asdict(_build_communication(row)), reference_number=row["reference_number"]
        )
        for row in rows
    }


def _build_communication(row: Row) -> Communication:
    is_waiting = row["state"] in ("PLANNED", "ATTACHMENT_MISSING")
    version = None
    if row["version_id"] is not None and row["major"] is not None:
        version = render_version_name(row["major"], row["minor"])
    files = zip(row["attachment_ids"] or (), row["attachment_names"] or (), strict=True)
    return Communication(
        reference=str(row["communication_id"]),
        claim_id=row["claim_id"],
        channel=row["channel"],
        state=row["state"],
        held_by=row["held_by"] if is_waiting else None,
        failure=row["failure"],
        action_step=CommunicationStep(row["step_id"], row["step_name"]),
        version=version,
        planned_at=render_instant(row["planned_at"]),
        not_before=render_instant(row["not_before"]),
        handed_over_at=render_instant(row["handed_over_at"]),
        settled_at=render_instant(row["settled_at"]),
        recipient=row["recipient"],
        language=row["language"],
        subject=row["subject"],
        text=row["body_text"],
        html=row["body_html"],
        attachments=[SentAttachment(str(file_id), name) for file_id, name in files],
    )


async def count_failed_communications(
    tx: Connection, merchant_id: int, since: datetime, limit: int
) -> tuple[int, datetime | None]:
    """Count communications that failed since an instant, up to a limit. Return the number and the
    time of the first failure (None if there is none)."""
    row = await tx.fetchrow(_COUNT_FAILED, merchant_id, since, limit)
    assert row is not None
    return row["number"], row["oldest_at"]
