"""Looks up what the process of an opened claim will do, where its page says so."""

from collections.abc import Sequence
from contextlib import nullcontext
from datetime import datetime

from dunwell.contact.escalation.forecast.forecast import Announcement
from dunwell.contact.escalation.forecast.foresee_claim import ForecastedClaim, forecast_for_debtor
from dunwell.contact.escalation.usable_channels import DebtorAddresses
from dunwell.contact.messages.identities import DebtorPerson
from dunwell.interfaces.landing.claim.next_steps import find_held_until, is_foreseeable
from dunwell.interfaces.landing.session.states import list_standing
from dunwell.interfaces.landing.session.store import OpenedClaim
from dunwell.platform.database.database import Connection
from dunwell.platform.resources import Resources


async def load_forecast(
    resources: Resources, opened: OpenedClaim, now: datetime, tx: Connection | None = None
) -> Sequence[Announcement]:
    """In one statement, or none where nothing is foreseen. now: the merchant's. tx: what the
    caller has open: nobody holds one connection while waiting for another."""
    facts = opened.facts
    if facts.process is None or not is_foreseeable(opened, now):
        return ()
    known = facts.on_file
    address = None if known.postal_address is None else dict(known.postal_address)
    claim = ForecastedClaim(
        person=DebtorPerson(
            facts.claim_id, known.email, known.mobile_number, known.customer_number
        ),
        reachable=DebtorAddresses(known.email, known.mobile_number, address),
        process_key=facts.process,
        is_held=bool(list_standing(facts, now)),
        held_until=find_held_until(opened, now),
    )
    async with resources.database.connection() if tx is None else nullcontext(tx) as connection:
        return await forecast_for_debtor(
            connection, resources.keys, merchant=opened.merchant, claim=claim, now=now
        )
