"""Accept an invitation or reset link: set up a password with an authenticator app, or a passkey, in
one form.

Nothing is stored until the whole form is valid, so a link that was only opened can be used later.
The secret of the app belongs to the browser that opened the link: another browser is shown a
different secret, which becomes useless once the link is used. The user also gets ten recovery codes
and a session.
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
    # The link was used, has expired, or does not exist.
    LINK = "LINK"
    # The code is not the one that the app shows now.
    CODE = "CODE"
    # The response does not match the challenge.
    PASSKEY = "PASSKEY"


@dataclass(frozen=True, slots=True)
class OpenInvitation:
    """The user of a valid link, and the secret for the user's authenticator app in base32."""

    user: User
    app_secret: str


@dataclass(frozen=True, slots=True)
class InvitationForm:
    """The submitted form. `opener` is the secret of the browser that opened the link. `randomness`
    has `session_rules.SECRET_BYTES` bytes for the session."""

    link: str
    opener: str
    visitor: Visitor
    randomness: bytes
    password: str = ""
    code: str = ""
    # The browser's passkey response, instead of password and code.
    passkey: bytes = b""


async def find_invitation(
    services: SignInServices, link: str, opener: str
) -> OpenInvitation | None:
    """Return the link's user, or None if the link was used or has expired. Changes nothing, because
    mail programs open links, too. `opener` is the secret in the browser's cookie."""
    async with services.work(build_visitor_actor(None, "")) as work:
        user_id = await _find_user_of_link(work, link)
        user = None if user_id is None else await load_user(work.tx, user_id)
        if user is None:
            return None
        return OpenInvitation(
            user, encode_secret(derive_invitation_secret(work.keys, user.user_id, link, opener))
        )


async def find_form_faults(
    services: SignInServices, invited: OpenInvitation, form: InvitationForm
) -> Mapping[str, InvitationFault | PasswordFault]:
    """Return the faults of the form by field. The password is checked only if the code is right,
    because the check takes processor time."""
    if find_step(invited.app_secret, form.code, services.now()) is None:
        return {"code": InvitationFault.CODE}
    user, passwords = invited.user, services.passwords
    fault = await passwords.find_fault(form.password, name=user.name, email=user.email)
    return {} if fault is None else {"password": fault}


async def accept_with_app(
    services: SignInServices, form: InvitationForm
) -> OpenedSession | InvitationFault | Mapping[str, InvitationFault | PasswordFault]:
    """Set the password and the app, and open a session. The password is hashed before the
    transaction that uses the link."""
    invited = await find_invitation(services, form.link, form.opener)
    if invited is None:
        return InvitationFault.LINK
    faults = await find_form_faults(services, invited, form)
    if faults:
        return faults
    user = invited.user
    password_hash = await services.passwords.hash(form.password)
    async with services.work(build_visitor_actor(user.user_id, form.visitor.host)) as work:
        if await _lock_user_of_link(work, form.link) is None:
            return InvitationFault.LINK
        await _use_invitation(work, form.link)
        secret = derive_invitation_secret(work.keys, user.user_id, form.link, form.opener)
        step = find_step(invited.app_secret, form.code, work.now) or 0
        factor_id, sealed = work.ids.new(work.now), seal_secret(work.keys, user.user_id, secret)
        await save_unconfirmed_app(
            work.tx, user.user_id, factor_id=factor_id, secret_sealed=sealed, now=work.now
        )
        await save_confirmed_app(
            work.tx, user.user_id, factor_id=factor_id, step=step, now=work.now
        )
        await save_password(work.tx, user.user_id, password_hash, work.now)
        return await _open_session_by_link(work, user.user_id, form, "TOTP")


async def start_passkey_registration(
    services: SignInServices, link: str, challenge: bytes
) -> str | None:
    """Return the browser's options for creating a passkey, or None if the link was used or has
    expired. Raises NotFound if passkeys are not available on this site."""
    party = get_relying_party(services)
    async with services.work(build_visitor_actor(None, "")) as work:
        user_id = await _find_user_of_link(work, link)
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
    services: SignInServices, form: InvitationForm
) -> OpenedSession | InvitationFault:
    """Register a passkey and open a session. The transaction commits even if the passkey is
    refused, so that the challenge is used up."""
    async with services.work(build_visitor_actor(None, form.visitor.host)) as work:
        user_id = await _lock_user_of_link(work, form.link)
        if user_id is None:
            return InvitationFault.LINK
        if not await register_passkey(services, work, user_id, form.passkey, name=""):
            return InvitationFault.PASSKEY
        await _use_invitation(work, form.link)
        await save_joined(work.tx, user_id, work.now)
        return await _open_session_by_link(work, user_id, form, "PASSKEY")


async def register_passkey(
    services: SignInServices, work: UserWork, user_id: UUID, body: bytes, *, name: str
) -> bool:
    """Register the passkey for a locked user. Return False if the response is wrong or the passkey
    is already registered; the challenge is used up in any case. Raises NotFound if passkeys are
    unavailable."""
    party = get_relying_party(services)
    try:
        response = parse_passkey_response(body)
        challenge = await use_challenge(work.tx, response.challenge, work.now)
        if (
            challenge is None
            or not challenge.is_live
            or (challenge.purpose, challenge.user_id) != (REGISTER, user_id)
        ):
            return False
        registered = check_registration(party, response, response.challenge)
    except PasskeyRefused:
        return False
    passkey = NewPasskey(
        user_id,
        name,
        credential_id=registered.credential_id,
        public_key=registered.public_key,
        sign_count=registered.sign_count,
    )
    return await save_new_passkey(work.tx, work.ids.new(work.now), passkey, work.now)


async def _open_session_by_link(
    work: UserWork, user_id: UUID, form: InvitationForm, factor: str
) -> OpenedSession:
    """Open a session and create recovery codes. The audit log records "user.join" for a reset link,
    too."""
    work = replace(work, actor=build_visitor_actor(user_id, form.visitor.host))
    await save_user_audit(work, "user.join", user_id, after={"factor": factor})
    opened = await open_session(
        work,
        user_id,
        by=OpenedBy.INVITATION,
        visitor=form.visitor,
        randomness=form.randomness,
    )
    await create_recovery_codes(work, user_id, opened.secret)
    return opened


async def _find_user_of_link(work: UserWork, link: str) -> UUID | None:
    """Return the link's user. Return None if the link is not valid or the user must use single
    sign-on instead of a link."""
    link_hash = hash_secret(link)
    user_id = None if link_hash is None else await find_invited_user(work.tx, link_hash, work.now)
    user = None if user_id is None else await load_user(work.tx, user_id)
    if user is None or not await may_sign_in_locally(work.tx, user):
        return None
    return user.user_id


async def _lock_user_of_link(work: UserWork, link: str) -> UUID | None:
    """Lock the link's user. Of two concurrent requests with one link, the second finds it used."""
    user_id = await _find_user_of_link(work, link)
    if user_id is None:
        return None
    await lock_user(work.tx, user_id)
    return await _find_user_of_link(work, link)


async def _use_invitation(work: UserWork, link: str) -> None:
    """Mark the link of a locked user as used."""
    link_hash = hash_secret(link)
    assert link_hash is not None
    user_id = await use_invitation(work.tx, link_hash, work.now)
    assert user_id is not None, "the link was found valid under this lock"
