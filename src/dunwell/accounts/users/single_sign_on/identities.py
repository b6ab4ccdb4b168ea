"""Users of identity providers: who is admitted with which roles, linking an existing user, and
logout."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from hashlib import sha256
from uuid import UUID

from dunwell.accounts.installation.single_sign_on_settings import (
    GroupRule,
    IdentityProviderSettings,
)
from dunwell.accounts.installation.store import load_installation
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.rights import Right, Role
from dunwell.accounts.users.factors.store import delete_all_factors
from dunwell.accounts.users.manage_users import describe_roles, lock_active_user
from dunwell.accounts.users.passwords import SignInServices
from dunwell.accounts.users.sessions.sessions import (
    OpenedBy,
    OpenedSession,
    end_all_sessions,
    open_session,
)
from dunwell.accounts.users.sign_in.store import delete_invitations, delete_pending_sign_ins
from dunwell.accounts.users.single_sign_on.provider import IdentityClaims, LogoutToken
from dunwell.accounts.users.single_sign_on.store import (
    NewLogout,
    assign_identity,
    find_user_by_identity,
    is_logged_out,
    load_merchant_ids,
    lock_issuer,
    save_email,
    save_identity,
    save_identity_seen,
    save_logout,
    save_provider_session_ends,
)
from dunwell.accounts.users.store import (
    delete_password,
    lock_user,
    save_joined,
    save_new_user,
    save_roles,
)
from dunwell.accounts.users.user import Language, NewUser, User, UserRoles
from dunwell.accounts.users.user_work import (
    UserWork,
    Visitor,
    build_visitor_actor,
    save_refused_sign_in,
    save_user_audit,
)
from dunwell.platform.errors import Fault, InvalidState, ValidationError
from dunwell.platform.security_events import log_security_event
from dunwell.platform.text.texts import is_email_address

# If several roles apply, the first one in this order is used: for all merchants, and for one
# merchant.
_GLOBAL_PRECEDENCE = (Role.ADMIN, Role.OPERATOR, Role.AUDITOR)
_MERCHANT_PRECEDENCE = (Role.OPERATOR, Role.MERCHANT_USER, Role.AUDITOR)


def choose_rules(
    rules: Sequence[GroupRule], provider: str, groups: frozenset[str]
) -> Sequence[GroupRule]:
    """Return the group rules that apply. Groups are compared byte by byte."""
    return [rule for rule in rules if rule.group in groups and rule.provider in (None, provider)]


def decide_roles(rules: Sequence[GroupRule], merchants: Mapping[str, int]) -> UserRoles:
    """Return the roles that the applicable rules give. `merchants` maps keys to ids; unknown keys
    give nothing."""
    everywhere = {Role(rule.role) for rule in rules if rule.merchants is None}
    by_merchant: dict[int, set[Role]] = {}
    for rule in rules:
        for key in rule.merchants or ():
            if key in merchants:
                by_merchant.setdefault(merchants[key], set()).add(Role(rule.role))
    return UserRoles(
        _choose_first(_GLOBAL_PRECEDENCE, everywhere),
        {
            merchant_id: role
            for merchant_id, roles in sorted(by_merchant.items())
            if (role := _choose_first(_MERCHANT_PRECEDENCE, roles)) is not None
        },
    )


def has_no_role(roles: UserRoles) -> bool:
    return roles.global_role is None and not roles.memberships


def is_strong_enough(provider: IdentityProviderSettings, claims: IdentityClaims) -> bool:
    """Return whether the provider's sign-in was as strong as the installation file requires."""
    has_required_class = not provider.acr_values or claims.acr in provider.acr_values
    return has_required_class and claims.amr.issuperset(provider.amr_values)


def _choose_first(order: Sequence[Role], among: set[Role]) -> Role | None:
    return next((role for role in order if role in among), None)


class RefusalReason(StrEnum):
    """Why a user of the provider is not admitted."""

    # None of the user's groups gives a role.
    NO_GROUP = "NO_GROUP"
    # The sign-in at the provider was not strong enough.
    WEAK = "WEAK"
    # The user was deactivated.
    ENDED = "ENDED"
    # The provider states no e-mail address.
    NO_EMAIL = "NO_EMAIL"
    # A user with this address exists who is not linked to the provider.
    EMAIL_TAKEN = "EMAIL_TAKEN"
    # The user has signed out at the provider in the meantime.
    OVER = "OVER"


