"""Takes in what people write to a line by SMS.

STOP suppresses the number for every merchant that wrote to it by this line, be it a reminder or
what the debtor asked for. Any other text is put on the claim it answers, where that is certain: one
claim alone wrote to this number by this line. Everything else is kept for a person. Nothing is ever
written back but the confirmation of a STOP, once.
"""

from dataclasses import replace
from datetime import timedelta

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.store import load_merchant
from dunwell.contact.messages.suppression import suppress
from dunwell.contact.sending.incoming_sms import Incoming, is_stop, read_number
from dunwell.contact.sending.store import (
    WrittenTo,
    find_who_wrote,
    find_written_to,
    is_known,
    save_incoming,
    sweep_incoming,
)
from dunwell.core.claims.notes import LONGEST_NOTE, add_note
from dunwell.platform.database.database import Connection
from dunwell.platform.resources import Resources

_KEPT_FOR = timedelta(days=90)
_SET_SIZE = 500
# Of merchants that a STOP is for.
_MERCHANTS_AT_ONCE = 50


async def receive_sms(
    resources: Resources, incoming: Incoming, *, set_size: int = _MERCHANTS_AT_ONCE
) -> bool:
    """Whether a number was suppressed by it that was not before. Once this returns, it is kept."""
    number = read_number(incoming.sender)
    if not incoming.provider_id:
        # Its gateway is set up to say none: better twice than all but the first never.
        unique = str(resources.ids.new(resources.clock.now()))
        incoming = replace(incoming, provider_id=unique)
    if number is not None and is_stop(incoming.text):
        return await _take_stop(resources, incoming, number, set_size)
    async with resources.database.transaction() as tx:
        claim = await find_written_to(tx, incoming.line, number) if number else None
        is_new = await _save(
            resources, tx, incoming=incoming, kind="REPLY" if claim else "UNMATCHED", claim=claim
        )
        if is_new and claim is not None:
            await _put_on_claim(resources, tx, claim, incoming.text)
    return False


async def _take_stop(resources: Resources, incoming: Incoming, number: str, set_size: int) -> bool:
    """Merchants in sets, each in a transaction of its own. It is kept with the last of them: one
    that was broken off before comes again, and goes on where it stopped."""
    is_new, behind = False, 0
    while True:
        async with resources.database.transaction() as tx:
            if await is_known(tx, incoming):
                return is_new
            found = await find_who_wrote(tx, incoming.line, number, behind=behind, limit=set_size)
            for merchant_id in found:
                work = await _open_work(resources, tx, merchant_id)
                if work is not None:
                    is_new |= await suppress(
                        work, resources.keys, channel="SMS", address=number, reason="DEBTOR"
                    )
            if len(found) < set_size:
                await _save(resources, tx, incoming, "STOP" if found or behind else "UNMATCHED")
                return is_new
            behind = found[-1]


async def _save(
    resources: Resources, tx: Connection, incoming: Incoming, kind: str,
    claim: WrittenTo | None = None,
) -> bool:  # fmt: skip
    now = resources.clock.now()
    inbound_id = resources.ids.new(now)
    return await save_incoming(
        tx, inbound_id, incoming=incoming, kind=kind, claim=claim, real_now=now
    )


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
