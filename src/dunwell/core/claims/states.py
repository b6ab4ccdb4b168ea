"""The statuses of a claim and their transitions, and the rules of holds (CONTRACT 4; spec, States
and transitions). Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from dunwell.accounts.merchants.actor import ActorKind
from dunwell.platform.errors import Fault, InvalidState, ValidationError
from dunwell.platform.text.translation import LazyText


class Status(StrEnum):
    CREATED = "CREATED"
    IN_PROCESS = "IN_PROCESS"
    COLLECTED = "COLLECTED"
    ARCHIVED = "ARCHIVED"
    WITHDRAWN = "WITHDRAWN"


class ClaimTransition(StrEnum):
    """An event that can change a claim's status."""

    STEP_RAN = "STEP_RAN"
    PAID_IN_FULL = "PAID_IN_FULL"
    STEPS_ENDED = "STEPS_ENDED"
    ARCHIVED_BY_HAND = "ARCHIVED_BY_HAND"
    WITHDRAWN_BY_MERCHANT = "WITHDRAWN_BY_MERCHANT"


ACTIVE = frozenset({Status.CREATED, Status.IN_PROCESS})

TRANSITIONS: dict[tuple[Status, ClaimTransition], Status] = {
    (Status.CREATED, ClaimTransition.STEP_RAN): Status.IN_PROCESS,
    (Status.CREATED, ClaimTransition.PAID_IN_FULL): Status.COLLECTED,
    (Status.CREATED, ClaimTransition.STEPS_ENDED): Status.ARCHIVED,
    (Status.CREATED, ClaimTransition.ARCHIVED_BY_HAND): Status.ARCHIVED,
    (Status.CREATED, ClaimTransition.WITHDRAWN_BY_MERCHANT): Status.WITHDRAWN,
    (Status.IN_PROCESS, ClaimTransition.STEP_RAN): Status.IN_PROCESS,
    (Status.IN_PROCESS, ClaimTransition.PAID_IN_FULL): Status.COLLECTED,
    (Status.IN_PROCESS, ClaimTransition.STEPS_ENDED): Status.ARCHIVED,
    (Status.IN_PROCESS, ClaimTransition.ARCHIVED_BY_HAND): Status.ARCHIVED,
    (Status.IN_PROCESS, ClaimTransition.WITHDRAWN_BY_MERCHANT): Status.WITHDRAWN,
    # A payment is always recorded. For an ended claim it changes only the balance.
    (Status.COLLECTED, ClaimTransition.PAID_IN_FULL): Status.COLLECTED,
    (Status.ARCHIVED, ClaimTransition.PAID_IN_FULL): Status.ARCHIVED,
    (Status.WITHDRAWN, ClaimTransition.PAID_IN_FULL): Status.WITHDRAWN,
}


def decide_status(status: Status, transition: ClaimTransition) -> Status:
    """Return the status after the transition. Raises InvalidState if the table has no entry."""
    next_status = TRANSITIONS.get((status, transition))
    if next_status is None:
        raise InvalidState(
            LazyText(
                "This is no longer possible for a claim that is %(claim_status)s.",
                claim_status=status,
            ),
            state=str(status),
        )
    return next_status


# A debtor can open a hold of one kind only once in this time.
_DEBTOR_HOLD_INTERVAL = timedelta(days=30)


class HoldKind(StrEnum):
    DISPUTE = "DISPUTE"
    PAUSE = "PAUSE"
    MODALITY_REQUESTED = "MODALITY_REQUESTED"
    MODALITY_ACTIVE = "MODALITY_ACTIVE"
    PAYMENT_PENDING = "PAYMENT_PENDING"


DEBTOR_HOLD_KINDS = frozenset({HoldKind.PAUSE, HoldKind.PAYMENT_PENDING})


@dataclass(frozen=True, slots=True)
class Hold:
    kind: HoldKind
    since: datetime
    until: datetime | None
    lifted_at: datetime | None
    actor_kind: ActorKind
    reason: str | None = None
    # None until the hold is stored.
    hold_id: UUID | None = None
    # The id of the actor who opened the hold, such as a debtor's session or a payment request.
    actor_id: str | None = None

    def is_active(self, now: datetime) -> bool:
        return self.lifted_at is None and (self.until is None or now < self.until)


def check_new_hold(hold: Hold, earlier: Iterable[Hold]) -> None:
    """Check that the hold may be opened. Raises ValidationError, InvalidState."""
    if hold.until is not None and hold.until <= hold.since:
        fault = Fault("/until", "The hold must end after it begins.", "WRONG_ORDER")
        raise ValidationError([fault])
    if hold.actor_kind is not ActorKind.DEBTOR or hold.kind not in DEBTOR_HOLD_KINDS:
        return
    if hold.until is None:
        raise ValidationError([Fault("/until", "State when the hold ends.", "REQUIRED")])
    for other in earlier:
        is_similar = other.kind is hold.kind and other.actor_kind is ActorKind.DEBTOR
        if is_similar and hold.since < other.since + _DEBTOR_HOLD_INTERVAL:
            raise InvalidState(
                LazyText("This was already requested in the last 30 days."),
                state=str(hold.kind),
            )
