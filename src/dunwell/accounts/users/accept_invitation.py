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
    parse_passkey_response,
    render_registration,
)
from dunwell.accounts.users.factors.recovery_codes import create_recovery_codes
from dunwell.accounts.users.factors.store import (
    NewPasskey,
    save_challenge,
    save_confirmed_app,
    save_new_passkey,
    save_unconfirmed_app,
    use_challenge,
)
from dunwell.accounts.users.factors.totp import (
    derive_invitation_secret,
    encode_secret,
    find_step,
    seal_secret,
)
from dunwell.accounts.users.passwords import PasswordFault, SignInServices
from dunwell.accounts.users.sessions.session_rules import hash_secret
from dunwell.accounts.users.sessions.sessions import OpenedBy, OpenedSession, open_session
from dunwell.accounts.users.sign_in.local_sign_in import may_sign_in_locally
from dunwell.accounts.users.sign_in.passkey_sign_in import (
    CHALLENGE_LASTS,
    REGISTER,
    get_relying_party,
)
from dunwell.accounts.users.sign_in.store import find_invited_user, use_invitation
from dunwell.accounts.users.store import load_user, lock_user, save_joined, save_password
from dunwell.accounts.users.user import User
from dunwell.accounts.users.user_work import UserWork, Visitor, build_visitor_actor, save_user_audit


class InvitationFault(StrEnum):
    # It was used, ran out, or never was.
    LINK = "LINK"
    # Not the code that the app shows now.
    CODE = "CODE"
    # Not an answer of a passkey to what it was asked.
    PASSKEY = "PASSKEY"


@dataclass(frozen=True, slots=True)
class OpenInvitation:
    """Who may join, and what their app is to be given, in base32."""

    user: User
    app_secret: str


@dataclass(frozen=True, slots=True)
class InvitationForm:
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


async def find_invitation(
    services: SignInServices, link: str, opener: str
) -> OpenInvitation | None:
    """opener: the secret of the browser's cookie. Looking changes nothing: mail programs look too.
    None: it was used, or ran out."""
    async with services.work(build_visitor_actor(None, "")) as work:
        user_id = await _find_invited(work, link)
        user = None if user_id is None else await load_user(work.tx, user_id)
        if user is None:
            return None
        return OpenInvitation(
            user, encode_secret(derive_invitation_secret(work.keys, user.user_id, link, opener))
        )


async def find_form_faults(
    services: SignInServices, invited: OpenInvitation, joining: InvitationForm
) -> Mapping[str, InvitationFault | PasswordFault]:
    """Return what is wrong with what was typed, by field. A password is judged only after the right
    code, because judging takes processor time."""
    if find_step(invited.app_secret, joining.code, services.now()) is None:
        return {"code": InvitationFault.CODE}
    user, passwords = invited.user, services.passwords
    fault = await passwords.find_fault(joining.password, name=user.name, email=user.email)
    return {} if fault is None else {"password": fault}


async def accept_with_app(
    services: SignInServices, joining: InvitationForm
) -> OpenedSession | InvitationFault | Mapping[str, InvitationFault | PasswordFault]:
    """The password is hashed between a look and the transaction that takes the link."""
    invited = await find_invitation(services, joining.link, joining.opener)
    if invited is None:
        return InvitationFault.LINK
    faults = await find_form_faults(services, invited, joining)
    if faults:
        return faults
    user = invited.user
    password_hash = await services.passwords.hash(joining.password)
    async with services.work(build_visitor_actor(user.user_id, joining.visitor.host)) as work:
        if await _lock_invited(work, joining.link) is None:
            return InvitationFault.LINK
        await _use_invitation(work, joining.link)
        secret = derive_invitation_secret(work.keys, user.user_id, joining.link, joining.opener)
        step = find_step(invited.app_secret, joining.code, work.now) or 0
        factor_id, sealed = work.ids.new(work.now), seal_secret(work.keys, user.user_id, secret)
        await save_unconfirmed_app(
            work.tx, user.user_id, factor_id=factor_id, secret_sealed=sealed, now=work.now
        )
        await save_confirmed_app(
            work.tx, user.user_id, factor_id=factor_id, step=step, now=work.now
        )
        await save_password(work.tx, user.user_id, password_hash, work.now)
        return await _open_first_session(work, user.user_id, joining, "TOTP")


