"""The installation's audit log, whose entries are written in the transaction of the change that
they record. The audit logs of merchants use the same entry and filter."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from dunwell.platform.database.database import Connection, Row
from dunwell.platform.ids import Ids

_INSERT = """
INSERT INTO installation_audit
    (audit_id, at, actor_kind, actor_id, action, subject, before, after, origin)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallationAction:
    """An action to record. `before` and `after` hold the changed fields by name. Personal fields
    are masked; secrets and their hashes are never recorded."""

    # SYSTEM, OPERATOR (the command line), USER, or VISITOR (not signed in).
    actor_kind: str
    actor_id: str | None = None
    # noun.verb, such as session.begin.
    action: str
    # kind:id, such as user:0195...
    subject: str
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None
    # What `merchants.actor.Origin.as_json` returns.
    origin: Mapping[str, str] | None = None


async def save_installation_audit(
    tx: Connection, action: InstallationAction, now: datetime, ids: Ids
) -> None:
    """Insert the entry. `now` is real time."""
    await tx.execute(
        _INSERT, ids.new(now), now, action.actor_kind, action.actor_id, action.action,
        action.subject,
        action.before, action.after, action.origin,
    )  # fmt: skip


# Uses the primary key.
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
    # Empty in the installation's log.
    details: Mapping[str, Any] = {}
    # The changed fields. None for entries that were written before fields were recorded.
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    origin: Mapping[str, str] | None
    # The number of the seal that covers the entry. None until the next seal, some seconds later.
    seal: int | None


class AuditFilter(msgspec.Struct, frozen=True, gc=False):
    """Which entries to list. All given values must match."""

    # `since` is inclusive, `until` exclusive.
    since: datetime | None = None
    until: datetime | None = None
    # USER, OPERATOR, CREDENTIAL, DEBTOR or SYSTEM; in the installation's log also VISITOR.
    actor_kind: str | None = None
    actor_id: str | None = None
    action: str | None = None
    subject: str | None = None


ALL_ENTRIES = AuditFilter()


def build_audit_entry(row: Row) -> AuditEntry:
    return AuditEntry(**row)


async def load_installation_entries(
    tx: Connection, audit_ids: Sequence[UUID]
) -> Mapping[UUID, AuditEntry]:
    """Return the entries by id."""
    rows = await tx.fetch(_LOAD, list(audit_ids))
    return {row["audit_id"]: build_audit_entry(row) for row in rows}
