"""Messages and reports that nobody could place, for whoever operates all merchants: listed until a
person has looked at them. They are of no merchant, so the installation's audit log tells of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.accounts.installation.audit import Act, save_installation_audit
from dunwell.accounts.merchants.account import check_right
from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.merchants.rights import Right
from dunwell.contact.sending.unplaced import UnplacedKind
from dunwell.contact.sending.unplaced_store import Unplaced, load_unplaced, save_look
from dunwell.platform.database.database import Connection
from dunwell.platform.ids import Ids
from dunwell.platform.text.cursor import CursorForm

_CURSORS = {"sms": CursorForm(b"ups1", "16s", ""), "reports": CursorForm(b"upr1", "16s", "")}
_NEWEST = UUID(int=2**128 - 1)
_SUBJECTS = {"sms": "incoming", "reports": "report"}


@dataclass(frozen=True, slots=True)
class FoundUnplaced:
    """The newest first. No cursor when these are the last."""

    found: Sequence[Unplaced]
    next_cursor: str | None


async def list_unplaced(
    tx: Connection, actor: Actor, kind: UnplacedKind, *, limit: int, cursor: str | None = None
) -> FoundUnplaced:
    """Those nobody has looked at. Raises ValidationError for a bad cursor."""
    check_right(actor, Right.OPERATE)
    cursors = _CURSORS[kind]
    before = _NEWEST if cursor is None else UUID(bytes=cursors.read((), cursor)[0])
    found = await load_unplaced(tx, kind, before, limit + 1)
    is_last = len(found) <= limit
    return FoundUnplaced(
        found[:limit], None if is_last else cursors.write((), found[limit - 1].key.bytes)
    )


async def look_at_unplaced(
    tx: Connection, actor: Actor, kind: UnplacedKind, key: UUID, *, real_now: datetime, ids: Ids
) -> bool:
    """A person has looked at it. False: it is gone, or somebody has looked at it before."""
    check_right(actor, Right.OPERATE)
    if not await save_look(tx, kind, key, looked_by=actor.actor_id, real_now=real_now):
        return False
    subject = _SUBJECTS[kind]
    act = Act(
        actor_kind=actor.kind,
        actor_id=actor.actor_id,
        action=f"{subject}.look",
        subject=f"{subject}:{key}",
        before={"lookedAt": None},
        after={"lookedAt": real_now.isoformat()},
        origin=None if actor.origin is None else actor.origin.as_json(),
    )
    await save_installation_audit(tx, act, real_now, ids)
    return True
