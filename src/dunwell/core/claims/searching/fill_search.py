"""Makes claims searchable: writes the terms of new claims, soon after the transaction that created
them has committed, and replaces the terms of a claim whose data change, in the same transaction.

New claims are found through a queue, which has a row for each transaction that created some. So a
round takes what has committed, whatever other transactions still run and in whichever order ids
were drawn; while nothing is created, a round is one look at an empty table.
"""

from dunwell.accounts.merchants.account import Work
from dunwell.core.claims.searching.filling_store import (
    find_unchecked_merchants,
    has_queued,
    load_without_terms,
    queue_missing,
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
# How often claims that are not in the queue are looked for.
MISSING_SECONDS = 60.0
# What one transaction takes of the queue, and how many claims it makes searchable. A change of
# their debtors waits for it: about a tenth of a second.
_MOST_QUEUED, _MOST_CLAIMS = 50, 1_000
# Claims that one transaction checks, which writes few rows; and merchants that one look finds.
_MOST_CHECKED, _MOST_MERCHANTS = 5_000, 50


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


async def queue_missing_claims(resources: Resources) -> int:
    """Queue claims that are not searchable and not in the queue either: those that an earlier
    release created before or beside the migration that made the queue. Return how many claims were
    checked of merchants that have more."""
    checked, last_merchant_id = 0, 0
    while True:
        async with resources.database.connection() as connection:
            merchant_ids = await find_unchecked_merchants(
                connection, last_merchant_id, _MOST_MERCHANTS
            )
        for merchant_id in merchant_ids:
            async with resources.database.transaction() as tx:
                number = await queue_missing(tx, merchant_id, _MOST_CHECKED)
            # What was created since the last check is no reason to check again at once.
            checked += number if number == _MOST_CHECKED else 0
        if len(merchant_ids) < _MOST_MERCHANTS:
            return checked
        last_merchant_id = merchant_ids[-1]
