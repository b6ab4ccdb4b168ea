"""Whether an amount somebody reads on a letter is one this claim has had.

A letter is read weeks after it was written: fees may have come since, and payments. So every amount
counts that stood open after some of the items, in their order, and some of the payments. Pure.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from dunwell.contact.messages.formatting import count_minor_digits


@dataclass(frozen=True, slots=True)
class LetterSums:
    """Amounts in minor units: the items' in their order, the payments' the oldest first."""

    currency: str
    items_cents: Sequence[int]
    payments_cents: Sequence[int]


def is_known_amount(typed: str, sums: LetterSums) -> bool:
    """However it is written: 1.234,50 and EUR 1,234.50 are one amount, as are 120 and 120.00."""
    digits = "".join(c for c in unicodedata.normalize("NFKC", typed) if c in "0123456789")
    return bool(digits) and digits.lstrip("0") in _list_written(sums)


def _list_written(sums: LetterSums) -> set[str]:
    unit = 10 ** count_minor_digits(sums.currency)
    totals = list(accumulate(sums.items_cents))
    paid = [0, *accumulate(sums.payments_cents)]
    amounts = {total - each for total in totals for each in paid if total > each}
    whole = {amount // unit for amount in amounts if amount % unit == 0}
    return {str(amount) for amount in amounts | whole}
