"""Search a merchant's claims by the beginnings of words, shortest match first, and index new and
changed claims."""

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.core.claims.lists.list_claims import hide_ended_holds
from dunwell.core.claims.lists.store import ClaimRow, load_claim_rows
from dunwell.core.claims.searching.store import (
    delete_terms,
    dequeue_claims,
    has_queued_claims,
    list_matches,
    load_claims_without_terms,
    requeue_unfinished,
    save_terms,
)
from dunwell.core.claims.searching.terms import list_terms, parse_search
from dunwell.platform.children.process import TimeSlices
from dunwell.platform.database.database import snapshot
from dunwell.platform.database.listed_table import CursorFormat, ListPage
from dunwell.platform.errors import Fault, ValidationError
from dunwell.platform.resources import Resources

# A new claim can be found after at most this time plus the duration of one run of `index_claims`.
# Users expect to find it within two seconds.
INDEX_INTERVAL_SECONDS = 0.5
# The largest numbers of queue rows and of claims that one transaction indexes. While it runs, for
# about a tenth of a second, changes of the claims' debtors wait.
_MAX_QUEUED, _MAX_CLAIMS = 50, 1_000


async def index_claims(
    resources: Resources, *, max_queued: int = _MAX_QUEUED, max_claims: int = _MAX_CLAIMS
) -> int:
    """Index the next claims of all merchants in turn, and return their number."""
    async with resources.database.connection() as connection:
        if not await has_queued_claims(connection):
            return 0
    async with resources.database.transaction() as tx:
        queued = await dequeue_claims(tx, max_queued)
        if not queued:
            return 0
        claims = await load_claims_without_terms(tx, queued, max(1, max_claims // len(queued)))
        terms, turns = [], TimeSlices()
        for merchant_id, claim in claims:
            terms += [(merchant_id, claim.claim_id, each) for each in list_terms(claim)]
            await turns.yield_if_due()
        if terms:
            # Sorted, so that two workers that insert the same terms cannot deadlock.
            await save_terms(tx, sorted(terms))
        await requeue_unfinished(tx, queued)
        return len(claims)


async def replace_search_terms(work: Work, claim_id: int) -> None:
    """Replace the claim's search terms after its data changed. The transaction must have locked the
    debtor's row."""
    claim = await delete_terms(work.tx, work.merchant_id, claim_id)
    if claim is not None:
        terms = sorted(list_terms(claim))
        await save_terms(work.tx, [(work.merchant_id, claim_id, each) for each in terms])


# A position in the results is a word and a claim.
_CURSORS = CursorFormat("search", owner=(int,), place=(str, int))


async def search_claims(
    work: Work, text: str, *, limit: int, cursor: str | None = None
) -> ListPage[ClaimRow]:
    """Search claims: each word of the text must be the beginning of a word of the claim. A page may
    have fewer rows than `limit`, or none, and still be followed by another. Raises ValidationError
    for an invalid cursor, or a text without a word."""
    work.require(Right.READ_CLAIMS)
    words = parse_search(text)
    if not words:
        message = "Search for a reference, a number, a name, an address or a phone number."
        raise ValidationError([Fault("/search", message, "REQUIRED")])
    owner = (work.merchant_id,)
    position = None if cursor is None else _CURSORS.parse(owner, cursor)
    async with snapshot(work.tx):
        matches, next_position = await list_matches(
            work.tx, work.merchant_id, words, limit=limit, after=position
        )
        claim_ids = [claim_id for _, claim_id in matches]
        rows_by_id = await load_claim_rows(work.tx, work.merchant_id, claim_ids)
    claims = [
        hide_ended_holds(rows_by_id[each], work.now) for each in claim_ids if each in rows_by_id
    ]
    return ListPage(
        claims, None if next_position is None else _CURSORS.render(owner, next_position)
    )
