"""A new address as somebody typed it, to show and correct while its code is waited for.

It is kept with the session that typed it: another session of the claim, whose reader may hold the
old address, does not see the new one.
"""

import msgspec

from dunwell.kit.db import Connection
from dunwell.kit.sql import nest_row
from dunwell.landing.session.details import KEY, Detail
from dunwell.landing.session.drafts import DraftKey
from dunwell.landing.session.session import REMEMBERED, Session
from dunwell.landing.session.store_drafts import lock_draft, save_fields
from dunwell.notices.notice import NoticeChannel

_FIELD = "address"
# By primary keys; $3: the session.
_LOAD_WAITING = """
SELECT change.channel, notice.state = 'FAILED' AS is_undelivered,
       CASE WHEN draft.fields ->> 'address' = change.address THEN change.address END AS typed
FROM debtor_contact_changes change
LEFT JOIN debtor_notices notice
    ON notice.merchant_id = $1 AND notice.notice_id = change.notice_id
LEFT JOIN debtor_drafts draft
    ON draft.merchant_id = $1 AND draft.session_id = $3
    AND draft.subject = 'address:' || change.channel
WHERE change.merchant_id = $1 AND change.claim_id = $2
"""


class WaitingAddress(msgspec.Struct, frozen=True, gc=False):
    """A change that waits for the code sent to the new address."""

    channel: NoticeChannel
    # The notice with the code was reported not to arrive.
    is_undelivered: bool | None
    # None: this session has typed none, or another.
    typed: str | None


WAITING: Detail[WaitingAddress | None] = Detail(
    nest_row(_LOAD_WAITING, *KEY, "s.session_id"), WaitingAddress | None
)


async def save_typed_address(
    tx: Connection, session: Session, channel: NoticeChannel, address: str
) -> None:
    """In place of the one before. Its claim must be locked."""
    key = DraftKey(session.merchant_id, session.claim_id, session.session_id, _name(channel))
    await lock_draft(tx, key, session.expires_at + REMEMBERED)
    await save_fields(tx, key, {_FIELD: address})


def _name(channel: NoticeChannel) -> str:
    """Of the draft."""
    return f"address:{channel}"
