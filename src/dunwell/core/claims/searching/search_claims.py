"""Searches a merchant's claims by the beginnings of words: reference, id, customer and contract
number, names, company, e-mail, phone. What begins shortest comes first; of those alike the newest.

The terms of a new claim are written by the worker, within two seconds (decision 0018).
"""

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.core.claims.list_claims import hide_ended_holds
from dunwell.core.claims.searching.store import find
from dunwell.core.claims.searching.terms import read_search
from dunwell.core.claims.store_lists import ListedClaim, load_listed
from dunwell.platform.database.cursor import CursorForm
from dunwell.platform.database.database import snapshot
from dunwell.platform.database.listed_table import Page
from dunwell.platform.errors import Fault, ValidationError

# A place is a word and a claim.
_CURSORS = CursorForm("search", owner=(int,), place=(str, int))


async def search_claims(
    work: Work, text: str, *, limit: int, cursor: str | None = None
) -> Page[ListedClaim]:
    """Claims of which every word of the text begins one. A page may hold fewer than `limit`, even
    none, and go on. Raises ValidationError: a bad cursor, or a text without a word."""
    work.need(Right.READ_CLAIMS)
    words = read_search(text)
    if not words:
        message = "Search for a reference, a number, a name, an address or a phone number."
        raise ValidationError([Fault("/search", message, "REQUIRED")])
    owner = (work.merchant_id,)
    place = None if cursor is None else _CURSORS.parse(owner, cursor)
    async with snapshot(work.tx):
        found, last = await find(work.tx, work.merchant_id, words, limit=limit, behind=place)
        claim_ids = [claim_id for _, claim_id in found]
        loaded = await load_listed(work.tx, work.merchant_id, claim_ids)
    claims = [hide_ended_holds(loaded[each], work.now) for each in claim_ids if each in loaded]
    return Page(claims, None if last is None else _CURSORS.render(owner, last))
