"""Tells the merchant that a modality was requested or answered."""

from dunwell.claims.raise_event import raise_event
from dunwell.events.payloads import payment_modality_state_change
from dunwell.merchants.account import Work
from dunwell.modalities.modality import Modality


async def announce(work: Work, modality: Modality) -> None:
    """PAYMENT_MODALITY_STATE_CHANGE with the modality's state as it is given."""
    await raise_event(
        work,
        modality.claim_id,
        lambda head: payment_modality_state_change(
            head, modality.type.value, modality.state.value, modality.modality_id
        ),
    )
