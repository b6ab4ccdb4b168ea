"""Takes in what people write to a line by SMS.

STOP suppresses the number for every merchant that wrote to it by this line. Any other text is put
on the claim it answers, where that is certain: one claim alone wrote to this number by this line.
Everything else is kept for a person. Nothing is ever written back but the confirmation of a STOP,
once.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from dunwell.claims.notes import LONGEST_NOTE, add_note
from dunwell.kit.db import Connection
from dunwell.kit.resources import Resources
from dunwell.merchants.account import Work
from dunwell.merchants.actor import SYSTEM
from dunwell.merchants.store import load_merchant
from dunwell.messages.suppression import suppress
from dunwell.sending.incoming import Incoming, is_stop, read_number
from dunwell.sending.incoming_store import (
    WrittenTo,
    find_written_to,
    save_incoming,
    sweep_incoming,
)

_KEPT_FOR = timedelta(days=90)
_SET_SIZE = 500


async def take_incoming_sms(resources: Resources, incoming: Incoming) -> bool:
    """Whether a number was suppressed by it that was not before. Once this returns, it is kept."""
    now = resources.clock.now()
    number = read_number(incoming.sender)
    async with resources.database.transaction() as tx:
        found = await find_written_to(tx, incoming.line, number) if number else []
        is_ending = is_stop(incoming.text)
        claim = found[0] if len(found) == 1 and not is_ending else None
        kind = "STOP" if is_ending and found else "REPLY" if claim else "UNMATCHED"
        inbound_id = resources.ids.new(now)
        if not incoming.provider_id:
            # Its gateway is set up to say none: better twice than all but the first never.
            incoming = replace(incoming, provider_id=str(inbound_id))
        if not await save_incoming(tx, inbound_id, incoming, kind, claim, real_now=now):
            return False
        if kind == "STOP" and number is not None:
            return await _suppress_everywhere(resources, tx, found, number)
        if claim is not None:
            await _put_on_claim(resources, tx, claim, incoming.text)
    return False


async def _suppress_everywhere(
    resources: Resources, tx: Connection, found: Sequence[WrittenTo], number: str
) -> bool:
    """For each merchant once, as digests are the merchants'."""
    is_new = False
    for merchant_id in sorted({each.merchant_id for each in found}):
        work = await _open_work(resources, tx, merchant_id)
        if work is not None:
            is_new |= await suppress(work, resources.keys, "SMS", number, "DEBTOR")
    return is_new


async def _put_on_claim(resources: Resources, tx: Connection, claim: WrittenTo, text: str) -> None:
    work = await _open_work(resources, tx, claim.merchant_id)
    if work is not None:
        await add_note(work, claim.claim_id, f"SMS: {text}"[:LONGEST_NOTE])


async def _open_work(resources: Resources, tx: Connection, merchant_id: int) -> Work | None:
    merchant = await load_merchant(tx, merchant_id)
    return None if merchant is None else Work.open(resources, tx, merchant, SYSTEM)


async def sweep_old_incoming(resources: Resources) -> int:
    """They are kept for as long as reports are."""
    async with resources.database.transaction() as tx:
        return await sweep_incoming(tx, resources.clock.now() - _KEPT_FOR, _SET_SIZE)
