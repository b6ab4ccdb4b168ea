"""Looks up what a debtor can ask for instead of a refused plan or deferral."""

from contextlib import nullcontext
from datetime import datetime

from dunwell.cases.modalities.bounds import ClaimFacts
from dunwell.cases.modalities.offers import Offer, find_nearest_offer, get_terms
from dunwell.cases.modalities.progress import local_date
from dunwell.cases.modalities.store import load_modalities
from dunwell.interfaces.landing.arranging.asking import may_ask
from dunwell.interfaces.landing.claim.news import find_refusal, is_recent_refusal
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.session.states import decide_state
from dunwell.interfaces.landing.session.store_opened import OpenedClaim
from dunwell.platform.database.database import Connection
from dunwell.platform.resources import Resources

# A debtor can ask three times in the thirty days that count; the others are what the merchant
# itself has recorded. More than one page of them says nothing about what can be asked for.
_EARLIER = 50


async def find_alternative(
    resources: Resources, opened: OpenedClaim, now: datetime, tx: Connection | None = None
) -> Offer | None:
    """Return the nearest offer where the page shows a refusal and the debtor may ask again.

    One statement, or none where the page shows no refusal. now: the merchant's. tx: the caller's
    connection, if it has one open: a caller never holds one while it waits for another.
    """
    facts, merchant = opened.facts, opened.merchant
    is_shown = find_refusal(opened, decide_state(facts, now), now) is not None
    if not is_shown or not opened.session.level.reaches(Level.FACT):
        return None
    async with resources.database.connection() if tx is None else nullcontext(tx) as connection:
        earlier = await load_modalities(
            connection, merchant.merchant_id, facts.claim_id, limit=_EARLIER
        )
    refused = [get_terms(each) for each in earlier if is_recent_refusal(each, now)]
    if not refused or not may_ask(earlier, now):
        return None
    return find_nearest_offer(
        refused,
        merchant.configuration.modalities,
        ClaimFacts(facts.outstanding_cents, facts.max_deferral_on),
        local_date(now, merchant.configuration.timezone),
    )