async def start_passkey_registration(
    services: SignInServices, link: str, challenge: bytes
) -> str | None:
    """What a browser is to make for whom the link is. None: it was used, or ran out. Raises
    NotFound where there are no passkeys."""
    party = get_relying_party(services)
    async with services.work(build_visitor_actor(None, "")) as work:
        user_id = await _find_invited(work, link)
        user = None if user_id is None else await load_user(work.tx, user_id)
        if user is None:
            return None
        expires_at = work.now + CHALLENGE_LASTS
        await save_challenge(
            work.tx, challenge, purpose=REGISTER, user_id=user.user_id, expires_at=expires_at
        )
    return render_registration(
        party, user.user_id, user.email, user.name, challenge=challenge, known=()
    )


async def accept_with_passkey(
    services: SignInServices, joining: InvitationForm
) -> OpenedSession | InvitationFault:
    """One transaction, which is kept whatever it answers: the challenge is used up."""
    async with services.work(build_visitor_actor(None, joining.visitor.host)) as work:
        user_id = await _lock_invited(work, joining.link)
        if user_id is None:
            return InvitationFault.LINK
        if not await register_passkey(services, work, user_id, joining.passkey, name=""):
            return InvitationFault.PASSKEY
        await _use_invitation(work, joining.link)
        await save_joined(work.tx, user_id, work.now)
        return await _open_first_session(work, user_id, joining, "PASSKEY")


async def register_passkey(
    services: SignInServices, work: UserWork, user_id: UUID, body: bytes, *, name: str
) -> bool:
    """Of a locked user who was asked for it. False: it is no right answer, or somebody's already;
    the challenge is used up all the same. Raises NotFound where there are no passkeys."""
    party = get_relying_party(services)
    try:
        answer = parse_passkey_response(body)
        asked = await use_challenge(work.tx, answer.challenge, work.now)
        if (
            asked is None
            or not asked.is_live
            or (asked.purpose, asked.user_id) != (REGISTER, user_id)
        ):
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


async def _open_first_session(
    work: UserWork, user_id: UUID, joining: InvitationForm, factor: str
) -> OpenedSession:
    work = replace(work, actor=build_visitor_actor(user_id, joining.visitor.host))
    await save_user_audit(work, "user.join", user_id, after={"factor": factor})
    opened = await open_session(
        work,
        user_id,
        by=OpenedBy.INVITATION,
        visitor=joining.visitor,
        randomness=joining.randomness,
    )
    await create_recovery_codes(work, user_id, opened.secret)
    return opened


async def _find_invited(work: UserWork, link: str) -> UUID | None:
    """None too for whoever is to come by single sign-on."""
    link_hash = hash_secret(link)
    user_id = None if link_hash is None else await find_invited_user(work.tx, link_hash, work.now)
    user = None if user_id is None else await load_user(work.tx, user_id)
    if user is None or not await may_sign_in_locally(work.tx, user):
        return None
    return user.user_id


async def _lock_invited(work: UserWork, link: str) -> UUID | None:
    """Of two that bring one link at once, the second finds it used."""
    user_id = await _find_invited(work, link)
    if user_id is None:
        return None
    await lock_user(work.tx, user_id)
    return await _find_invited(work, link)


async def _use_invitation(work: UserWork, link: str) -> None:
    """Of a locked user: it is good no more."""
    link_hash = hash_secret(link)
    assert link_hash is not None
    taken = await use_invitation(work.tx, link_hash, work.now)
    assert taken is not None, "found under this lock"
