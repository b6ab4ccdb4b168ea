"""Counts the facts and sent codes that were wrong for a claim, whoever typed them."""

from datetime import datetime

from dunwell.core.claims.store import lock_claim
from dunwell.interfaces.landing.entering.store_tries import lock_tries, save_tries
from dunwell.interfaces.landing.entering.tries import (
    Locked,
    Tries,
    Wrong,
    count_right,
    count_wrong,
    decide_lock,
)
from dunwell.interfaces.landing.entering.visitors import count_wrong_code
from dunwell.platform.database.database import Connection
from dunwell.platform.security_events import tell_security_event

# Of its merchant, and its own.
ClaimKey = tuple[int, int]


async def admit_claims(tx: Connection, claim: ClaimKey, now: datetime) -> Tries | Locked:
    """What was tried, while others who try wait for this transaction's end. Locks the claim first,
    as all who take both do."""
    await lock_claim(tx, *claim)
    tries = await lock_tries(tx, *claim, now)
    return decide_lock(tries, now) or tries


async def count_claims_right(tx: Connection, claim: ClaimKey, tries: Tries, now: datetime) -> None:
    await save_tries(tx, *claim, count_right(tries, now))


async def count_claims_wrong(tx: Connection, claim: ClaimKey, tries: Tries, now: datetime) -> Wrong:
    """The last that its transaction does, as `count_wrong_code`."""
    counted = count_wrong(tries, now)
    await save_tries(tx, *claim, counted)
    if decide_lock(counted, now) is not None:
        merchant_id, claim_id = claim
        tell_security_event("CLAIM_LOCKED", merchant_id=merchant_id, claim_id=claim_id)
    return await count_wrong_code(tx, now)
