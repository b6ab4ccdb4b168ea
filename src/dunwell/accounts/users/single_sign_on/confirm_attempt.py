"""Confirms a session by a fresh sign-in at the provider, which opens no session.

The provider is asked with `prompt=login` and `max_age`. Whether it did ask its user is seen in the
ID token alone: its `auth_time` must not lie before the attempt.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from dunwell.accounts.users.audit import save_refused_sign_in
from dunwell.accounts.users.confirm_session import record_confirmation
from dunwell.accounts.users.people_work import PeopleWork
from dunwell.accounts.users.reception import Reception
from dunwell.accounts.users.signed_in import SignedIn
from dunwell.accounts.users.single_sign_on.groups import is_strong_enough
from dunwell.accounts.users.single_sign_on.provider import IdentityProvider, Told
from dunwell.accounts.users.single_sign_on.store_identities import Attempt, find_identified
from dunwell.accounts.users.tries import give_back_try, list_started_subjects
from dunwell.accounts.users.visitor import Visitor
from dunwell.platform.security_events import tell_security_event

# By how much the provider's clock may be behind ours.
CLOCK_LEEWAY = timedelta(seconds=60)


class ConfirmationFailure(StrEnum):
    """Why a session was not confirmed. DENIED, DOUBTED and AWAY as of a sign-in."""

    DENIED = "DENIED"
    DOUBTED = "DOUBTED"
    AWAY = "AWAY"
    # The provider did not ask its user again, or does not say when it did.
    NOT_FRESH = "NOT_FRESH"
    # Somebody else signed in there.
    ANOTHER_USER = "ANOTHER_USER"
    # This browser is no longer in the session that was to be confirmed.
    SESSION_OVER = "SESSION_OVER"


@dataclass(frozen=True, slots=True)
class ConfirmationEnded:
    """failure: None if the session is confirmed."""

    failure: ConfirmationFailure | None


async def confirm_by_provider(
    reception: Reception, provider: IdentityProvider, attempt: Attempt, told: Told, *,
    person: SignedIn | None, visitor: Visitor,
) -> ConfirmationEnded:  # fmt: skip
    """person: whose session the browser is in. told: what the provider's checked token says."""
    if person is None or person.session_id != attempt.confirms_session:
        return ConfirmationEnded(ConfirmationFailure.SESSION_OVER)
    async with reception.work(person.actor) as work:
        failure = await _find_failure(work, provider, attempt=attempt, told=told, person=person)
        if failure is None:
            await give_back_try(work.tx, list_started_subjects(work.keys, visitor))
            await record_confirmation(work, person, by="PROVIDER")
        else:
            after = {"provider": provider.provider.name, "reason": str(failure)}
            await save_refused_sign_in(work, person.user_id, visitor.host, after=after)
            tell_security_event("PORTAL_SIGN_IN_FAILED")
    return ConfirmationEnded(failure)


async def _find_failure(
    work: PeopleWork, provider: IdentityProvider, *, attempt: Attempt, told: Told, person: SignedIn
) -> ConfirmationFailure | None:
    if await find_identified(work.tx, told.issuer, told.subject) != person.user_id:
        return ConfirmationFailure.ANOTHER_USER
    at, started_at = told.authenticated_at, attempt.started_at
    is_fresh = (
        at is not None
        and started_at is not None
        and started_at - CLOCK_LEEWAY <= at <= work.now + CLOCK_LEEWAY
    )
    if not is_fresh or not is_strong_enough(provider.provider, told):
        return ConfirmationFailure.NOT_FRESH
    return None
