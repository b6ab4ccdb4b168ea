"""Rows of an audit log as they are read, a merchant's and the installation's alike: by time, by
subject, the newest first, page by page. The ids begin with the instant, so both logs stand in the
order of their keys.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.sql import Conditions, compose
from dunwell.platform.ids import uuid7

# By the primary key; of one subject on installation_audit_subject, of one actor on
# installation_audit_actor.
_LOAD = """
SELECT audit_id, at, actor_kind, actor_id, action, subject, before, after, origin, seal
FROM installation_audit
WHERE true
{filters}
ORDER BY audit_id DESC
LIMIT $1
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


def narrow(conditions: Conditions, wanted: AuditFilter, behind: UUID | None) -> None:
    """`behind`: the last row of the page before."""
    if behind is not None:
        conditions.add("audit_id < {}", behind)
    if wanted.since is not None:
        conditions.add("audit_id >= {} AND at >= {}", _find_first(wanted.since), wanted.since)
    if wanted.until is not None:
        end = _find_first(wanted.until + timedelta(milliseconds=1))
        conditions.add("audit_id < {} AND at < {}", end, wanted.until)
    if wanted.actor_kind is not None:
        conditions.add("actor_kind = {}", wanted.actor_kind)
    if wanted.actor_id is not None:
        conditions.add("actor_id = {}", wanted.actor_id)
    if wanted.action is not None:
        conditions.add("action = {}", wanted.action)
    if wanted.subject is not None:
        conditions.add("subject = {}", wanted.subject)


def read_entry(row: Row) -> AuditEntry:
    return AuditEntry(**row)


async def load_installation_entries(
    tx: Connection, limit: int, wanted: AuditFilter, behind: UUID | None
) -> list[AuditEntry]:
    conditions = Conditions(limit)
    narrow(conditions, wanted, behind)
    statement = compose(_LOAD, filters=conditions.render())
    return [read_entry(row) for row in await tx.fetch(statement, *conditions.values)]


def _find_first(at: datetime) -> UUID:
    """The least id that a row of this millisecond can have."""
    return uuid7(at, bytes(10))
