"""Limits on wrong passwords per network and user, and on wrong codes of the second factor."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from dunwell.accounts.installation.alerts.alert import AlertKind
from dunwell.accounts.installation.alerts.store import raise_alert
from dunwell.accounts.users.factors.store import (
    count_wrong_codes,
    save_second_factor_lock,
    save_wrong_code,
)
from dunwell.accounts.users.sessions.session_rules import REMEMBERED
from dunwell.accounts.users.sessions.sessions import find_known_browser
from dunwell.accounts.users.user import User, fold_email
from dunwell.accounts.users.user_mails import UserMail, plan_user_mail
from dunwell.accounts.users.user_work import UserWork, Visitor, save_user_audit
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.attempts import (
    Attempts,
    count_attempt,
    load_attempts,
    uncount_attempt,
)
from dunwell.platform.database.database import Connection
from dunwell.platform.http.addresses import get_visitor_network
from dunwell.platform.security_events import log_security_event

MAX_ATTEMPTS = 10
WINDOW = timedelta(minutes=15)
_USER_PURPOSE, _NETWORK_PURPOSE = "portal-attempts-user", "portal-attempts-visitor"
_BROWSER_PURPOSE, _SIGNED_IN_PURPOSE = "portal-attempts-device", "portal-attempts-signed-in"
# The limit of passkey requests from one network in a window. The user is not known yet.
MAX_PASSKEY_REQUESTS = 30
_PASSKEY_REQUEST_PURPOSE = "portal-asked-visitor"
# The limit of sign-ons from one network that were started within a window and have not returned
# from the identity provider. It must allow for a whole office that signs in at the same time.
MAX_SIGN_ONS_STARTED = 300
_SIGN_ON_PURPOSE = "portal-started-visitor"
# The limit of recorded returns from a provider, from one network in a window, that match no
# attempt. Anyone can call that address, or make others' browsers call it.
MAX_UNMATCHED_RETURNS = 30
_UNMATCHED_RETURN_PURPOSE = "portal-lost-visitor"


async def list_attempt_subjects(
    tx: Connection, keys: KeyRing, visitor: Visitor, email: str, now: datetime
) -> Sequence[bytes]:
    """Return the keys under which an attempt to sign in as this user is counted. A known browser
    has its own key."""
    device_hash = await find_known_browser(
        tx, keys, visitor.browser_cookie, email, since=now - REMEMBERED
    )
    if device_hash is not None:
        return [keys.digest(_BROWSER_PURPOSE, device_hash, min(keys.versions))]
    return list_unknown_browser_subjects(keys, visitor, email)


def list_signed_in_subjects(keys: KeyRing, user_id: UUID) -> Sequence[bytes]:
    """Return the key under which an attempt of a signed-in user is counted."""
    return [keys.digest(_SIGNED_IN_PURPOSE, user_id.bytes, min(keys.versions))]


def list_unknown_browser_subjects(
    keys: KeyRing, visitor: Visitor, email: str | None
) -> Sequence[bytes]:
    """Return the keys under which an attempt from an unknown browser is counted. `email` is None
    while the user is not known."""
    # The oldest version of the secret key, so that attempts keep counting during a key rotation.
    version = min(keys.versions)
    subjects = [keys.digest(_NETWORK_PURPOSE, get_visitor_network(visitor.host), version)]
    if email is not None:
        subjects.append(keys.digest(_USER_PURPOSE, fold_email(email).encode(), version))
    return sorted(subjects)


def list_passkey_request_subjects(keys: KeyRing, visitor: Visitor) -> Sequence[bytes]:
    """Return the key under which passkey requests are counted."""
    return [
        keys.digest(_PASSKEY_REQUEST_PURPOSE, get_visitor_network(visitor.host), min(keys.versions))
    ]


def list_sign_on_subjects(keys: KeyRing, visitor: Visitor) -> Sequence[bytes]:
    """Return the key under which started single sign-ons are counted."""
    return [keys.digest(_SIGN_ON_PURPOSE, get_visitor_network(visitor.host), min(keys.versions))]


def list_unmatched_return_subjects(keys: KeyRing, visitor: Visitor) -> Sequence[bytes]:
    """Return the key under which returns without an attempt are counted."""
    return [
        keys.digest(
            _UNMATCHED_RETURN_PURPOSE, get_visitor_network(visitor.host), min(keys.versions)
        )
    ]


async def count_sign_in_attempt(
    tx: Connection, subjects: Sequence[bytes], now: datetime, limit: int = MAX_ATTEMPTS
) -> int | None:
    """Count the attempt and return None, or return the seconds until the next attempt
    is allowed.
    """
    failures_by_subject: list[tuple[bytes, Attempts | None]] = []
    wait = 0.0
    for subject in subjects:
        failures = await load_attempts(tx, subject)
        if failures is not None and failures.first_at + WINDOW <= now:
            failures = None
        if failures is not None and failures.count >= limit:
            wait = max(wait, (failures.first_at + WINDOW - now).total_seconds())
        failures_by_subject.append((subject, failures))
    if wait:
        return math.ceil(wait)
    for subject, failures in failures_by_subject:
        await count_attempt(tx, subject, failures, now)
    return None


async def uncount_sign_in_attempt(tx: Connection, subjects: Sequence[bytes]) -> None:
    """Remove the attempt from the count, because it succeeded."""
    for subject in subjects:
        await uncount_attempt(tx, subject)


# Three of a million possible codes are valid at a time, so ten guesses succeed once in 33,000
# cases.
MAX_WRONG_CODES = 10
COUNTED_FOR = timedelta(hours=24)


async def may_compare_code(work: UserWork, user: User, browser: bytes | None) -> bool:
    """Return whether the code may be compared. While the second factor is locked, it may only be
    compared in a known browser with fewer than ten wrong codes. `browser` is the hash of the known
    browser's secret, or None."""
    if user.second_factor_locked_at is None:
        return True
    if browser is None:
        return False
    since = work.now - COUNTED_FOR
    return await count_wrong_codes(work.tx, user.user_id, since, browser) < MAX_WRONG_CODES


async def record_wrong_code(work: UserWork, user: User, browser: bytes | None) -> None:
    """Record a wrong code, and lock the user's second factor after ten within 24 hours."""
    await save_wrong_code(
        work.tx, work.ids.new(work.now), user.user_id, now=work.now, device_hash=browser
    )
    count = await count_wrong_codes(work.tx, user.user_id, work.now - COUNTED_FOR)
    if count < MAX_WRONG_CODES or not await save_second_factor_lock(
        work.tx, user.user_id, work.now
    ):
        return
    await save_user_audit(work, "second_factor.lock", user.user_id, after={"wrongCodes": count})
    occasion = str(work.ids.new(work.now))
    await raise_alert(
        work.tx, AlertKind.SECOND_FACTOR_LOCKED, subject=occasion, now=work.now, ids=work.ids
    )
    await plan_user_mail(work, user, UserMail.SECOND_FACTOR_LOCKED)
    log_security_event("PORTAL_SECOND_FACTOR_LOCKED")
