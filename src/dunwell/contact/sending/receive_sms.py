"""Receive SMS that debtors send to a delivery provider's number.

STOP suppresses the number for every merchant that sent an SMS to it through this provider. Any
other text becomes a note on the claim that it answers, if that is certain: only one claim has sent
an SMS to this number through this provider. Everything else is kept for an operator. Nothing is
sent in reply except one confirmation of a STOP.
"""

from dataclasses import replace
from datetime import timedelta

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.store import load_merchant
from dunwell.contact.messages.suppression import suppress
from dunwell.contact.sending.incoming_sms import ReceivedSms, is_stop_request, parse_number
from dunwell.contact.sending.store import (
    ContactedClaim,
    find_claim_of_number,
    is_sms_known,
    list_merchants_of_number,
    save_sms,
    sweep_sms,
)
from dunwell.core.claims.notes import MAX_NOTE_LENGTH, add_note
from dunwell.platform.database.database import Connection
from dunwell.platform.resources import Resources

_KEPT_FOR = timedelta(days=90)
_SET_SIZE = 500
# For how many merchants one transaction suppresses the number that sent a STOP.
_MERCHANTS_AT_ONCE = 50


async def receive_sms(
    resources: Resources, incoming: ReceivedSms, *, set_size: int = _MERCHANTS_AT_ONCE
) -> bool:
    """Save the message and return whether it newly suppressed a number. The transaction has been
    committed when this function returns."""
    number = parse_number(incoming.sender)
    if not incoming.provider_message_id:
        # The gateway is not configured to send ids. A duplicate is better than losing all messages
        # after the first.
        unique = str(resources.ids.new(resources.clock.now()))
        incoming = replace(incoming, provider_message_id=unique)
    if number is not None and is_stop_request(incoming.text):
        return await _suppress_number(resources, incoming, number, set_size)
    async with resources.database.transaction() as tx:
        claim = await find_claim_of_number(tx, incoming.provider, number) if number else None
        is_new = await _save(
            resources, tx, incoming=incoming, kind="REPLY" if claim else "UNMATCHED", claim=claim
        )
        if is_new and claim is not None:
            await _add_note_to_claim(resources, tx, claim, incoming.text)
    return False


async def _suppress_number(
    resources: Resources, incoming: ReceivedSms, number: str, set_size: int
) -> bool:
    """Suppress the number for merchants in sets, each in its own transaction. The message is saved
    with the last set: after an interruption the provider delivers the message again, and the
    remaining merchants are handled."""
    is_new, after = False, 0
    while True:
        async with resources.database.transaction() as tx:
            if await is_sms_known(tx, incoming):
                return is_new
            merchant_ids = await list_merchants_of_number(
                tx, incoming.provider, number, after=after, limit=set_size
            )
            for merchant_id in merchant_ids:
                work = await _open_work(resources, tx, merchant_id)
                if work is not None:
                    is_new |= await suppress(
                        work, resources.keys, channel="SMS", address=number, reason="DEBTOR"
                    )
            if len(merchant_ids) < set_size:
                kind = "STOP" if merchant_ids or after else "UNMATCHED"
                await _save(resources, tx, incoming, kind)
                return is_new
            after = merchant_ids[-1]


async def _save(
    resources: Resources, tx: Connection, incoming: ReceivedSms, kind: str,
    claim: ContactedClaim | None = None,
) -> bool:  # fmt: skip
    now = resources.clock.now()
    inbound_id = resources.ids.new(now)
    return await save_sms(tx, inbound_id, incoming=incoming, kind=kind, claim=claim, real_now=now)


async def _add_note_to_claim(
    resources: Resources, tx: Connection, claim: ContactedClaim, text: str
) -> None:
    work = await _open_work(resources, tx, claim.merchant_id)
    if work is not None:
        await add_note(work, claim.claim_id, f"SMS: {text}"[:MAX_NOTE_LENGTH])


async def _open_work(resources: Resources, tx: Connection, merchant_id: int) -> Work | None:
    merchant = await load_merchant(tx, merchant_id)
    return None if merchant is None else Work.open(resources, tx, merchant, SYSTEM)


async def sweep_old_sms(resources: Resources) -> int:
    """Delete messages that are older than `_KEPT_FOR`."""
    async with resources.database.transaction() as tx:
        return await sweep_sms(tx, resources.clock.now() - _KEPT_FOR, _SET_SIZE)
