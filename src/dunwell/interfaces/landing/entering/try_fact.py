"""Compares a fact somebody typed with what is on file, and counts the wrong ones of the claim."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from dunwell.interfaces.landing.entering.claims_tries import (
    admit_claims,
    count_claims_right,
    count_claims_wrong,
)
from dunwell.interfaces.landing.entering.proofs import Fact, Known, is_proven, read_typed
from dunwell.interfaces.landing.entering.tries import Locked, Wrong
from dunwell.platform.database.database import Connection


@dataclass(frozen=True, slots=True)
class Asked:
    """Whose fact is asked for, and which."""

    merchant_id: int
    claim_id: int
    known: Known
    fact: Fact


async def try_fact(
    tx: Connection, asked: Asked, form: Mapping[str, str], now: datetime
) -> Wrong | Locked | None:
    """None: it is right. What it wrote is to be committed, whatever it answers."""
    claim = asked.merchant_id, asked.claim_id
    tries = await admit_claims(tx, claim, now)
    if isinstance(tries, Locked):
        return tries
    typed = read_typed(asked.fact, form)
    if typed is None:
        # Not a guess: a slip of the finger.
        return Wrong()
    if is_proven(asked.fact, typed, asked.known):
        await count_claims_right(tx, claim, tries, now)
        return None
    return await count_claims_wrong(tx, claim, tries, now)
