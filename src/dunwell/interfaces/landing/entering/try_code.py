"""Looks a typed code of a letter up, and counts the wrong ones.

A wrong code names no merchant, so this is a use case of the whole installation.
"""

from datetime import datetime

from dunwell.contact.messages.codes import list_code_digests, read_code
from dunwell.interfaces.landing.entering.claims_tries import ClaimKey
from dunwell.interfaces.landing.entering.store_ways import WayIn, find_code
from dunwell.interfaces.landing.entering.tries import Slowed, Wrong
from dunwell.interfaces.landing.entering.visitors import admit_codes, count_visitors_wrong
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection


async def try_code(
    tx: Connection, keys: KeyRing, typed: str, visitor: bytes, now: datetime,
    *, only: ClaimKey | None = None,
) -> WayIn | Wrong | Slowed:  # fmt: skip
    """`visitor`: `digest_visitor`'s. `only`: a code of any other claim is as wrong as one of none.
    What it wrote is to be committed, whatever it answers."""
    known = await admit_codes(tx, visitor, now)
    if isinstance(known, Slowed):
        return known
    code = read_code(typed)
    if code is None:
        # Not a guess: a slip of the finger.
        return Wrong()
    found = await find_code(tx, list_code_digests(keys, code))
    if found is not None and only in (None, (found.merchant.merchant_id, found.claim_id)):
        return found
    return await count_visitors_wrong(tx, visitor, known, now)
