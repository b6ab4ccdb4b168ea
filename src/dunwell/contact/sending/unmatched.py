"""SMS and delivery reports that match no message. They are listed for operators until an operator
marks them as seen. They belong to no merchant, so the installation's audit log records the mark."""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from uuid import UUID

from dunwell.accounts.installation.audit_log import InstallationAction, save_installation_audit
from dunwell.accounts.merchants.account import check_right
from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.merchants.rights import Right
from dunwell.contact.sending.store import (
    UnmatchedEntry,
    UnmatchedKind,
    load_unmatched_entries,
    save_entry_seen,
)
from dunwell.platform.database.database import Connection
from dunwell.platform.database.listed_table import (
    ListedTable,
    ListPage,
    ListScope,
    NarrowIndex,
    NoFilter,
    Order,
)
from dunwell.platform.database.lists import list_page
from dunwell.platform.ids import Ids

_SUBJECTS = {"sms": "incoming", "reports": "report"}


def _build_list(
    kind: UnmatchedKind, table: str, key: str, *, index: str, condition: str
) -> ListedTable[NoFilter, UUID, UnmatchedEntry]:
    return ListedTable(
        name=f"unmatched {kind}",
        table=table,
        scope=(),
        key=key,
        key_type="uuid",
        order=Order(key, "uuid", is_unique=True),
        index=index,
        narrow_indexes=(NarrowIndex(index, f"{condition} AND l.read_at IS NULL", lambda _: ()),),
        filter=NoFilter,
        load=partial(load_unmatched_entries, kind),
    )


_LISTS: Mapping[UnmatchedKind, ListedTable[NoFilter, UUID, UnmatchedEntry]] = {
    "sms": _build_list(
        "sms", "inbound_sms", "inbound_id", index="inbound_sms_unread",
        condition="l.kind = 'UNMATCHED'",
    ),
    "reports": _build_list(
        "reports", "delivery_reports", "report_id", index="delivery_reports_unread",
        condition="l.outcome = 'UNMATCHED'",
    ),
}  # fmt: skip


async def list_unmatched(
    tx: Connection, actor: Actor, kind: UnmatchedKind, *, limit: int, cursor: str | None = None
) -> ListPage[UnmatchedEntry]:
    """List the entries that were not marked as seen, the newest first. Raises ValidationError for
    an invalid cursor."""
    check_right(actor, Right.OPERATE)
    return await list_page(ListScope(tx), _LISTS[kind], NoFilter(), limit=limit, cursor=cursor)


async def mark_unmatched_as_seen(
    tx: Connection, actor: Actor, kind: UnmatchedKind, key: UUID, *, real_now: datetime, ids: Ids
) -> bool:
    """Mark an entry as seen. Return False if it does not exist or was marked before."""
    check_right(actor, Right.OPERATE)
    if not await save_entry_seen(tx, kind, key, read_by=actor.actor_id, real_now=real_now):
        return False
    subject = _SUBJECTS[kind]
    action = InstallationAction(
        actor_kind=actor.kind,
        actor_id=actor.actor_id,
        action=f"{subject}.look",
        subject=f"{subject}:{key}",
        before={"lookedAt": None},
        after={"lookedAt": real_now.isoformat()},
        origin=None if actor.origin is None else actor.origin.as_json(),
    )
    await save_installation_audit(tx, action, real_now, ids)
    return True
