"""Reads the audit logs: who did what, when, from where, and what it was before and after. A row of
a transaction that still runs can turn up between rows that were read already.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from dunwell.installation.audit_entries import (
    EVERYTHING,
    AuditEntry,
    AuditFilter,
    load_installation_entries,
    narrow,
    read_entry,
)
from dunwell.kit.cursor import CursorForm
from dunwell.kit.db import Connection
from dunwell.kit.sql import Conditions, compose
from dunwell.merchants.account import Work, check_right
from dunwell.merchants.actor import Actor
from dunwell.merchants.rights import Right

# By the primary key; of one subject on audit_log_subject, of one action on audit_log_action, of one
# person on audit_log_people.
_LOAD = """
SELECT audit_id, at, actor_kind, actor_id, action, subject, details, before, after, origin, seal
FROM audit_log
WHERE merchant_id = $1
    {filters}
ORDER BY audit_id DESC
LIMIT $2
"""
# What the indexes hold, said as they say it. Created claims are found by their creation, not by a
# subject.
_CREATION = "claims.create"
_OTHER_ACTIONS = "action <> 'claims.create'"
_PEOPLE = "actor_kind IN ('USER', 'OPERATOR')"
_CURSORS = CursorForm(b"aud1", "16s")
_INSTALLATION_CURSORS = CursorForm(b"ias1", "16s", owner_layout="")


@dataclass(frozen=True, slots=True)
class AuditPage:
    """The newest first. No cursor when these are the last."""

    entries: Sequence[AuditEntry]
    next_cursor: str | None


async def find_audit(
    work: Work, *, limit: int, cursor: str | None = None, wanted: AuditFilter = EVERYTHING
) -> AuditPage:
    """The merchant's. Raises ValidationError for a bad cursor."""
    work.need(Right.AUDIT)
    owner = (work.merchant_id,)
    conditions = Conditions(work.merchant_id, limit + 1)
    narrow(conditions, wanted, _read_place(_CURSORS, owner, cursor))
    if wanted.subject is not None or wanted.action not in (None, _CREATION):
        conditions.add(_OTHER_ACTIONS)
    if wanted.actor_kind in ("USER", "OPERATOR"):
        conditions.add(_PEOPLE)
    statement = compose(_LOAD, filters=conditions.render())
    found = [read_entry(row) for row in await work.tx.fetch(statement, *conditions.values)]
    return _cut(found, limit, _CURSORS, owner)


async def find_installation_audit(
    tx: Connection, actor: Actor, *, limit: int, cursor: str | None = None,
    wanted: AuditFilter = EVERYTHING,
) -> AuditPage:  # fmt: skip
    """What is of no merchant. Raises ValidationError for a bad cursor."""
    check_right(actor, Right.AUDIT)
    behind = _read_place(_INSTALLATION_CURSORS, (), cursor)
    found = await load_installation_entries(tx, limit + 1, wanted, behind)
    return _cut(found, limit, _INSTALLATION_CURSORS, ())


def _read_place(form: CursorForm, owner: tuple[int, ...], cursor: str | None) -> UUID | None:
    if cursor is None:
        return None
    [audit_id] = form.read(owner, cursor)
    return UUID(bytes=audit_id)


def _cut(
    found: Sequence[AuditEntry], limit: int, form: CursorForm, owner: tuple[int, ...]
) -> AuditPage:
    page = found[:limit]
    if len(found) <= limit:
        return AuditPage(page, None)
    return AuditPage(page, form.write(owner, page[-1].audit_id.bytes))
