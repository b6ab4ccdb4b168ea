"""Hands a debtor over to a payment provider, with what was chosen."""

from enum import StrEnum

from dunwell.errors import InvalidState, ValidationError
from dunwell.landing.session.store_opened import OpenedClaim
from dunwell.landing.web.site import Site
from dunwell.merchants.actor import debtor_actor
from dunwell.payments.provider import ProviderAway
from dunwell.payments.start_payment import StartPayment, start_payment


class NotHandedOff(StrEnum):
    # The provider cannot be reached.
    AWAY = "AWAY"
    # Paid, ended, or money under way since the page was shown: the claim page says which.
    NOT_PAYABLE = "NOT_PAYABLE"
    # Another sum is owed.
    CHANGED = "CHANGED"


async def hand_off(site: Site, opened: OpenedClaim, wanted: StartPayment) -> str | NotHandedOff:
    """The provider's page to go to. Raises ValidationError for a provider there is not."""
    actor = debtor_actor(str(opened.session.session_id))
    try:
        started = await start_payment(
            site.resources,
            site.providers,
            opened.merchant,
            actor=actor,
            claim_id=opened.facts.claim_id,
            wanted=wanted,
        )
    except ProviderAway:
        return NotHandedOff.AWAY
    except InvalidState:
        return NotHandedOff.NOT_PAYABLE
    except ValidationError as refusal:
        if all(fault.code != "AMOUNT_CHANGED" for fault in refusal.faults):
            raise
        return NotHandedOff.CHANGED
    return started.url
