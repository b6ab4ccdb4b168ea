"""Takes a one-time link: a password and an authenticator app, or a passkey, set up in one form.

Nothing is kept before all of it is right, so a link that was opened and left is as good as before.
The app's secret belongs to the browser that opened the link: who looks at it elsewhere is shown
another one, which opens nothing once somebody has joined. With it come ten recovery codes and a
session.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from uuid import UUID

from dunwell.accounts.users.factors.passkeys import (
    PasskeyRefused,
    check_registration,
    read_answer,
    render_registration,
)
from dunwell.accounts.users.factors.recovery_codes import make_codes
from dunwell.accounts.users.factors.store import (
    NewPasskey,
    save_challenge,
    save_confirmed_app,
    save_new_app,
    save_new_passkey,
    use_challenge,
)
from dunwell.accounts.users.factors.totp import derive_secret, encode_secret, find_step, seal_secret
from dunwell.accounts.users.passwords import PasswordFault, SignInServices
from dunwell.accounts.users.sessions.session_rules import hash_secret
from dunwell.accounts.users.sessions.sessions import OpenedBy, OpenedSession, open_session
from dunwell.accounts.users.sign_in.local_sign_in import may_sign_in_here
from dunwell.accounts.users.sign_in.passkey_sign_in import CHALLENGE_LASTS, ENROL, require_party
from dunwell.accounts.users.sign_in.store import find_invited, use_invitation
from dunwell.accounts.users.store import load_user, lock_user, save_joined, save_password
from dunwell.accounts.users.user import User
from dunwell.accounts.users.user_work import UserWork, Visitor, save_people_audit, visiting


class LinkFault(StrEnum):
    # It was used, ran out, or never was.
    LINK = "LINK"
    # Not the code that the app shows now.
    CODE = "CODE"
    # Not an answer of a passkey to what it was asked.
    PASSKEY = "PASSKEY"


@dataclass(frozen=True, slots=True)
class Invited:
    """Who may join, and what their app is to be given, in base32."""

    user: User
    app_secret: str


@dataclass(frozen=True, slots=True)
class Joining:
    """A filled-in form. opener: of the browser that was shown the link. randomness: SECRET_BYTES,
    for the session."""

    link: str
    opener: str
    visitor: Visitor
    randomness: bytes
    password: str = ""
    code: str = ""
    # What a browser sent of a passkey, which goes instead of the two.
    passkey: bytes = b""


async def find_invitation(reception: SignInServices, link: str, opener: str) -> Invited | None:
    """opener: the secret of the browser's cookie. Looking changes nothing: mail programs look too.
    None: it was used, or ran out."""
    async with reception.work(visiting(None, "")) as work:
        user_id = await _find_invited(work, link)
        user = None if user_id is None else await load_user(work.tx, user_id)
        if user is None:
            return None
        return Invited(user, encode_secret(derive_secret(work.keys, user.user_id, link, opener)))


async def find_joining_faults(
    reception: SignInServices, invited: Invited, joining: Joining
) -> Mapping[str, LinkFault | PasswordFault]:
    """Return what is wrong with what was typed, by field. A password is judged only after the right
    code, because judging takes processor time."""
    if find_step(invited.app_secret, joining.code, reception.now()) is None:
        return {"code": LinkFault.CODE}
    user, passwords = invited.user, reception.passwords
    fault = await passwords.find_fault(joining.password, name=user.name, email=user.email)
    return {} if fault is None else {"password": fault}


async def join_with_app(
    reception: SignInServices, joining: Joining
) -> OpenedSession | LinkFault | Mapping[str, LinkFault | PasswordFault]:
    """The password is hashed between a look and the transaction that takes the link."""
    invited = await find_invitation(reception, joining.link, joining.opener)
    if invited is None:
        return LinkFault.LINK
    faults = await find_joining_faults(reception, invited, joining)
    if faults:
        return faults
    user = invited.user
    password_hash = await reception.passwords.hash(joining.password)
    async with reception.work(visiting(user.user_id, joining.visitor.host)) as work:
        if await _lock_invited(work, joining.link) is None:
            return LinkFault.LINK
        await _take(work, joining.link)
        secret = derive_secret(work.keys, user.user_id, joining.link, joining.opener)
        step = find_step(invited.app_secret, joining.code, work.now) or 0
        factor_id, sealed = work.ids.new(work.now), seal_secret(work.keys, user.user_id, secret)
        await save_new_app(
            work.tx, user.user_id, factor_id=factor_id, secret_sealed=sealed, now=work.now
        )
        await save_confirmed_app(
            work.tx, user.user_id, factor_id=factor_id, step=step, now=work.now
        )
        await save_password(work.tx, user.user_id, password_hash, work.now)
        return await _begin(work, user.user_id, joining, "TOTP")


async def ask_for_passkey(reception: SignInServices, link: str, challenge: bytes) -> str | None:
    """What a browser is to make for whom the link is. None: it was used, or ran out. Raises
    NotFound where there are no passkeys."""
    party = require_party(reception)
    async with reception.work(visiting(None, "")) as work:
        user_id = await _find_invited(work, link)
        user = None if user_id is None else await load_user(work.tx, user_id)
        if user is None:
            return None
        expires_at = work.now + CHALLENGE_LASTS
        await save_challenge(
            work.tx, challenge, purpose=ENROL, user_id=user.user_id, expires_at=expires_at
        )
    return render_registration(
        party, user.user_id, user.email, user.name, challenge=challenge, known=()
    )


async def join_with_passkey(
    reception: SignInServices, joining: Joining
) -> OpenedSession | LinkFault:
    """One transaction, which is kept whatever it answers: the challenge is used up."""
    async with reception.work(visiting(None, joining.visitor.host)) as work:
        user_id = await _lock_invited(work, joining.link)
        if user_id is None:
            return LinkFault.LINK
        if not await enrol_passkey(reception, work, user_id, joining.passkey, name=""):
            return LinkFault.PASSKEY
        await _take(work, joining.link)
        await save_joined(work.tx, user_id, work.now)
        return await _begin(work, user_id, joining, "PASSKEY")


async def enrol_passkey(
    reception: SignInServices, work: UserWork, user_id: UUID, body: bytes, *, name: str
) -> bool:
    """Of a locked user who was asked for it. False: it is no right answer, or somebody's already;
    the challenge is used up all the same. Raises NotFound where there are no passkeys."""
    party = require_party(reception)
    try:
        answer = read_answer(body)
        asked = await use_challenge(work.tx, answer.challenge, work.now)
        if asked is None or not asked.is_live or (asked.purpose, asked.user_id) != (ENROL, user_id):
            return False
        made = check_registration(party, answer, answer.challenge)
    except PasskeyRefused:
        return False
    passkey = NewPasskey(
        user_id,
        name,
        credential_id=made.credential_id,
        public_key=made.public_key,
        sign_count=made.sign_count,
    )
    return await save_new_passkey(work.tx, work.ids.new(work.now), passkey, work.now)


async def _begin(work: UserWork, user_id: UUID, joining: Joining, factor: str) -> OpenedSession:
    work = replace(work, actor=visiting(user_id, joining.visitor.host))
    await save_people_audit(work, "user.join", user_id, after={"factor": factor})
    opened = await open_session(
        work,
        user_id,
        by=OpenedBy.INVITATION,
        visitor=joining.visitor,
        randomness=joining.randomness,
    )
    await make_codes(work, user_id, opened.secret)
    return opened


async def _find_invited(work: UserWork, link: str) -> UUID | None:
    """None too for whoever is to come by single sign-on."""
    link_hash = hash_secret(link)
    user_id = None if link_hash is None else await find_invited(work.tx, link_hash, work.now)
    user = None if user_id is None else await load_user(work.tx, user_id)
    if user is None or not await may_sign_in_here(work.tx, user):
        return None
    return user.user_id


async def _lock_invited(work: UserWork, link: str) -> UUID | None:
    """Of two that bring one link at once, the second finds it used."""
    user_id = await _find_invited(work, link)
    if user_id is None:
        return None
    await lock_user(work.tx, user_id)
    return await _find_invited(work, link)


async def _take(work: UserWork, link: str) -> None:
    """Of a locked user: it is good no more."""
    link_hash = hash_secret(link)
    assert link_hash is not None
    taken = await use_invitation(work.tx, link_hash, work.now)
    assert taken is not None, "found under this lock"
