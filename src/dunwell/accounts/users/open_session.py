"""Begins a session, tells whether its user was never there before, and writes that down."""

from dataclasses import dataclass, replace
from enum import StrEnum
from uuid import UUID

from dunwell.accounts.users.audit import save_people_audit, visiting
from dunwell.accounts.users.known_browsers import render_browser_cookie
from dunwell.accounts.users.local_sign_in import tell_break_glass
from dunwell.accounts.users.people_work import PeopleWork
from dunwell.accounts.users.session_rules import LASTS, derive_device, hash_secret, render_secret
from dunwell.accounts.users.store import lock_user
from dunwell.accounts.users.store_sessions import NewSession, save_session
from dunwell.accounts.users.visitor import Visitor, describe_browser, digest_place
from dunwell.platform.http.addresses import name_network


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
    is_new_place: bool
    by: OpenedBy
    device: str
    is_restricted: bool


async def open_session(
    work: PeopleWork, user_id: UUID, by: OpenedBy, visitor: Visitor, randomness: bytes, *,
    provider_session: bytes | None = None,
) -> OpenedSession:  # fmt: skip
    """randomness: SECRET_BYTES. provider_session: a hash of the provider's own."""
    secret, browser = render_secret(randomness), derive_device(randomness)
    session_hash, device_hash = hash_secret(secret), hash_secret(browser)
    assert session_hash is not None
    assert device_hash is not None
    user = await lock_user(work.tx, user_id)
    session = NewSession(
        session_hash=session_hash,
        session_id=work.ids.new(work.now),
        user_id=user_id,
        opened_at=work.now,
        expires_at=work.now + LASTS,
        opened_by=by,
        place_digests=digest_place(work.keys, visitor),
        place=name_network(visitor.host),
        browser=describe_browser(visitor.user_agent),
        device_hash=device_hash,
        provider_session=provider_session,
        confirmed_at=None if by is OpenedBy.PROVIDER else work.now,
    )
    is_new_place = await save_session(work.tx, session)
    opened = OpenedSession(
        user_id,
        session.session_id,
        secret=secret,
        is_new_place=is_new_place,
        by=by,
        device=render_browser_cookie(work.keys, user_id, browser),
        is_restricted=user is not None and user.second_factor_locked_at is not None,
    )
    their = replace(work, actor=visiting(user_id, visitor.host, session.session_id))
    after = {"by": str(by), "isNewPlace": is_new_place}
    await save_people_audit(their, "session.begin", user_id, after=after)
    if user is not None and user.is_break_glass and by is not OpenedBy.PASSWORD:
        await tell_break_glass(their, user, session.session_id, by)
    return opened
