"""Users of identity providers: whom a provider's groups admit, with which roles, and what happens
at logout.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from hashlib import sha256
from uuid import UUID

from dunwell.accounts.installation.single_sign_on_settings import GroupRule, Provider
from dunwell.accounts.installation.store import load_installation
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.rights import Right, Role
from dunwell.accounts.users.factors.store import remove_all_factors
from dunwell.accounts.users.manage_users import describe_place, require_user
from dunwell.accounts.users.passwords import SignInServices
from dunwell.accounts.users.sessions.sessions import (
    OpenedBy,
    OpenedSession,
    end_all_sessions,
    open_session,
)
from dunwell.accounts.users.sign_in.store import remove_entries_of, remove_invitations
from dunwell.accounts.users.single_sign_on.provider import IdentityClaims, ToldLogout
from dunwell.accounts.users.single_sign_on.store import (
    NewLogout,
    assign_identity,
    find_identified,
    find_merchants,
    is_logged_out,
    lock_issuer,
    save_email,
    save_identity,
    save_logout,
    save_provider_end,
    save_seen,
)
from dunwell.accounts.users.store import (
    lock_user,
    remove_password,
    save_joined,
    save_new_user,
    save_place,
)
from dunwell.accounts.users.user import Language, NewUser, User, UserRoles
from dunwell.accounts.users.user_work import (
    UserWork,
    Visitor,
    save_people_audit,
    save_refused_sign_in,
    visiting,
)
from dunwell.platform.errors import Fault, InvalidState, ValidationError
from dunwell.platform.security_events import log_security_event
from dunwell.platform.text.texts import is_email_address

# Where several apply, the first: over all merchants, and at one.
_EVERYWHERE = (Role.ADMIN, Role.OPERATOR, Role.AUDITOR)
_AT_MERCHANT = (Role.OPERATOR, Role.MERCHANT_USER, Role.AUDITOR)


def choose_rules(
    rules: Sequence[GroupRule], provider: str, groups: frozenset[str]
) -> Sequence[GroupRule]:
    """Those that apply. Groups are compared byte by byte."""
    return [rule for rule in rules if rule.group in groups and rule.provider in (None, provider)]


def decide_place(rules: Sequence[GroupRule], merchants: Mapping[str, int]) -> UserRoles:
    """rules: those that apply. merchants: ids by key; one that is not there gives nothing."""
    everywhere = {Role(rule.role) for rule in rules if rule.merchants is None}
    at: dict[int, set[Role]] = {}
    for rule in rules:
        for key in rule.merchants or ():
            if key in merchants:
                at.setdefault(merchants[key], set()).add(Role(rule.role))
    return UserRoles(
        _choose_first(_EVERYWHERE, everywhere),
        {
            merchant_id: role
            for merchant_id, roles in sorted(at.items())
            if (role := _choose_first(_AT_MERCHANT, roles)) is not None
        },
    )


def is_nothing(place: UserRoles) -> bool:
    return place.everywhere is None and not place.memberships


def is_strong_enough(provider: Provider, told: IdentityClaims) -> bool:
    """Whether the sign-in there was as strong as the installation file asks."""
    is_known = not provider.acr_values or told.acr in provider.acr_values
    return is_known and told.amr.issuperset(provider.amr_values)


def _choose_first(order: Sequence[Role], among: set[Role]) -> Role | None:
    return next((role for role in order if role in among), None)


class RefusalReason(StrEnum):
    """Why somebody whom the provider knows is not let in."""

    # None of their groups makes them anything here.
    NO_GROUP = "NO_GROUP"
    # Not as strongly signed in there as is asked for.
    WEAK = "WEAK"
    # An admin ended them here.
    ENDED = "ENDED"
    # The provider tells no e-mail address.
    NO_EMAIL = "NO_EMAIL"
    # A user has this address whom the provider does not know.
    EMAIL_TAKEN = "EMAIL_TAKEN"
    # They signed out there meanwhile.
    OVER = "OVER"


@dataclass(frozen=True, slots=True)
class Unwelcome:
    """`told`: who it is, to be shown to them alone."""

    reason: RefusalReason
    told: IdentityClaims


async def admit_user(
    work: UserWork, provider: Provider, told: IdentityClaims, visitor: Visitor, randomness: bytes
) -> OpenedSession | Unwelcome:
    """One transaction, which is kept whatever it answers. The rules are those of this moment."""
    await lock_issuer(work.tx, told.issuer)
    user_id = await find_identified(work.tx, told.issuer, told.subject)
    user = None if user_id is None else await lock_user(work.tx, user_id)
    work = replace(work, actor=visiting(user_id, visitor.host))
    rules = await _find_rules(work, provider, told)
    place = decide_place(rules, await find_merchants(work.tx, _list_merchants(rules)))
    reason = await _find_reason(work, provider, told=told, user=user, place=place)
    if reason is not None:
        return await _refuse(work, provider, told=told, user=user, reason=reason, visitor=visitor)
    if user is None:
        outcome = await _make_user(work, provider, told, place)
        if isinstance(outcome, RefusalReason):
            return await _refuse(
                work, provider, told=told, user=None, reason=outcome, visitor=visitor
            )
        user_id = outcome
    else:
        user_id = user.user_id
        await _change(work, user, told, place)
    await save_seen(work.tx, (told.issuer, told.subject), provider.name, work.now)
    return await open_session(
        work, user_id, by=OpenedBy.PROVIDER, visitor=visitor, randomness=randomness,
        provider_session=hash_provider_session(told.issuer, told.session),
    )  # fmt: skip


def hash_provider_session(issuer: str, session: str | None) -> bytes | None:
    return None if session is None else sha256(f"{issuer}\0{session}".encode()).digest()


def hash_subject(subject: str) -> bytes:
    return sha256(subject.encode()).digest()


async def _find_rules(work: UserWork, provider: Provider, told: IdentityClaims) -> list[GroupRule]:
    """Those that apply; none once the file knows no such provider."""
    sign_in = (await load_installation(work.tx)).installation.sign_in
    known = None if sign_in is None else sign_in.find(provider.name)
    if sign_in is None or known is None or known.issuer != told.issuer:
        return []
    return [*choose_rules(sign_in.groups, provider.name, told.groups)]


def _list_merchants(rules: list[GroupRule]) -> list[str]:
    return [key for rule in rules for key in rule.merchants or ()]


async def _find_reason(
    work: UserWork, provider: Provider, told: IdentityClaims, user: User | None, place: UserRoles
) -> RefusalReason | None:
    session_hash = hash_provider_session(told.issuer, told.session)
    subject_hash = hash_subject(told.subject)
    if await is_logged_out(
        work.tx,
        told.issuer,
        session_hash=session_hash,
        subject_hash=subject_hash,
        since=told.issued_at,
    ):
        return RefusalReason.OVER
    if not is_strong_enough(provider, told):
        return RefusalReason.WEAK
    if user is not None and user.ended_at is not None:
        return RefusalReason.ENDED
    if is_nothing(place):
        return RefusalReason.NO_GROUP
    if user is None and not is_email_address(told.email):
        return RefusalReason.NO_EMAIL
    return None


async def _refuse(
    work: UserWork, provider: Provider, told: IdentityClaims, user: User | None,
    reason: RefusalReason,
    visitor: Visitor,
) -> Unwelcome:  # fmt: skip
    """Whose groups are gone is nothing here any more, at once."""
    user_id = None if user is None else user.user_id
    if user is not None and reason is RefusalReason.NO_GROUP:
        await _save_place(work, user, UserRoles())
        ended = await end_all_sessions(work.tx, user.user_id, work.now)
        after = {"sessionsEnded": ended}
        await save_people_audit(work, "session.end_without_group", user.user_id, after=after)
    told_why = {"provider": provider.name, "reason": str(reason)}
    await save_refused_sign_in(work, user_id, visitor.host, after=told_why)
    log_security_event("PORTAL_SIGN_IN_FAILED")
    return Unwelcome(reason, told)


async def _make_user(
    work: UserWork, provider: Provider, told: IdentityClaims, place: UserRoles
) -> UUID | RefusalReason:
    user_id = work.ids.new(work.now)
    language: Language = "de" if told.locale.lower().startswith("de") else "en"
    new = NewUser(told.email, told.name or told.email, language, place)
    if not await save_new_user(work.tx, user_id, new, work.now):
        return RefusalReason.EMAIL_TAKEN
    await save_identity(
        work.tx, user_id, who=(told.issuer, told.subject), provider=provider.name, now=work.now
    )
    await save_joined(work.tx, user_id, work.now)
    after = {"provider": provider.name, **describe_place(place)}
    await save_people_audit(work, "user.join_by_provider", user_id, after=after)
    return user_id


async def _change(work: UserWork, user: User, told: IdentityClaims, place: UserRoles) -> None:
    """What they are, and how they are reached, as the provider has it."""
    if is_email_address(told.email):
        await save_email(work.tx, user.user_id, told.email)
    await _save_place(work, user, place)
    if user.joined_at is None:
        await save_joined(work.tx, user.user_id, work.now)


async def _save_place(work: UserWork, user: User, place: UserRoles) -> None:
    if place == user.place:
        return
    await save_place(work.tx, user.user_id, place, user.revision)
    await save_people_audit(
        work, "user.change_by_groups", user.user_id,
        before=describe_place(user.place), after=describe_place(place),
    )  # fmt: skip


async def link_identity(work: UserWork, user_id: UUID, provider: str, subject: str) -> None:
    """Password, second factors, links and sessions end at once; what they are stays until they
    sign in. Raises InsufficientScope, NotFound, ValidationError, InvalidState."""
    work.need(Right.PEOPLE)
    user = await require_user(work, user_id)
    sign_in = (await load_installation(work.tx)).installation.sign_in
    known = None if sign_in is None else sign_in.find(provider)
    if known is None:
        message = f"The installation file names no provider {provider}."
        raise ValidationError([Fault("/provider", message, "INVALID")])
    if user.is_break_glass:
        raise InvalidState(
            "A break-glass admin signs in without single sign-on. Take that back first.",
            state="BREAK_GLASS",
        )
    if user.provider is not None or not await assign_identity(
        work.tx, user_id, who=(known.issuer, subject), provider=provider, now=work.now
    ):
        raise InvalidState(
            "One of the two is linked already. Look at: dunwell user list", state="LINKED"
        )
    await remove_password(work.tx, user_id)
    await remove_all_factors(work.tx, user_id)
    await remove_entries_of(work.tx, user_id)
    await remove_invitations(work.tx, user_id)
    ended = await end_all_sessions(work.tx, user_id, work.now)
    after = {"provider": provider, "sessionsEnded": ended}
    await save_people_audit(work, "user.link", user_id, after=after)


# Longer than any token of a logout, and any attempt, is good.
LOGOUT_KEPT = timedelta(hours=1)


async def process_logout(reception: SignInServices, provider: str, told: ToldLogout) -> bool:
    """False: this token was taken before."""
    session_hash = hash_provider_session(told.issuer, told.session)
    async with reception.work(SYSTEM) as work:
        await lock_issuer(work.tx, told.issuer)
        logout = NewLogout(
            issuer=told.issuer,
            token_hash=sha256(told.token_id.encode()).digest(),
            session_hash=session_hash,
            subject_hash=None if told.subject is None else hash_subject(told.subject),
            issued_at=told.issued_at,
            expires_at=work.now + LOGOUT_KEPT,
        )
        if not await save_logout(work.tx, logout):
            return False
        ended = await save_provider_end(
            work.tx, told.issuer, session_hash=session_hash, subject=told.subject, now=work.now
        )
        for user_id in sorted(set(ended)):
            after = {"provider": provider, "sessionsEnded": ended.count(user_id)}
            await save_people_audit(work, "session.end_by_provider", user_id, after=after)
    return True
