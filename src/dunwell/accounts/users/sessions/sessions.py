"""Sessions of users: open, find, list and end them."""

import base64
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from dunwell.accounts.users.sessions.session_rules import (
    MAX_SESSION_AGE,
    derive_browser_secret,
    hash_secret,
    render_secret,
)
from dunwell.accounts.users.sessions.store import (
    NewSession,
    SessionRow,
    find_browser_owner,
    forget_browsers,
    list_active_sessions,
    load_session_user,
    load_used_session,
    save_end_of_all_sessions,
    save_session,
    save_session_end,
)
from dunwell.accounts.users.sign_in.local_sign_in import report_break_glass
from dunwell.accounts.users.store import lock_user
from dunwell.accounts.users.user import SignedInUser, derive_form_token
from dunwell.accounts.users.user_work import (
    UserWork,
    Visitor,
    build_visitor_actor,
    describe_browser,
    digest_network,
    save_user_audit,
)
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection
from dunwell.platform.http.addresses import name_network

# How long after a completed sign-in the browser is accepted although the second factor is locked.
# A month covers a holiday; a computer that was given away is soon a stranger again.
TRUSTED_FOR = timedelta(days=30)
_PURPOSE = "portal-known-browser"


def render_browser_cookie(keys: KeyRing, user_id: UUID, secret: str) -> str:
    """Return the cookie's value for a browser in which the user has just signed in."""
    secret_hash = hash_secret(secret)
    assert secret_hash is not None
    signature = keys.digest(_PURPOSE, _build_signed_bytes(user_id, secret_hash))
    return f"{secret}.{_encode(signature)}"


async def find_known_browser(
    tx: Connection, keys: KeyRing, cookie: str, email: str, *, since: datetime
) -> bytes | None:
    """Return the hash of the browser's secret if the user with this e-mail address signed in with
    it after `since`, else None."""
    secret, _, signature = cookie.partition(".")
    secret_hash = hash_secret(secret)
    if secret_hash is None or not signature.isascii():
        return None
    owner = await find_browser_owner(tx, secret_hash, email, since)
    if owner is None:
        return None
    # Signatures made with an older version of the secret key count as long as that version is kept.
    expected = keys.digests(_PURPOSE, _build_signed_bytes(owner, secret_hash))
    is_signed = any(hmac.compare_digest(_encode(each), signature) for each in expected)
    return secret_hash if is_signed else None


def _build_signed_bytes(user_id: UUID, secret_hash: bytes) -> bytes:
    return user_id.bytes + secret_hash


def _encode(signature: bytes) -> str:
    return base64.urlsafe_b64encode(signature).rstrip(b"=").decode()


class OpenedBy(StrEnum):
    """TOTP and RECOVERY: behind a password. INVITATION: with what was set up just now. PASSWORD: it
    goes on from one in which the password was changed. PROVIDER: single sign-on."""

    TOTP = "TOTP"
    RECOVERY = "RECOVERY"
    PASSKEY = "PASSKEY"
    INVITATION = "INVITATION"
    PASSWORD = "PASSWORD"  # noqa: S105 - the word
    PROVIDER = "PROVIDER"


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """`secret`: the value of its cookie, which is kept nowhere. `is_new_place`: the user signed in
    before, but never from this network in the last 90 days: to be asked whether it was they.
    `is_restricted`: someone entered this user's password and then ten wrong codes, which the user
    should know. `device`: the value of the cookie that the browser is known by when it comes again.
    """

    user_id: UUID
    session_id: UUID
    secret: str
    is_new_network: bool
    by: OpenedBy
    device: str
    is_restricted: bool


async def open_session(
    work: UserWork, user_id: UUID, by: OpenedBy, visitor: Visitor, randomness: bytes, *,
    provider_session: bytes | None = None,
) -> OpenedSession:  # fmt: skip
    """randomness: SECRET_BYTES. provider_session: a hash of the provider's own."""
    secret, browser = render_secret(randomness), derive_browser_secret(randomness)
    session_hash, device_hash = hash_secret(secret), hash_secret(browser)
    assert session_hash is not None
    assert device_hash is not None
    user = await lock_user(work.tx, user_id)
    session = NewSession(
        session_hash=session_hash,
        session_id=work.ids.new(work.now),
        user_id=user_id,
        opened_at=work.now,
        expires_at=work.now + MAX_SESSION_AGE,
        opened_by=by,
        network_digests=digest_network(work.keys, visitor),
        network=name_network(visitor.host),
        browser=describe_browser(visitor.user_agent),
        device_hash=device_hash,
        provider_session=provider_session,
        confirmed_at=None if by is OpenedBy.PROVIDER else work.now,
    )
    is_new_network = await save_session(work.tx, session)
    opened = OpenedSession(
        user_id,
        session.session_id,
        secret=secret,
        is_new_network=is_new_network,
        by=by,
        device=render_browser_cookie(work.keys, user_id, browser),
        is_restricted=user is not None and user.second_factor_locked_at is not None,
    )
    their = replace(work, actor=build_visitor_actor(user_id, visitor.host, session.session_id))
    after = {"by": str(by), "isNewPlace": is_new_network}
    await save_user_audit(their, "session.begin", user_id, after=after)
    if user is not None and user.is_break_glass and by is not OpenedBy.PASSWORD:
        await report_break_glass(their, user, session.session_id, by)
    return opened


@dataclass(frozen=True, slots=True)
class ShownSession:
    """`is_new_place`: nobody signed in from there as this user before."""

    row: SessionRow
    is_this: bool


async def find_session(tx: Connection, secret: str, *, now: datetime) -> SignedInUser | None:
    """Whose session it is; finding it counts as its use. None: it ended, or never was.

    One statement, which may stand outside a transaction.
    """
    session_hash = hash_secret(secret)
    if session_hash is None:
        return None
    found = await load_used_session(tx, session_hash, now)
    if found is None:
        return None
    return SignedInUser(**found, csrf=derive_form_token(secret, found["user_id"]))


async def find_session_user(tx: Connection, secret: str) -> UUID | None:
    """Whose session it is, or was, while its row is kept; nothing counts as its use."""
    session_hash = hash_secret(secret)
    return None if session_hash is None else await load_session_user(tx, session_hash)


async def list_sessions(
    tx: Connection, signed_in: SignedInUser, now: datetime
) -> list[ShownSession]:
    """Those of the same user that last, the newest first."""
    rows: Sequence[SessionRow] = await list_active_sessions(tx, signed_in.user_id, now)
    return [ShownSession(row, row.session_id == signed_in.session_id) for row in rows]


async def end_session(
    tx: Connection, signed_in: SignedInUser, session_id: UUID, now: datetime
) -> bool:
    """One of their own. False: there is none of theirs that lasts."""
    return await save_session_end(tx, signed_in.user_id, session_id, now)


async def end_all_sessions(
    tx: Connection, user_id: UUID, now: datetime, *, but: UUID | None = None
) -> int:
    """How many lasted. but: the one that goes on. The user's other browsers are known no more."""
    await forget_browsers(tx, user_id, but=but)
    return await save_end_of_all_sessions(tx, user_id, now, but)
