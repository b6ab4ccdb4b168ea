"""Compares a fact somebody typed with what is on file, and counts the wrong ones of the claim and
of the visitor."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from dunwell.kit.db import Connection
from dunwell.landing.entering.proofs import Fact, Known, is_proven, read_typed
from dunwell.landing.entering.store_tries import lock_tries, save_tries
from dunwell.landing.entering.tries import Locked, Tries, Wrong, count_wrong, decide_lock
from dunwell.landing.entering.visitors import admit_visitor, count_visitors_wrong


@dataclass(frozen=True, slots=True)
class Asked:
    """Whose fact is asked for, and which."""

    merchant_id: int
    claim_id: int
    known: Known
    fact: Fact


async def try_fact(
    tx: Connection, asked: Asked, form: Mapping[str, str], visitor: bytes, now: datetime
) -> Wrong | Locked | None:
    """None: it is right. What it wrote is to be committed, whatever it answers."""
    visits = await admit_visitor(tx, visitor, now)
    # Tries at the same time take turns from here.
    tries = await lock_tries(tx, asked.merchant_id, asked.claim_id, now)
    locked = decide_lock(tries, now)
    if isinstance(visits, Locked):
        return max(visits, locked or visits, key=lambda each: each.retry_after_seconds)
    if locked is not None:
        return locked
    typed = read_typed(asked.fact, form)
    if typed is None:
        # Not a guess: a slip of the finger.
        return Wrong()
    if is_proven(asked.fact, typed, asked.known):
        await save_tries(tx, asked.merchant_id, asked.claim_id, Tries(0, now))
        return None
    await save_tries(tx, asked.merchant_id, asked.claim_id, count_wrong(tries, now))
    return await count_visitors_wrong(tx, visitor, now)
