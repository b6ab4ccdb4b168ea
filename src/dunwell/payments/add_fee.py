"""Adds a fee of the merchant's own to a claim in process; it raises no event (spec, Events)."""

from dataclasses import replace

from dunwell.claims.item_rules import check_fee_of
from dunwell.escalation.sending_hours import find_days
from dunwell.merchants.account import Work
from dunwell.payments.add_item import AddedItem, NewItem, enter_item, load_changeable


async def add_fee(work: Work, claim_id: int, fee: NewItem) -> AddedItem:
    """A fee without a date is of today. Raises NotFound, InvalidState (not in process) and
    ValidationError (it is for an item the claim does not have, too many items)."""
    claim, items = await load_changeable(work, claim_id)
    check_fee_of(items, fee.fee_of)
    if fee.item_on is None:
        days = find_days(work.merchant.configuration.timezone)
        fee = replace(fee, item_on=days.local_date(work.now))
    return await enter_item(work, claim, items, fee)
