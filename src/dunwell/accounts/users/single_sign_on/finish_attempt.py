"""Takes somebody back from a provider: the attempt once, the code once, and a session begins.

1. The state is the browser's own, and its attempt is taken. 2. The provider is asked who it is,
without a transaction; its word is checked by its adapter. 3. `let_in` decides what they are here.
"""

from dataclasses import dataclass
from enum import StrEnum

from dunwell.accounts.users.audit import save_refused_sign_in, visiting
from dunwell.accounts.users.open_session import OpenedSession
from dunwell.accounts.users.reception import Reception
from dunwell.accounts.users.session_rules import hash_secret
from dunwell.accounts.users.sessions import find_session
from dunwell.accounts.users.single_sign_on.confirm_attempt import (
    ConfirmationEnded,
    ConfirmationFailure,
    confirm_by_provider,
)
from dunwell.accounts.users.single_sign_on.let_in import Unwelcome, let_in
from dunwell.accounts.users.single_sign_on.provider import (
    AttemptSecrets,
    Away,
    Code,
    Doubt,
    IdentityProvider,
    NotTaken,
    Told,
)
from dunwell.accounts.users.single_sign_on.start_attempt import build_return_address, derive_secrets
from dunwell.accounts.users.single_sign_on.store_identities import Attempt, take_attempt
from dunwell.accounts.users.tries import (
    MOST_LOST,
    give_back_try,
    list_lost_subjects,
    list_started_subjects,
    take_try,
)
from dunwell.accounts.users.visitor import Visitor
from dunwell.platform.security_events import tell_security_event


class Failure(StrEnum):
    """Why nobody is signed in, where it is not yet known who it is."""

    # No attempt of this browser's, or one too long ago.
    GONE = "GONE"
    # They said no at the provider, or it did.
    DENIED = "DENIED"
    # The provider's word was not taken.
    DOUBTED = "DOUBTED"
    AWAY = "AWAY"


@dataclass(frozen=True, slots=True)
class Returned:
    """What a browser brings back. `secret`: of its cookie; the rest is the address's, "" or none
    where it was not there. randomness: SECRET_BYTES, for the session."""

    secret: str
    state: str
    code: str
    error: str
    issuer: str | None
    visitor: Visitor
    randomness: bytes
    # The secret of the session that the browser is in, for an attempt that confirms it.
    session: str = ""


@dataclass(frozen=True, slots=True)
class CameIn:
    opened: OpenedSession
    next_page: str


async def finish_attempt(
    reception: Reception, provider: IdentityProvider, returned: Returned
) -> CameIn | Unwelcome | Failure | ConfirmationEnded:
    resources, name = reception.resources, provider.provider.name
    secrets = derive_secrets(resources.keys, returned.secret)
    attempt = await _take(reception, name, returned, secrets)
    if attempt is None:
        return await _refuse_lost(reception, name, returned)
    told = await _redeem(reception, provider, returned, secrets)
    visitor = returned.visitor
    if attempt.confirms_session is not None:
        if isinstance(told, Failure):
            return ConfirmationEnded(ConfirmationFailure(str(told)))
        async with resources.database.connection() as connection:
            person = await find_session(connection, returned.session, now=reception.now())
        return await confirm_by_provider(
            reception, provider, attempt=attempt, told=told, person=person, visitor=visitor
        )
    if isinstance(told, Failure):
        return told
    async with reception.work(visiting(None, visitor.host)) as work:
        outcome = await let_in(
            work, provider.provider, told=told, visitor=visitor, randomness=returned.randomness
        )
        if isinstance(outcome, Unwelcome):
            return outcome
        await give_back_try(work.tx, list_started_subjects(work.keys, visitor))
        return CameIn(outcome, attempt.next_page)


async def _redeem(
    reception: Reception, provider: IdentityProvider, returned: Returned, secrets: AttemptSecrets
) -> Told | Failure:
    """Ask the provider who it is. Failure: DENIED, DOUBTED or AWAY."""
    resources, name = reception.resources, provider.provider.name
    if returned.error or not returned.code:
        return await _refuse(
            reception, name, returned=returned, failure=Failure.DENIED, reason="DENIED"
        )
    code = Code(returned.code, returned.issuer, secrets, build_return_address(resources, name))
    told = await provider.redeem(code, reception.now())
    match told:
        case Away():
            return Failure.AWAY
        case NotTaken(doubt):
            return await _refuse(
                reception, name, returned=returned, failure=Failure.DOUBTED, reason=doubt
            )
    return told


async def _take(
    reception: Reception, provider: str, returned: Returned, secrets: AttemptSecrets
) -> Attempt | None:
    """A state of somebody else's uses nothing up."""
    attempt_hash = hash_secret(returned.secret)
    if attempt_hash is None or not secrets.is_state(returned.state):
        return None
    async with reception.resources.database.transaction() as tx:
        attempt = await take_attempt(tx, attempt_hash, provider, reception.now())
    return attempt if attempt is not None and attempt.is_live else None


async def _refuse_lost(reception: Reception, provider: str, returned: Returned) -> Failure:
    """No attempt stands behind it, so what it leaves in the audit log is counted."""
    async with reception.resources.database.transaction() as tx:
        subjects = list_lost_subjects(reception.resources.keys, returned.visitor)
        wait = await take_try(tx, subjects, reception.now(), MOST_LOST)
    if wait is not None:
        tell_security_event("PORTAL_LOCKED")
        return Failure.GONE
    return await _refuse(
        reception, provider, returned=returned, failure=Failure.GONE, reason="STATE"
    )


async def _refuse(
    reception: Reception, provider: str, returned: Returned, failure: Failure, reason: str
) -> Failure:
    host = returned.visitor.host
    async with reception.work(visiting(None, host)) as work:
        after = {"provider": provider, "reason": str(reason)}
        await save_refused_sign_in(work, None, host, after=after)
    if reason in set(Doubt) or failure is Failure.GONE:
        tell_security_event("PORTAL_SIGN_IN_FAILED")
    return failure