@dataclass(frozen=True, slots=True)
class SignOnRefused:
    """The user is not admitted. `claims` has the identity, which is shown only to that person."""

    reason: RefusalReason
    claims: IdentityClaims


async def admit_user(
    work: UserWork,
    provider: IdentityProviderSettings,
    claims: IdentityClaims,
    visitor: Visitor,
    randomness: bytes,
) -> OpenedSession | SignOnRefused:
    """Admit the user and open a session, by the current group rules. The transaction commits
    whatever is returned."""
    await lock_issuer(work.tx, claims.issuer)
    user_id = await find_user_by_identity(work.tx, claims.issuer, claims.subject)
    user = None if user_id is None else await lock_user(work.tx, user_id)
    work = replace(work, actor=build_visitor_actor(user_id, visitor.host))
    rules = await _list_rules(work, provider, claims)
    roles = decide_roles(rules, await load_merchant_ids(work.tx, _list_merchant_keys(rules)))
    reason = await _find_refusal_reason(work, provider, claims=claims, user=user, roles=roles)
    if reason is not None:
        return await _refuse(
            work, provider, claims=claims, user=user, reason=reason, visitor=visitor
        )
    if user is None:
        outcome = await _create_user(work, provider, claims, roles)
        if isinstance(outcome, RefusalReason):
            return await _refuse(
                work, provider, claims=claims, user=None, reason=outcome, visitor=visitor
            )
        user_id = outcome
    else:
        user_id = user.user_id
        await _update_user(work, user, claims, roles)
    await save_identity_seen(work.tx, (claims.issuer, claims.subject), provider.name, work.now)
    return await open_session(
        work, user_id, by=OpenedBy.PROVIDER, visitor=visitor, randomness=randomness,
        provider_session=hash_provider_session(claims.issuer, claims.session),
    )  # fmt: skip


def hash_provider_session(issuer: str, session: str | None) -> bytes | None:
    return None if session is None else sha256(f"{issuer}\0{session}".encode()).digest()


def hash_subject(subject: str) -> bytes:
    return sha256(subject.encode()).digest()


async def _list_rules(
    work: UserWork, provider: IdentityProviderSettings, claims: IdentityClaims
) -> list[GroupRule]:
    """Return the applicable rules; none if the installation file no longer has the provider with
    this issuer."""
    sign_in = (await load_installation(work.tx)).installation.sign_in
    known = None if sign_in is None else sign_in.find(provider.name)
    if sign_in is None or known is None or known.issuer != claims.issuer:
        return []
    return [*choose_rules(sign_in.groups, provider.name, claims.groups)]


def _list_merchant_keys(rules: list[GroupRule]) -> list[str]:
    return [key for rule in rules for key in rule.merchants or ()]


async def _find_refusal_reason(
    work: UserWork,
    provider: IdentityProviderSettings,
    claims: IdentityClaims,
    user: User | None,
    roles: UserRoles,
) -> RefusalReason | None:
    session_hash = hash_provider_session(claims.issuer, claims.session)
    subject_hash = hash_subject(claims.subject)
    if await is_logged_out(
        work.tx,
        claims.issuer,
        session_hash=session_hash,
        subject_hash=subject_hash,
        since=claims.issued_at,
    ):
        return RefusalReason.OVER
    if not is_strong_enough(provider, claims):
        return RefusalReason.WEAK
    if user is not None and user.ended_at is not None:
        return RefusalReason.ENDED
    if has_no_role(roles):
        return RefusalReason.NO_GROUP
    if user is None and not is_email_address(claims.email):
        return RefusalReason.NO_EMAIL
    return None


async def _refuse(
    work: UserWork, provider: IdentityProviderSettings, claims: IdentityClaims, user: User | None,
    reason: RefusalReason,
    visitor: Visitor,
) -> SignOnRefused:  # fmt: skip
    """Record the refusal. A user without a group loses all roles and sessions at once."""
    user_id = None if user is None else user.user_id
    if user is not None and reason is RefusalReason.NO_GROUP:
        await _save_roles(work, user, UserRoles())
        ended = await end_all_sessions(work.tx, user.user_id, work.now)
        after = {"sessionsEnded": ended}
        await save_user_audit(work, "session.end_without_group", user.user_id, after=after)
    refused_because = {"provider": provider.name, "reason": str(reason)}
    await save_refused_sign_in(work, user_id, visitor.host, after=refused_because)
    log_security_event("PORTAL_SIGN_IN_FAILED")
    return SignOnRefused(reason, claims)


