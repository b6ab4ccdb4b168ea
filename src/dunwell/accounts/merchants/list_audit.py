"""Reads the audit logs: who did what, when, from where, and what it was before and after.

A merchant's rows stand in the order of their writing transactions (decision 0016), so that none
appears behind a cursor that was handed out. In the installation's log a row of a transaction that
still runs can turn up between rows that were read already.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from dunwell.accounts.installation.audit_log import (
    EVERYTHING,
    AuditEntry,
    AuditFilter,
    load_installation_entries,
    read_entry,
)
from dunwell.accounts.merchants.account import Work, check_right
from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.merchants.rights import Right
from dunwell.platform.database.database import Connection
from dunwell.platform.database.listed_table import (
    ListedTable,
    ListPage,
    ListScope,
    NarrowIndex,
    Order,
)
from dunwell.platform.database.lists import list_page

# By primary key.
_LOAD = """
SELECT audit_id, at, actor_kind, actor_id, action, subject, details, before, after, origin, seal
FROM audit_log
WHERE merchant_id = $1 AND audit_id = ANY($2::uuid[])
"""
# Created claims are found by their creation, not by a subject: the indexes do not hold them.
_CREATION = "claims.create"


async def _load_entries(
    tx: Connection, merchant_id: int, audit_ids: Sequence[UUID]
) -> Mapping[UUID, AuditEntry]:
    rows = await tx.fetch(_LOAD, merchant_id, list(audit_ids))
    return {row["audit_id"]: read_entry(row) for row in rows}


def _match_person(wanted: AuditFilter) -> Sequence[object] | None:
    is_person = wanted.actor_id is not None and wanted.actor_kind in ("USER", "OPERATOR")
    return (wanted.actor_id,) if is_person else None


# Of the values that are asked for, the one that fewest rows have is sought by its index.
_ROWS: ListedTable[AuditFilter, UUID, AuditEntry] = ListedTable(
    name="audit",
    table="audit_log",
    key="audit_id",
    key_type="uuid",
    index="audit_log_list",
    narrow_indexes=(
        NarrowIndex(
            "audit_log_list_of_subject",
            "l.subject = {} AND l.action <> 'claims.create'",
            lambda wanted: None if wanted.subject is None else (wanted.subject,),
            covers=("subject",),
        ),
        NarrowIndex(
            "audit_log_list_of_person",
            "l.actor_id = {} AND l.actor_kind IN ('USER', 'OPERATOR')",
            _match_person,
            covers=("actor_id",),
        ),
        NarrowIndex(
            "audit_log_list_of_action",
            "l.action = {} AND l.action <> 'claims.create'",
            lambda wanted: None if wanted.action in (None, _CREATION) else (wanted.action,),
            covers=("action",),
        ),
    ),
    at="at",
    filter=AuditFilter,
    filters={name: f"l.{name} = {{}}" for name in ("actor_kind", "actor_id", "action", "subject")},
    load=_load_entries,
)
_INSTALLATION: ListedTable[AuditFilter, UUID, AuditEntry] = ListedTable(
    name="installation audit",
    table="installation_audit",
    scope=(),
    key="audit_id",
    key_type="uuid",
    order=Order("audit_id", "uuid", is_unique=True),
    index="installation_audit_pkey",
    narrow_indexes=(
        NarrowIndex(
            "installation_audit_subject",
            "l.subject = {}",
            lambda wanted: None if wanted.subject is None else (wanted.subject,),
            covers=("subject",),
        ),
        NarrowIndex(
            "installation_audit_actor",
            "l.actor_id = {}",
            lambda wanted: None if wanted.actor_id is None else (wanted.actor_id,),
            covers=("actor_id",),
        ),
    ),
    at="at",
    filter=AuditFilter,
    filters=_ROWS.filters,
    load=load_installation_entries,
)


async def list_audit(
    work: Work, *, limit: int, cursor: str | None = None, wanted: AuditFilter = EVERYTHING
) -> ListPage[AuditEntry]:
    """The merchant's. Raises ValidationError for a bad cursor."""
    work.need(Right.AUDIT)
    return await list_page(work.scope(), _ROWS, wanted, limit=limit, cursor=cursor)


async def list_installation_audit(
    tx: Connection, actor: Actor, *, limit: int, cursor: str | None = None,
    wanted: AuditFilter = EVERYTHING,
) -> ListPage[AuditEntry]:  # fmt: skip
    """What is of no merchant. Raises ValidationError for a bad cursor."""
    check_right(actor, Right.AUDIT)
    return await list_page(ListScope(tx), _INSTALLATION, wanted, limit=limit, cursor=cursor)
