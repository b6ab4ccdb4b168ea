"""The merchants' audit log: one entry per use case, written in its transaction, and the lists of
entries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgspec

from dunwell.accounts.installation.audit_log import (
    ALL_ENTRIES,
    AuditEntry,
    AuditFilter,
    build_audit_entry,
    load_installation_entries,
)
from dunwell.accounts.merchants.account import Work, check_right
from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.merchants.audit_fields import MASKED, mask, select_changed_fields
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

__all__ = ["MASKED", "mask", "save_audit", "select_changed_fields"]

_INSERT = """
INSERT INTO audit_log
    (merchant_id, audit_id, at, actor_kind, actor_id, action, subject, details, before, after,
     origin)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
"""


async def save_audit(
    work: Work,
    action: str,
    subject: str,
    *,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    **details: Any,
) -> None:
    """Record that the work's actor did `action` (noun.verb) to `subject` (kind:id).

    `before` and `after` hold the changed fields by name; `before` is None for something new,
    `after` for something deleted. Mask personal fields (`mask`). `details` hold ids, counts and
    statuses. Never record a secret.
    """
    actor = work.actor
    await work.tx.execute(
        _INSERT, work.merchant_id, work.ids.new(work.now), work.now, actor.kind, actor.actor_id,
        action, subject, details, before, after, actor.origin_json,
    )  # fmt: skip


_INSERT_MANY = """
INSERT INTO audit_log
    (merchant_id, audit_id, at, actor_kind, actor_id, action, origin, subject, details, before,
     after)
SELECT $1, audit_id, $2, $3, $4, $5, $6, subject, details::jsonb, before::jsonb, after::jsonb
FROM unnest($7::uuid[], $8::text[], $9::text[], $10::text[], $11::text[])
    AS a (audit_id, subject, details, before, after)
"""


@dataclass(frozen=True, slots=True)
class AuditRow:
    """What was done to one of many subjects; see `save_audit`."""

    subject: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    details: Mapping[str, Any]


async def save_audits(work: Work, action: str, rows: Sequence[AuditRow]) -> None:
    """Record that the work's actor did `action` to each subject."""
    actor = work.actor
    await work.tx.execute(
        _INSERT_MANY, work.merchant_id, work.now, actor.kind, actor.actor_id, action,
        actor.origin_json, [work.ids.new(work.now) for _ in rows],
        [each.subject for each in rows], [_render_json(each.details) for each in rows],
        [_render_json(each.before) for each in rows], [_render_json(each.after) for each in rows],
    )  # fmt: skip


def _render_json(value: Mapping[str, Any] | None) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()


# Uses the primary key.
_LOAD = """
SELECT audit_id, at, actor_kind, actor_id, action, subject, details, before, after, origin, seal
FROM audit_log
WHERE merchant_id = $1 AND audit_id = ANY($2::uuid[])
"""
# The narrow indexes leave out the creation of claims, because there are too many such rows.
_CREATION = "claims.create"


async def _load_entries(
    tx: Connection, merchant_id: int, audit_ids: Sequence[UUID]
) -> Mapping[UUID, AuditEntry]:
    rows = await tx.fetch(_LOAD, merchant_id, list(audit_ids))
    return {row["audit_id"]: build_audit_entry(row) for row in rows}


def _select_person_index(wanted: AuditFilter) -> Sequence[object] | None:
    is_person = wanted.actor_id is not None and wanted.actor_kind in ("USER", "OPERATOR")
    return (wanted.actor_id,) if is_person else None


# The narrow indexes are tried in this order, which begins with the filter that matches the fewest
# rows.
_MERCHANT_LIST: ListedTable[AuditFilter, UUID, AuditEntry] = ListedTable(
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
            _select_person_index,
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
_INSTALLATION_LIST: ListedTable[AuditFilter, UUID, AuditEntry] = ListedTable(
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
    filters=_MERCHANT_LIST.filters,
    load=load_installation_entries,
)


async def list_audit(
    work: Work, *, limit: int, cursor: str | None = None, wanted: AuditFilter = ALL_ENTRIES
) -> ListPage[AuditEntry]:
    """List the merchant's entries. Raises ValidationError for an invalid cursor."""
    work.require(Right.AUDIT)
    return await list_page(work.scope(), _MERCHANT_LIST, wanted, limit=limit, cursor=cursor)


async def list_installation_audit(
    tx: Connection, actor: Actor, *, limit: int, cursor: str | None = None,
    wanted: AuditFilter = ALL_ENTRIES,
) -> ListPage[AuditEntry]:  # fmt: skip
    """List the entries that belong to no merchant. Raises ValidationError for an invalid cursor."""
    check_right(actor, Right.AUDIT)
    return await list_page(ListScope(tx), _INSTALLATION_LIST, wanted, limit=limit, cursor=cursor)
