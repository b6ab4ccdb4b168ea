"""Sessions of people: found by their secret, listed, ended, and removed long after.

A session ends 30 minutes after its last use, 8 hours after it was opened, and whenever its user is
ended or chooses a new password. All instants are real time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.accounts.users.sessions.session_rules import hash_secret
from dunwell.accounts.users.sessions.store import (
    SessionRow,
    forget_devices,
    load_session_user,
    load_sessions,
    load_used_session,
    save_end,
    save_end_of_all,
)
from dunwell.accounts.users.user import SignedIn, derive_form_token
from dunwell.platform.database.database import Connection


@dataclass(frozen=True, slots=True)
class ShownSession:
    """`is_new_place`: nobody signed in from there as this user before."""

    row: SessionRow
    is_this: bool


async def find_session(tx: Connection, secret: str, *, now: datetime) -> SignedIn | None:
    """Whose session it is; finding it counts as its use. None: it ended, or never was.

    One statement, which may stand outside a transaction.
    """
    session_hash = hash_secret(secret)
    if session_hash is None:
        return None
    found = await load_used_session(tx, session_hash, now)
    if found is None:
        return None
    return SignedIn(**found, csrf=derive_form_token(secret, found["user_id"]))


async def find_session_user(tx: Connection, secret: str) -> UUID | None:
    """Whose session it is, or was, while its row is kept; nothing counts as its use."""
    session_hash = hash_secret(secret)
    return None if session_hash is None else await load_session_user(tx, session_hash)


async def list_sessions(tx: Connection, signed_in: SignedIn, now: datetime) -> list[ShownSession]:
    """Those of the same user that last, the newest first."""
    rows: Sequence[SessionRow] = await load_sessions(tx, signed_in.user_id, now)
    return [ShownSession(row, row.session_id == signed_in.session_id) for row in rows]


async def end_session(tx: Connection, signed_in: SignedIn, session_id: UUID, now: datetime) -> bool:
    """One of their own. False: there is none of theirs that lasts."""
    return await save_end(tx, signed_in.user_id, session_id, now)


async def end_all_sessions(
    tx: Connection, user_id: UUID, now: datetime, *, but: UUID | None = None
) -> int:
    """How many lasted. but: the one that goes on. The user's other browsers are known no more."""
    await forget_devices(tx, user_id, but=but)
    return await save_end_of_all(tx, user_id, now, but)
