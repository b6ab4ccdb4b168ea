"""Rows of an audit log as they are read, a merchant's and the installation's alike: by time, by
subject, the newest first, page by page. The ids begin with the instant, so both logs stand in the
order of their keys.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from dunwell.platform.database.database import Connection, Row

# By primary key.
_LOAD = """
SELECT audit_id, at, actor_kind, actor_id, action, subject, before, after, origin, seal
FROM installation_audit
WHERE audit_id = ANY($1::uuid[])
"""


class AuditEntry(msgspec.Struct, frozen=True, gc=False, rename="camel", kw_only=True):
    audit_id: UUID
    at: datetime
    actor_kind: str
    actor_id: str | None
    action: str
    subject: str
    details: Mapping[str, Any] = {}
    # By field; none in what was written before they were kept.
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    origin: Mapping[str, str] | None
    # The number of the seal that covers it; none for some seconds.
    seal: int | None


class AuditFilter(msgspec.Struct, frozen=True, gc=False):
    """Which rows; all that is given must hold."""

    # Inclusive; `until` exclusive.
    since: datetime | None = None
    until: datetime | None = None
    # USER, OPERATOR, CREDENTIAL, DEBTOR, SYSTEM; of the installation's also VISITOR.
    actor_kind: str | None = None
    actor_id: str | None = None
    action: str | None = None
    subject: str | None = None


EVERYTHING = AuditFilter()


def read_entry(row: Row) -> AuditEntry:
    return AuditEntry(**row)


async def load_installation_entries(
    tx: Connection, audit_ids: Sequence[UUID]
) -> Mapping[UUID, AuditEntry]:
    """By id."""
    rows = await tx.fetch(_LOAD, list(audit_ids))
    return {row["audit_id"]: read_entry(row) for row in rows}
