"""Counts what one visitor types wrong and asks for: five in fifteen minutes are the last.

A wrong code names no merchant, so this is of the whole installation. Visitors are known by a keyed
digest of their address for as long as their tries count.
"""

from datetime import datetime, timedelta

import structlog
from prometheus_client import Counter

from dunwell.kit.addresses import find_network
from dunwell.kit.crypto import KeyRing
from dunwell.kit.db import Connection
from dunwell.kit.figures import REGISTRY
from dunwell.landing.entering.store_tries import (
    VisitorTries,
    count_everybodys_wrong,
    load_visitor_tries,
    save_visitors_request,
    save_visitors_wrong,
)
from dunwell.landing.entering.tries import MOST_WRONG, Locked, Wrong, lock_for

# Tries are kept by the minute, so a minute more is looked at.
WINDOW = timedelta(minutes=16)
# Wrong codes of all visitors in a window that no honest typing explains; told again at each
# multiple.
ALARM_AT = 100
_PURPOSE = "landing-visitor"
_WRONG_CODES = Counter(
    "dunwell_landing_wrong_codes",
    "Codes typed on the debtor's page that no letter bears.",
    registry=REGISTRY,
)
_log = structlog.get_logger("dunwell.landing")


def digest_visitor(keys: KeyRing, host: str) -> bytes:
    """The visitor at this address (`find_network`)."""
    # By the oldest version: what was counted before a newer one came into use goes on counting.
    return keys.digest(_PURPOSE, find_network(host), min(keys.versions))


async def admit_visitor(tx: Connection, visitor: bytes, now: datetime) -> VisitorTries | Locked:
    """What the visitor has tried, while other tries of theirs wait for this transaction's end."""
    known = await load_visitor_tries(tx, visitor, now - WINDOW)
    if known.visitors < MOST_WRONG:
        return known
    assert known.first_at is not None
    return Locked(lock_for(known.first_at + WINDOW - now))


async def count_visitors_wrong(tx: Connection, visitor: bytes, now: datetime) -> Wrong:
    """The last that its transaction does: from here on, wrong codes of all visitors take turns, so
    that no two of them are the hundredth, and one is."""
    minute = _find_minute(now)
    await save_visitors_wrong(tx, visitor, minute)
    everybodys = await count_everybodys_wrong(tx, minute, now - WINDOW)
    _WRONG_CODES.inc()
    if everybodys % ALARM_AT == 0:
        _log.error("codes are being guessed", count=everybodys)
    return Wrong()


async def count_visitors_request(tx: Connection, visitor: bytes, now: datetime) -> None:
    """Nothing was wrong about it; a visitor may ask as seldom as be wrong."""
    await save_visitors_request(tx, visitor, _find_minute(now))


def _find_minute(now: datetime) -> datetime:
    return now.replace(second=0, microsecond=0)
