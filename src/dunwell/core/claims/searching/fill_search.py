"""Makes claims searchable: writes the terms of new claims, soon after the transaction that created
them has committed, and replaces the terms of a claim whose data change, in the same transaction.

New claims are found through a queue, which has a row for each transaction that created some. So a
round takes what has committed, whatever other transactions still run and in whichever order ids
were drawn; while nothing is created, a round is one look at an empty table.
"""

from dunwell.accounts.merchants.account import Work
from dunwell.core.claims.searching.filling_store import (
    has_queued,
    load_without_terms,
    queue_rest,
    remove_terms,
    save_terms,
    take_queued,
)
from dunwell.core.claims.searching.terms import list_terms
from dunwell.platform.children.process import Turns
from dunwell.platform.resources import Resources

# A new claim is found after at most this and the time of a round. Users expect it within two
# seconds, of which this leaves most to a busy machine.
SEARCH_SECONDS = 0.5
# What one transaction takes of the queue, and how many claims it makes searchable. A change of
# their debtors waits for it: about a tenth of a second.
_MOST_QUEUED, _MOST_CLAIMS = 50, 1_000


async def fill_search(
    resources: Resources, *, most_queued: int = _MOST_QUEUED, most_claims: int = _MOST_CLAIMS
) -> int:
    """Make the next claims searchable, of all merchants alike; return how many."""
    async with resources.database.connection() as connection:
        if not await has_queued(connection):
            return 0
    async with resources.database.transaction() as tx:
        queued = await take_queued(tx, most_queued)
        if not queued:
            return 0
        claims = await load_without_terms(tx, queued, max(1, most_claims // len(queued)))
        terms, turns = [], Turns()
        for merchant_id, claim in claims:
            terms += [(merchant_id, claim.claim_id, each) for each in list_terms(claim)]
            await turns.give_way()
        if terms:
            # In one order for all, so that two workers never wait for each other.
            await save_terms(tx, sorted(terms))
        await queue_rest(tx, queued)
        return len(claims)


async def replace_terms(work: Work, claim_id: int) -> None:
    """The claim's data have changed in this transaction, which has locked the debtor's row."""
    claim = await remove_terms(work.tx, work.merchant_id, claim_id)
    if claim is not None:
        terms = sorted(list_terms(claim))
        await save_terms(work.tx, [(work.merchant_id, claim_id, each) for each in terms])
