"""Searches a merchant's claims by the beginnings of words: reference, id, customer and contract
number, names, company, e-mail, phone. What begins shortest comes first; of those alike the newest.

The terms of a new claim are written by the worker, within two seconds (decision 0018).
"""

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.core.claims.find_claims import ClaimPage, only_standing
from dunwell.core.claims.searching.store import Found, find
from dunwell.core.claims.searching.terms import LONGEST, read_search
from dunwell.core.claims.store_lists import load_listed
from dunwell.platform.database.database import snapshot
from dunwell.platform.errors import Fault, ValidationError
from dunwell.platform.text.cursor import CursorForm, refuse_cursor

# The word, in UTF-8, and the claim.
_WORD_BYTES = 4 * LONGEST
_CURSORS = CursorForm(b"sea1", f"{_WORD_BYTES}sq")


async def search_claims(
    work: Work, text: str, *, limit: int, cursor: str | None = None
) -> ClaimPage:
    """Claims of which every word of the text begins one. A page may hold fewer than `limit`, even
    none, and go on. Raises ValidationError: a bad cursor, or a text without a word."""
    work.need(Right.READ_CLAIMS)
    words = read_search(text)
    if not words:
        message = "Search for a reference, a number, a name, an address or a phone number."
        raise ValidationError([Fault("/search", message, "REQUIRED")])
    owner = (work.merchant_id,)
    place = None if cursor is None else _read(*_CURSORS.read(owner, cursor))
    async with snapshot(work.tx):
        found, last = await find(work.tx, work.merchant_id, words, limit=limit, behind=place)
        claim_ids = [claim_id for _, claim_id in found]
        loaded = await load_listed(work.tx, work.merchant_id, claim_ids)
    claims = [only_standing(loaded[each], work.now) for each in claim_ids if each in loaded]
    if last is None:
        return ClaimPage(claims, None)
    return ClaimPage(claims, _CURSORS.write(owner, last[0].encode(), last[1]))


def _read(word: bytes, claim_id: int) -> Found:
    """Raises ValidationError: no word holds a NUL."""
    found = word.rstrip(b"\0")
    if b"\0" in found:
        raise refuse_cursor()
    return found.decode("utf-8", "replace"), claim_id