async def _create_user(
    work: UserWork, provider: IdentityProviderSettings, claims: IdentityClaims, roles: UserRoles
) -> UUID | RefusalReason:
    user_id = work.ids.new(work.now)
    language: Language = "de" if claims.locale.lower().startswith("de") else "en"
    new = NewUser(claims.email, claims.name or claims.email, language, roles)
    if not await save_new_user(work.tx, user_id, new, work.now):
        return RefusalReason.EMAIL_TAKEN
    await save_identity(
        work.tx,
        user_id,
        identity=(claims.issuer, claims.subject),
        provider=provider.name,
        now=work.now,
    )
    await save_joined(work.tx, user_id, work.now)
    after = {"provider": provider.name, **describe_roles(roles)}
    await save_user_audit(work, "user.join_by_provider", user_id, after=after)
    return user_id


async def _update_user(
    work: UserWork, user: User, claims: IdentityClaims, roles: UserRoles
) -> None:
    """Save the roles and, if it is valid, the e-mail address that the provider states. An invited
    user has joined from then on."""
    if is_email_address(claims.email):
        await save_email(work.tx, user.user_id, claims.email)
    await _save_roles(work, user, roles)
    if user.joined_at is None:
        await save_joined(work.tx, user.user_id, work.now)


async def _save_roles(work: UserWork, user: User, roles: UserRoles) -> None:
    if roles == user.roles:
        return
    await save_roles(work.tx, user.user_id, roles, user.revision)
    await save_user_audit(
        work, "user.change_by_groups", user.user_id,
        before=describe_roles(user.roles), after=describe_roles(roles),
    )  # fmt: skip


async def link_identity(work: UserWork, user_id: UUID, provider: str, subject: str) -> None:
    """Link the user to an identity of the provider. The password, the second factors and the
    invitation links are deleted and all sessions end; the roles stay until the next sign-in.

    Raises InsufficientScope, NotFound, ValidationError, InvalidState.
    """
    work.require(Right.PEOPLE)
    user = await lock_active_user(work, user_id)
    sign_in = (await load_installation(work.tx)).installation.sign_in
    known = None if sign_in is None else sign_in.find(provider)
    if known is None:
        message = f"The installation file names no provider {provider}."
        raise ValidationError([Fault("/provider", message, "INVALID")])
    if user.is_break_glass:
        raise InvalidState(
            (
                "An admin with emergency access signs in without single sign-on. Make the user an "
                "ordinary admin first."
            ),
            state="BREAK_GLASS",
        )
    if user.provider is not None or not await assign_identity(
        work.tx, user_id, identity=(known.issuer, subject), provider=provider, now=work.now
    ):
        raise InvalidState(
            "The user or the identity is already linked. See: dunwell user list", state="LINKED"
        )
    await delete_password(work.tx, user_id)
    await delete_all_factors(work.tx, user_id)
    await delete_pending_sign_ins(work.tx, user_id)
    await delete_invitations(work.tx, user_id)
    ended = await end_all_sessions(work.tx, user_id, work.now)
    after = {"provider": provider, "sessionsEnded": ended}
    await save_user_audit(work, "user.link", user_id, after=after)


# How long logouts are stored: longer than a logout token or a sign-in attempt is valid.
LOGOUT_KEPT = timedelta(hours=1)


async def process_logout(
    services: SignInServices, provider: str, logout_token: LogoutToken
) -> bool:
    """End the sessions that the logout token names. Return False if the token was
    processed before.
    """
    session_hash = hash_provider_session(logout_token.issuer, logout_token.session)
    async with services.work(SYSTEM) as work:
        await lock_issuer(work.tx, logout_token.issuer)
        logout = NewLogout(
            issuer=logout_token.issuer,
            token_hash=sha256(logout_token.token_id.encode()).digest(),
            session_hash=session_hash,
            subject_hash=None
            if logout_token.subject is None
            else hash_subject(logout_token.subject),
            issued_at=logout_token.issued_at,
            expires_at=work.now + LOGOUT_KEPT,
        )
        if not await save_logout(work.tx, logout):
            return False
        ended = await save_provider_session_ends(
            work.tx,
            logout_token.issuer,
            session_hash=session_hash,
            subject=logout_token.subject,
            now=work.now,
        )
        for user_id in sorted(set(ended)):
            after = {"provider": provider, "sessionsEnded": ended.count(user_id)}
            await save_user_audit(work, "session.end_by_provider", user_id, after=after)
    return True
