"""Count the wrong letter codes and the link requests of a visitor. A wrong letter code delays the
next one, and five links can be requested in fifteen minutes.

A wrong letter code belongs to no merchant, so these counts are for the whole installation. Many
people may share one address, so a wrong code delays the others by a few seconds at most. A visitor
is identified by a keyed digest of the address. The digest is deleted once the visitor's attempts no
longer count.
"""

from datetime import datetime, timedelta

import structlog
from prometheus_client import Counter

from dunwell.interfaces.landing.sign_in.attempt_limits import (
    Delayed,
    Locked,
    WrongAttempt,
    compute_delay,
    compute_wait_seconds,
)
from dunwell.interfaces.landing.sign_in.store import (
    increment_wrong_codes,
    load_visitor_requests,
    save_visitor_request,
)
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.attempts import Attempts, count_attempt, load_attempts
from dunwell.platform.database.database import Connection
from dunwell.platform.http.addresses import get_visitor_network
from dunwell.platform.metrics import REGISTRY
from dunwell.platform.security_events import log_security_event

# Fifteen minutes, and one more because attempts are counted per minute.
WINDOW = timedelta(minutes=16)
# The link requests that a visitor may make in one window.
MAX_LINK_REQUESTS = 5
# This many wrong codes of all visitors in one window cannot be typing errors. An error is logged at
# each multiple.
ALERT_AT = 100
_PURPOSE = "landing-visitor"
_WRONG_CODES = Counter(
    "dunwell_landing_wrong_codes",
    "Wrong letter codes that were entered on the debtor's page.",
    registry=REGISTRY,
)
_log = structlog.get_logger("dunwell.interfaces.landing")


def digest_visitor(keys: KeyRing, host: str) -> bytes:
    """Return the digest of the visitor's network (`get_visitor_network`)."""
    # The oldest key version keeps counts valid after a rotation.
    return keys.digest(_PURPOSE, get_visitor_network(host), min(keys.versions))


async def load_wrong_codes(
    tx: Connection, visitor: bytes, now: datetime
) -> Attempts | Delayed | None:
    """Load the visitor's recent wrong letter codes, or the delay before the next attempt. Other
    requests of the visitor wait until this transaction ends."""
    earlier = await load_attempts(tx, visitor)
    if earlier is None or earlier.last_at + WINDOW <= now:
        return None
    return compute_delay(earlier.count, earlier.last_at, now) or earlier


async def record_wrong_code_of_visitor(
    tx: Connection, visitor: bytes, earlier: Attempts | None, now: datetime
) -> WrongAttempt:
    """Count a wrong code. `earlier` are the visitor's earlier wrong codes, from `load_wrong_codes`.
    This must be the last step of its transaction; see `record_wrong_code`."""
    await count_attempt(tx, visitor, earlier, now)
    log_security_event("LETTER_CODE_SLOWED")
    return await record_wrong_code(tx, now)


async def record_wrong_code(tx: Connection, now: datetime) -> WrongAttempt:
    """Count a wrong code for the whole installation. This must be the last step of its transaction:
    from here on all visitors' wrong codes are serialised, so that exactly one of them is the
    hundredth."""
    total = await increment_wrong_codes(tx, _truncate_to_minute(now), now - WINDOW)
    _WRONG_CODES.inc()
    if total % ALERT_AT == 0:
        _log.error("possible guessing of letter codes", count=total)
    return WrongAttempt()


async def find_request_lock(tx: Connection, visitor: bytes, now: datetime) -> Locked | None:
    """Return the lock, or None if the visitor may request a link. Other requests of the visitor
    wait until this transaction ends."""
    earlier = await load_visitor_requests(tx, visitor, now - WINDOW)
    if earlier.requests < MAX_LINK_REQUESTS:
        return None
    assert earlier.first_at is not None
    return Locked(compute_wait_seconds(earlier.first_at + WINDOW - now))


async def record_link_request(tx: Connection, visitor: bytes, now: datetime) -> None:
    await save_visitor_request(tx, visitor, _truncate_to_minute(now))


def _truncate_to_minute(now: datetime) -> datetime:
    return now.replace(second=0, microsecond=0)
