"""Writes the words that claims are found by: of new claims in the worker, some seconds behind their
creation; of a claim whose data change, at once.

While no claim was created anywhere, one look at the numbers they are given says so.
"""

from datetime import datetime, timedelta

from dunwell.claims.searching.store import (
    find_merchants,
    load_for_change,
    load_last_id,
    load_next,
    lock_progress,
    save_progress,
    save_terms,
)
from dunwell.claims.searching.terms import list_terms
from dunwell.kit.resources import Resources
from dunwell.merchants.account import Work

SEARCH_SECONDS = 1.0
_AT_ONCE, _MERCHANTS_AT_ONCE = 500, 50
# Ids are drawn before their claims are there, and a claim is there when its transaction has ended.
_LOOKS_ON = timedelta(seconds=30)
# What took longer than that is found all the same.
_LOOKS_ANYHOW = timedelta(minutes=1)


class SearchFilling:
    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._last_id = -1
        self._looks_until: datetime | None = None
        self._looked_at: datetime | None = None

    async def run_once(self) -> int:
        """How many claims got their words."""
        if not await self._is_worth_a_look():
            return 0
        async with self._resources.database.connection() as connection:
            merchant_ids = await find_merchants(connection, _MERCHANTS_AT_ONCE)
        return sum([await fill(self._resources, each) for each in merchant_ids])

    async def _is_worth_a_look(self) -> bool:
        now = self._resources.clock.now()
        async with self._resources.database.connection() as connection:
            last_id = await load_last_id(connection)
        if last_id != self._last_id:
            self._last_id, self._looks_until = last_id, now + _LOOKS_ON
        is_young = self._looks_until is not None and now < self._looks_until
        if not is_young and self._looked_at is not None and now < self._looked_at + _LOOKS_ANYHOW:
            return False
        self._looked_at = now
        return True


async def fill(resources: Resources, merchant_id: int, *, limit: int = _AT_ONCE) -> int:
    """Of the merchant's next claims, in one transaction; how many."""
    async with resources.database.transaction() as tx:
        behind = await lock_progress(tx, merchant_id)
        claims = await load_next(tx, merchant_id, behind, limit)
        if not claims:
            return 0
        words = [(each.claim_id, term) for _, each in claims for term in sorted(list_terms(each))]
        await save_terms(tx, merchant_id, words)
        written_by, last = claims[-1]
        await save_progress(tx, merchant_id, (written_by, last.claim_id))
        return len(claims)


async def refresh_terms(work: Work, claim_id: int) -> None:
    """The claim's data have changed; it must be locked."""
    claim = await load_for_change(work.tx, work.merchant_id, claim_id)
    if claim is not None:
        words = [(claim_id, term) for term in sorted(list_terms(claim))]
        await save_terms(work.tx, work.merchant_id, words)
