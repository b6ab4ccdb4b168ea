"""A new address as somebody typed it, to show and correct while its code is waited for.

It is kept with the session that typed it: another session of the claim, whose reader may hold the
old address, does not see the new one.
"""

from dunwell.kit.db import Connection
from dunwell.landing.draft_store import load_draft, lock_draft, save_fields
from dunwell.landing.preferences_store import PendingChange
from dunwell.landing.session import Session
from dunwell.notices.notice import NoticeChannel

_FIELD = "address"


async def save_typed_address(
    tx: Connection, session: Session, channel: NoticeChannel, address: str
) -> None:
    """In place of the one before. Its claim must be locked."""
    await lock_draft(tx, session, _name(channel))
    await save_fields(tx, session, _name(channel), {_FIELD: address})


async def load_typed_address(tx: Connection, session: Session, change: PendingChange) -> str | None:
    """The address that waits for its code; none when this session has typed none or another."""
    draft = await load_draft(tx, session, _name(change.channel))
    return change.address if draft.fields.get(_FIELD) == change.address else None


def _name(channel: NoticeChannel) -> str:
    """Of the draft."""
    return f"address:{channel}"
