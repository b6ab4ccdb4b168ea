"""Reads the audit logs: who did what, when, from where, and what it was before and after.

A merchant's rows stand in the order of their writing transactions (decision 0016), so that none
appears behind a cursor that was handed out. In the installation's log a row of a transaction that
still runs can turn up between rows that were read already.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from dunwell.accounts.installation.audit_entries import (
    EVERYTHING,
    AuditEntry,
    AuditFilter,
    load_installation_entries,
    read_entry,
)
from dunwell.accounts.merchants.account import Work, check_right
from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.merchants.newest_first import ListedTable, Test, Wanted, find_newest
from dunwell.accounts.merchants.rights import Right
from dunwell.platform.database.database import Connection, snapshot
from dunwell.platform.text.cursor import CursorForm

# Rides on audit_log_list; of one subject on audit_log_list_of_subject, of one action on
# audit_log_list_of_action, of one person on audit_log_list_of_person.
_ROWS: ListedTable[UUID] = ListedTable(
    "audit_log", "audit_id", cast="uuid", at="at", cursors=CursorForm(b"aud2", "Q16s")
)
# By primary key.
_LOAD = """
SELECT audit_id, at, actor_kind, actor_id, action, subject, details, before, after, origin, seal
FROM audit_log
WHERE merchant_id = $1 AND audit_id = ANY($2::uuid[])
"""
# What the indexes hold, said as they say it. Created claims are found by their creation, not by a
# subject.
_CREATION = "claims.create"
_OTHER_ACTIONS: Test = ("l.action <> 'claims.create'", ())
_PEOPLE: Test = ("l.actor_kind IN ('USER', 'OPERATOR')", ())
_INSTALLATION_CURSORS = CursorForm(b"ias1", "16s", owner_layout="")


@dataclass(frozen=True, slots=True)
class AuditPage:
    """The newest first. No cursor when these are the last."""

    entries: Sequence[AuditEntry]
    next_cursor: str | None


async def find_audit(
    work: Work, *, limit: int, cursor: str | None = None, wanted: AuditFilter = EVERYTHING
) -> AuditPage:
    """The merchant's; of a filter that few rows meet a page may hold fewer, and goes on. Raises
    ValidationError for a bad cursor."""
    work.need(Right.AUDIT)
    seek = tuple(_list_seek(wanted))
    narrowed: Wanted[UUID] = Wanted(
        seek=seek, filters=tuple(_list_filters(wanted)), since=wanted.since, until=wanted.until
    )
    async with snapshot(work.tx):
        found = await find_newest(work, _ROWS, narrowed, limit=limit, cursor=cursor)
        rows = await work.tx.fetch(_LOAD, work.merchant_id, list(found.keys))
    entries = {row["audit_id"]: read_entry(row) for row in rows}
    return AuditPage([entries[key] for key in found.keys], found.next_cursor)


async def find_installation_audit(
    tx: Connection, actor: Actor, *, limit: int, cursor: str | None = None,
    wanted: AuditFilter = EVERYTHING,
) -> AuditPage:  # fmt: skip
    """What is of no merchant. Raises ValidationError for a bad cursor."""
    check_right(actor, Right.AUDIT)
    behind = None
    if cursor is not None:
        [audit_id] = _INSTALLATION_CURSORS.read((), cursor)
        behind = UUID(bytes=audit_id)
    found = await load_installation_entries(tx, limit + 1, wanted, behind)
    page = found[:limit]
    if len(found) <= limit:
        return AuditPage(page, None)
    return AuditPage(page, _INSTALLATION_CURSORS.write((), page[-1].audit_id.bytes))


def _list_seek(wanted: AuditFilter) -> Iterator[Test]:
    """What one index knows: of all that is asked for, what fewest rows have."""
    if wanted.subject is not None:
        yield "l.subject = {}", (wanted.subject,)
        yield _OTHER_ACTIONS
    elif wanted.actor_id is not None and wanted.actor_kind in ("USER", "OPERATOR"):
        yield "l.actor_id = {}", (wanted.actor_id,)
        yield _PEOPLE
    elif wanted.action not in (None, _CREATION):
        yield "l.action = {}", (wanted.action,)
        yield _OTHER_ACTIONS


def _list_filters(wanted: AuditFilter) -> Iterator[Test]:
    for column in ("actor_kind", "actor_id", "action", "subject"):
        value = getattr(wanted, column)
        if value is not None:
            yield f"l.{column} = {{}}", (value,)
