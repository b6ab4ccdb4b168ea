"""Exchanges credentials for a token, and counts the wrong ones of the visitor who brings them.

Never by client id: a stranger who knows one would lock its merchant out. While a visitor is locked,
right ones are refused too, or the answer would tell which one is right.
"""

from datetime import datetime, timedelta

from dunwell.accounts.merchants.secrets import NewCredential
from dunwell.accounts.merchants.tokens import IssuedToken, issue_token
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.attempts import count_attempt, load_attempts
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import AuthenticationError, RateLimited
from dunwell.platform.http.addresses import find_network
from dunwell.platform.ids import Ids
from dunwell.platform.security_events import tell_security_event

MOST_WRONG = 20
WINDOW = timedelta(minutes=5)
_PURPOSE = "sign-in-visitor"


def digest_visitor(keys: KeyRing, host: str) -> bytes:
    """The visitor at this address (`find_network`)."""
    return keys.digest(_PURPOSE, find_network(host))


async def sign_in(
    tx: Connection, given: NewCredential, *, visitor: bytes, now: datetime, randomness: bytes,
    ids: Ids,
) -> IssuedToken | AuthenticationError | RateLimited:  # fmt: skip
    """As `issue_token`. What it wrote is to be committed, whatever it answers."""
    known = await load_attempts(tx, visitor)
    if known is not None and known.first_at + WINDOW <= now:
        known = None
    if known is not None and known.count >= MOST_WRONG:
        seconds = (known.first_at + WINDOW - now).total_seconds()
        return RateLimited(
            "Too many wrong client secrets came from this address. Correct the client id and the "
            "client secret, and wait as many seconds as Retry-After says.",
            retry_after=int(seconds) + 1,
        )
    try:
        return await issue_token(tx, given, now=now, randomness=randomness, ids=ids)
    except AuthenticationError as refusal:
        await count_attempt(tx, visitor, known, now)
        return refusal


def tell_refusal(refusal: AuthenticationError | RateLimited, request_id: str) -> None:
    """By the request alone: whose client id it is nobody knows."""
    is_locked = isinstance(refusal, RateLimited)
    tell_security_event("SIGN_IN_LOCKED" if is_locked else "SIGN_IN_FAILED", request_id=request_id)
