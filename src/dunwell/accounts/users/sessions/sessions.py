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
    load_session_and_record_use,
    load_session_user,
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
from dunwell.platform.http.addresses import render_network

# For how long after a sign-in a known browser is accepted although the second factor is locked. A
# month covers a holiday, and limits how long a computer that was given away is still accepted.
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
    that browser after `since`, else None. `cookie` is what `render_browser_cookie` returned."""
    secret, _, signature = cookie.partition(".")
    secret_hash = hash_secret(secret)
    if secret_hash is None or not signature.isascii():
        return None
    owner = await find_browser_owner(tx, secret_hash, email, since)
    if owner is None:
        return None
    # Signatures of older versions of the secret key are valid as long as the version is kept.
    expected = keys.digests(_PURPOSE, _build_signed_bytes(owner, secret_hash))
    is_signed = any(hmac.compare_digest(_encode(each), signature) for each in expected)
    return secret_hash if is_signed else None


def _build_signed_bytes(user_id: UUID, secret_hash: bytes) -> bytes:
    return user_id.bytes + secret_hash


def _encode(signature: bytes) -> str:
    return base64.urlsafe_b64encode(signature).rstrip(b"=").decode()


class OpenedBy(StrEnum):
    """How a session was opened. TOTP and RECOVERY: with a password and then a code of the app or a
    recovery code. INVITATION: by an invitation or reset link. PASSWORD: after a change of the
    password. PROVIDER: by single sign-on."""

    TOTP = "TOTP"
    RECOVERY = "RECOVERY"
    PASSKEY = "PASSKEY"
    INVITATION = "INVITATION"
    PASSWORD = "PASSWORD"  # noqa: S105 - the word
    PROVIDER = "PROVIDER"


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """A new session.

    `secret` is the value of its cookie, which is not stored. `is_new_network` says that the user
    has signed in before, but not from this network in the last 90 days, and is asked whether this
    sign-in was their own.
    `is_second_factor_locked` says that someone entered the right password and then ten wrong codes,
    about which the user is informed. `browser_cookie` is the value of the cookie by which the
    browser is recognised later on.
    """

    user_id: UUID
    session_id: UUID
    secret: str
    is_new_network: bool
    by: OpenedBy
    browser_cookie: str
    is_second_factor_locked: bool


async def open_session(
    work: UserWork, user_id: UUID, by: OpenedBy, visitor: Visitor, randomness: bytes, *,
    provider_session: bytes | None = None,
) -> OpenedSession:  # fmt: skip
    """Open a session for the user. `randomness` has SECRET_BYTES bytes. `provider_session` is the
    hash of the identity provider's session."""
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
        network=render_network(visitor.host),
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
        browser_cookie=render_browser_cookie(work.keys, user_id, browser),
        is_second_factor_locked=user is not None and user.second_factor_locked_at is not None,
    )
    user_work = replace(work, actor=build_visitor_actor(user_id, visitor.host, session.session_id))
    after = {"by": str(by), "isNewPlace": is_new_network}
    await save_user_audit(user_work, "session.begin", user_id, after=after)
    if user is not None and user.is_break_glass and by is not OpenedBy.PASSWORD:
        await report_break_glass(user_work, user, session.session_id, by)
    return opened


@dataclass(frozen=True, slots=True)
class ShownSession:
    """A session in the user's list. `is_this` says whether it is the current one."""

    row: SessionRow
    is_this: bool


async def find_session(tx: Connection, secret: str, *, now: datetime) -> SignedInUser | None:
    """Return the session's user and record its use. Return None if the session has ended or does
    not exist. Runs a single statement, so the caller needs no transaction."""
    session_hash = hash_secret(secret)
    if session_hash is None:
        return None
    fields = await load_session_and_record_use(tx, session_hash, now)
    if fields is None:
        return None
    return SignedInUser(**fields, csrf=derive_form_token(secret, fields["user_id"]))


async def find_session_user(tx: Connection, secret: str) -> UUID | None:
    """Return the user of the session, also of an ended one that is still stored, without recording
    a use."""
    session_hash = hash_secret(secret)
    return None if session_hash is None else await load_session_user(tx, session_hash)


async def list_sessions(
    tx: Connection, signed_in: SignedInUser, now: datetime
) -> list[ShownSession]:
    """Return the user's active sessions, newest first."""
    rows: Sequence[SessionRow] = await list_active_sessions(tx, signed_in.user_id, now)
    return [ShownSession(row, row.session_id == signed_in.session_id) for row in rows]


async def end_session(
    tx: Connection, signed_in: SignedInUser, session_id: UUID, now: datetime
) -> bool:
    """End one of the user's own sessions. Return False if it is not active."""
    return await save_session_end(tx, signed_in.user_id, session_id, now)


async def end_all_sessions(
    tx: Connection, user_id: UUID, now: datetime, *, except_session: UUID | None = None
) -> int:
    """End all sessions except `except_session`, forget the browsers of these sessions, and return
    how many ended."""
    await forget_browsers(tx, user_id, except_session=except_session)
    return await save_end_of_all_sessions(tx, user_id, now, except_session)
