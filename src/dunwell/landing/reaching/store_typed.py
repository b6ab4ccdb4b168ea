"""A new address as somebody typed it, to show and correct while its code is waited for, and when
its form came too late to be taken.

It is kept with the session that typed it: another session of the claim, whose reader may hold the
old address, does not see the new one (docs/decisions/0019).
"""

import msgspec

from dunwell.kit.db import Connection
from dunwell.kit.sql import compose, nest_row, nest_rows
from dunwell.landing.session.details import KEY, Detail
from dunwell.landing.session.drafts import DraftKey
from dunwell.landing.session.session import REMEMBERED, Session
from dunwell.landing.session.store_drafts import lock_draft, save_fields
from dunwell.notices.notice import NoticeChannel

_FIELD = "address"
# By primary keys.
_LOAD_WAITING = """
SELECT change.channel, change.address, notice.state = 'FAILED' AS is_undelivered
FROM debtor_contact_changes change
LEFT JOIN debtor_notices notice
    ON notice.merchant_id = $1 AND notice.notice_id = change.notice_id
WHERE change.merchant_id = $1 AND change.claim_id = $2
"""
# By the beginning of the primary key; $2: the session.
_LOAD_TYPED = """
SELECT substr(draft.subject, 9) AS channel, draft.fields ->> 'address' AS address
FROM debtor_drafts draft
WHERE draft.merchant_id = $1 AND draft.session_id = $2 AND draft.subject LIKE 'address:%'
"""


class TypedAddress(msgspec.Struct, frozen=True, gc=False):
    channel: NoticeChannel
    address: str


class WaitingAddress(msgspec.Struct, frozen=True, gc=False):
    """A change that waits for the code sent to the new address."""

    channel: NoticeChannel
    # Not for who has not typed it.
    address: str
    # The notice with the code was reported not to arrive.
    is_undelivered: bool | None


class NewAddresses(msgspec.Struct, frozen=True, gc=False):
    """What waits for its code, whoever typed it; what this session has typed last."""

    waiting: WaitingAddress | None
    typed: list[TypedAddress]

    def find_typed(self, channel: NoticeChannel) -> str | None:
        return next((each.address for each in self.typed if each.channel == channel), None)


NEW_ADDRESSES: Detail[NewAddresses] = Detail(
    compose(
        "json_build_object('waiting', {waiting}, 'typed', {typed})",
        waiting=nest_row(_LOAD_WAITING, *KEY),
        typed=nest_rows(_LOAD_TYPED, "s.merchant_id", "s.session_id"),
    ),
    NewAddresses,
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
