"""A payment modality, which is a plan or a deferral: its states (drawn in docs/states.md) and how
it ends.

Only a response changes the state (CONTRACT 5). `ended_reason` says how a modality ended. One that
has ended can no longer be answered; a rejection is itself an end. Pure.
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
from dunwell.platform.text.translation import LazyText

# The kinds of hold that a modality opens. A claim has one modality at a time.
HOLD_KINDS = (HoldKind.MODALITY_REQUESTED, HoldKind.MODALITY_ACTIVE)


class ModalityType(StrEnum):
    PAYMENT_PLAN = "PAYMENT_PLAN"
    # The contract spells it this way.
    PAYMENT_DEFEREMENT = "PAYMENT_DEFEREMENT"


class ModalityState(StrEnum):
    REQUESTED = "REQUESTED"
    APPROVED = "APPROVED"
    REJECTED = "REJECTED"


# State -> possible next states. Repeating a response changes nothing; any other change is refused.
TRANSITIONS: Mapping[ModalityState, frozenset[ModalityState]] = {
    ModalityState.REQUESTED: frozenset({ModalityState.APPROVED, ModalityState.REJECTED}),
    ModalityState.APPROVED: frozenset(),
    ModalityState.REJECTED: frozenset(),
}


class ModalityEndReason(StrEnum):
    # Withdrawn by the debtor.
    WITHDRAWN = "WITHDRAWN"
    # An instalment was missed.
    BROKEN = "BROKEN"
    # The modality or the claim was paid in full.
    FULFILLED = "FULFILLED"
    # The day of the deferral is over or, for a request, its first date.
    PASSED = "PASSED"
    REJECTED = "REJECTED"
    CLAIM_ENDED = "CLAIM_ENDED"


class Modality(msgspec.Struct, frozen=True, gc=False):
    modality_id: UUID
    claim_id: int
    type: ModalityType
    state: ModalityState
    currency: str
    # The amount outstanding at the time of the request, which the schedule divides.
    amount_cents: int
    # A deferral has one entry. Payments since the request are applied to the earliest entries
    # first.
    schedule: tuple[Instalment, ...]
    # Paid since the request, or until the end of a modality that has ended.
    paid_cents: int
    requested_at: datetime
    # Who requested the modality.
    actor_kind: ActorKind
    answered_at: datetime | None = None
    # The merchant's message about a rejection.
    reason: str | None = None
    ended_at: datetime | None = None
    ended_reason: ModalityEndReason | None = None


def find_open_instalment(modality: Modality) -> Instalment | None:
    """Return the first instalment of an active plan that is not fully paid, or None."""
    is_in_force = modality.state is ModalityState.APPROVED and modality.ended_at is None
    if modality.type is not ModalityType.PAYMENT_PLAN or not is_in_force:
        return None
    return next((each for each in modality.schedule if not each.is_paid), None)


def check_answer(modality: Modality, answer: ModalityState) -> bool:
    """Return whether the response changes anything. Raises InvalidState if it is not possible."""
    ended = modality.ended_reason
    if ended is not None and ended is not ModalityEndReason.REJECTED:
        raise InvalidState(
            LazyText(
                "The payment modality has ended. It is no longer possible to respond to it.",
                modality_end=ended,
            ),
            state=str(ended),
        )
    if modality.state is answer:
        return False
    if answer not in TRANSITIONS[modality.state]:
        raise InvalidState(
            LazyText(
                "The payment modality is already %(modality_state)s. A response is final.",
                modality_state=modality.state,
            ),
            state=str(modality.state),
        )
    return True
