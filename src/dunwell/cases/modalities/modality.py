"""What a payment modality is: a plan or a deferment, its states (drawn in docs/states.md) and how
it ends.

Only an answer moves the state (CONTRACT 5). How a modality ended stands beside it: `ended_reason`.
One that has ended takes no answer any more, but the rejection that ended it. Pure.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.actor import ActorKind
from dunwell.cases.modalities.instalments import Instalment
from dunwell.core.claims.states import HoldKind
from dunwell.platform.errors import InvalidState
from dunwell.platform.text.lazy_text import LazyText

# What a live modality holds its claim by; a claim has one modality at a time.
HOLD_KINDS = (HoldKind.MODALITY_REQUESTED, HoldKind.MODALITY_ACTIVE)


class ModalityType(StrEnum):
    PAYMENT_PLAN = "PAYMENT_PLAN"
    # Spelled as the contract has it.
    PAYMENT_DEFEREMENT = "PAYMENT_DEFEREMENT"


class ModalityState(StrEnum):
    REQUESTED = "REQUESTED"
    APPROVED = "APPROVED"
    REJECTED = "REJECTED"


# State -> what it may become; the same answer again changes nothing, all else is refused.
TRANSITIONS: Mapping[ModalityState, frozenset[ModalityState]] = {
    ModalityState.REQUESTED: frozenset({ModalityState.APPROVED, ModalityState.REJECTED}),
    ModalityState.APPROVED: frozenset(),
    ModalityState.REJECTED: frozenset(),
}


class ModalityEndReason(StrEnum):
    # By the debtor.
    WITHDRAWN = "WITHDRAWN"
    # A rate was missed.
    BROKEN = "BROKEN"
    # All of it was paid, or the claim was.
    FULFILLED = "FULFILLED"
    # The date deferred to is over; of a request, the first date it asked for.
    PASSED = "PASSED"
    REJECTED = "REJECTED"
    CLAIM_ENDED = "CLAIM_ENDED"


class Modality(msgspec.Struct, frozen=True, gc=False):
    modality_id: UUID
    claim_id: int
    type: ModalityType
    state: ModalityState
    currency: str
    # What was outstanding when it was asked for: what the schedule shares out.
    amount_cents: int
    # A deferment's has one entry. What was paid since the request pays the earliest first.
    schedule: tuple[Instalment, ...]
    # Paid since the request; of one that has ended, until then.
    paid_cents: int
    requested_at: datetime
    # Who asked for it.
    actor_kind: ActorKind
    answered_at: datetime | None = None
    # The merchant's words on a rejection.
    reason: str | None = None
    ended_at: datetime | None = None
    ended_reason: ModalityEndReason | None = None


def find_open_instalment(modality: Modality) -> Instalment | None:
    """The first rate of a plan in force that is not paid in full."""
    is_in_force = modality.state is ModalityState.APPROVED and modality.ended_at is None
    if modality.type is not ModalityType.PAYMENT_PLAN or not is_in_force:
        return None
    return next((each for each in modality.schedule if not each.is_paid), None)


def check_answer(modality: Modality, answer: ModalityState) -> bool:
    """Whether the answer changes anything. Raises InvalidState where it cannot be given."""
    ended = modality.ended_reason
    if ended is not None and ended is not ModalityEndReason.REJECTED:
        raise InvalidState(
            LazyText(
                "The payment modality has ended; it cannot be answered any more.",
                modality_end=ended,
            ),
            state=str(ended),
        )
    if modality.state is answer:
        return False
    if answer not in TRANSITIONS[modality.state]:
        raise InvalidState(
            LazyText(
                "The payment modality is %(modality_state)s already; an answer is final.",
                modality_state=modality.state,
            ),
            state=str(modality.state),
        )
    return True
