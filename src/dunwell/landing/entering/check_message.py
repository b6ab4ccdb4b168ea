"""Tells whether a letter, e-mail or text is ours, by the code and the amount in it; nothing else is
told.

It opens nothing, so nothing is raised. Wrong ones count as wrong codes do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from dunwell.kit.crypto import KeyRing
from dunwell.kit.db import Connection
from dunwell.landing.entering.letter_sums import is_known_amount
from dunwell.landing.entering.store_ways import (
    Checked,
    find_checked,
    find_code,
    load_letter_sums,
)
from dunwell.landing.entering.tries import Slowed, Wrong
from dunwell.landing.entering.visitors import admit_codes, count_visitors_wrong
from dunwell.merchants.merchant import Merchant
from dunwell.messages.codes import (
    list_check_digests,
    list_code_digests,
    read_check,
    read_code,
)


@dataclass(frozen=True, slots=True)
class Confirmed:
    """Whose message it is."""

    merchant: Merchant
    is_letter: bool


async def check_message(
    tx: Connection, keys: KeyRing, typed: tuple[str, str], visitor: bytes, now: datetime
) -> Confirmed | Wrong | Slowed:
    """`typed`: code and amount, which both must fit. What it wrote is to be committed, whatever it
    answers."""
    code, amount = typed
    known = await admit_codes(tx, visitor, now)
    if isinstance(known, Slowed):
        return known
    is_letter = read_code(code) is not None
    if not is_letter and read_check(code) is None:
        # Not a guess: a slip of the finger.
        return Wrong()
    for each in await _find(tx, keys, code):
        sums = await load_letter_sums(tx, each.merchant.merchant_id, each.claim_id)
        if sums is not None and is_known_amount(amount, sums):
            return Confirmed(each.merchant, is_letter)
    return await count_visitors_wrong(tx, visitor, known, now)


async def _find(tx: Connection, keys: KeyRing, typed: str) -> Sequence[Checked]:
    """Those whose code it is: a letter's leads to one claim, a shorter one may lead to two."""
    code = read_code(typed)
    if code is not None:
        way = await find_code(tx, list_code_digests(keys, code))
        return [] if way is None else [Checked(way.merchant, way.claim_id)]
    short = read_check(typed)
    return [] if short is None else await find_checked(tx, list_check_digests(keys, short))
