"""Checks what a debtor wants to pay against what is owed now.

Part of use cases that hold the claim's lock.
"""

from dunwell.accounts.merchants.account import Work
from dunwell.cases.modalities.modality import find_open_rate
from dunwell.cases.modalities.store import load_live_modalities
from dunwell.cases.payments.choice import Choice, ChoiceKind, allow_rate, may_pay
from dunwell.core.claims.store import load_items
from dunwell.platform.errors import Fault, ValidationError


async def check_choice(work: Work, claim_id: int, choice: Choice) -> None:
    """Raises ValidationError (AMOUNT_CHANGED): the sum is another one by now, or is not taken."""
    items = await load_items(work.tx, work.merchant_id, claim_id)
    partial = work.merchant.configuration.payment.partial
    if choice.kind is ChoiceKind.PART:
        partial = allow_rate(partial, await _load_rate_cents(work, claim_id))
    if not may_pay(partial, items, choice):
        message = "The amount due has changed meanwhile. Look at the claim again."
        raise ValidationError([Fault("/amount", message, "AMOUNT_CHANGED")])


async def _load_rate_cents(work: Work, claim_id: int) -> int | None:
    """What is left of the next rate of the claim's plan; None: no plan is in force."""
    for modality, _, _ in await load_live_modalities(work.tx, work.merchant_id, [claim_id]):
        rate = find_open_rate(modality)
        if rate is not None:
            return rate.left_cents
    return None
