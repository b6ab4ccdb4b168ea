"""Tells whether a letter is ours, by the code and the amount in it; nothing else is told.

It opens nothing, so nothing is raised. Wrong ones count as wrong codes do.
"""

from datetime import datetime

from dunwell.kit.crypto import KeyRing
from dunwell.kit.db import Connection
from dunwell.landing.entering.letter_sums import is_known_amount
from dunwell.landing.entering.store_ways import load_letter_sums
from dunwell.landing.entering.tries import Slowed, Wrong
from dunwell.landing.entering.try_code import try_code
from dunwell.landing.entering.visitors import admit_codes, count_visitors_wrong
from dunwell.merchants.merchant import Merchant


async def check_letter(
    tx: Connection, keys: KeyRing, typed: tuple[str, str], visitor: bytes, now: datetime
) -> Merchant | Wrong | Slowed:
    """`typed`: code and amount. Whose letter it is, when both fit. What it wrote is to be
    committed, whatever it answers."""
    code, amount = typed
    found = await try_code(tx, keys, code, visitor=visitor, now=now)
    if isinstance(found, Wrong | Slowed):
        return found
    sums = await load_letter_sums(tx, found.merchant.merchant_id, found.claim_id)
    if sums is not None and is_known_amount(amount, sums):
        return found.merchant
    known = await admit_codes(tx, visitor, now)
    if isinstance(known, Slowed):
        return known
    return await count_visitors_wrong(tx, visitor, known, now)
