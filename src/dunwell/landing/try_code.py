"""Looks a typed code up, and counts the wrong ones: five in fifteen minutes are a visitor's last.

A wrong code names no merchant, so this is a use case of the whole installation. Visitors are known
by a keyed digest of their address for as long as their tries count.
"""

import ipaddress
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from dunwell.kit.crypto import KeyRing
from dunwell.kit.db import Connection
from dunwell.landing.figures import count_wrong_code
from dunwell.landing.lookup import WayIn, find_code
from dunwell.landing.store import count_wrong_codes, save_wrong_code
from dunwell.messages.codes import digest_code, read_code

MOST_WRONG = 5
# Tries are kept by the minute, so a minute more is looked at.
WINDOW = timedelta(minutes=16)
# Wrong codes of all visitors in a window that no honest typing explains; told again at each
# multiple.
ALARM_AT = 100
_PURPOSE = "landing-visitor"
_log = structlog.get_logger("dunwell.landing")


@dataclass(frozen=True, slots=True)
class Wrong:
    """No claim has this code; so many tries are left."""

    tries_left: int


@dataclass(frozen=True, slots=True)
class Locked:
    """Too many were wrong; the code was not looked at."""

    retry_after_seconds: int


async def try_code(
    tx: Connection, keys: KeyRing, typed: str, visitor: bytes, now: datetime
) -> WayIn | Wrong | Locked:
    """`visitor`: `digest_visitor`'s. What it wrote is to be committed, whatever it answers."""
    known = await count_wrong_codes(tx, visitor, now - WINDOW)
    if known.visitors >= MOST_WRONG:
        assert known.first_at is not None
        return Locked(max(1, int((known.first_at + WINDOW - now).total_seconds())))
    code = read_code(typed)
    if code is None:
        # Not a guess: a slip of the finger.
        return Wrong(MOST_WRONG - known.visitors)
    found = await find_code(tx, digest_code(keys, code))
    if found is not None:
        return found
    await save_wrong_code(tx, visitor, now.replace(second=0, microsecond=0))
    _tell(known.everybodys + 1)
    return Wrong(MOST_WRONG - known.visitors - 1)


def digest_visitor(keys: KeyRing, host: str) -> bytes:
    """Of an IPv6 address the network that one customer is given (/64) counts as the visitor."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return keys.digest(_PURPOSE, host.encode())
    prefix = 64 if address.version == 6 else 32
    network = ipaddress.ip_network((address, prefix), strict=False)
    return keys.digest(_PURPOSE, network.network_address.packed)


def _tell(everybodys: int) -> None:
    count_wrong_code()
    if everybodys % ALARM_AT == 0:
        _log.error("codes are being guessed", count=everybodys)
