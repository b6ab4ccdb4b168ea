"""The life of a claim as a table (CONTRACT 4; spec, States and transitions).

CREATED means that the first step has not run. COLLECTED means that nothing is outstanding; when a
payment is reversed the claim returns to the state it left. ARCHIVED and WITHDRAWN are final: a
payment is still recorded there, the state stays. Holds stop the process without being states. Pure.
"""

from enum import StrEnum

from dunwell.platform.errors import InvalidState
from dunwell.platform.text.lazy_text import LazyText


class Status(StrEnum):
    CREATED = "CREATED"
    IN_PROCESS = "IN_PROCESS"
    COLLECTED = "COLLECTED"
    ARCHIVED = "ARCHIVED"
    WITHDRAWN = "WITHDRAWN"


class ClaimTransition(StrEnum):
    """What can happen to a claim's state."""

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
    # A payment is always recorded; in a final state it changes the balance alone.
    (Status.COLLECTED, ClaimTransition.PAID_IN_FULL): Status.COLLECTED,
    (Status.ARCHIVED, ClaimTransition.PAID_IN_FULL): Status.ARCHIVED,
    (Status.WITHDRAWN, ClaimTransition.PAID_IN_FULL): Status.WITHDRAWN,
}


def decide_status(status: Status, happening: ClaimTransition) -> Status:
    """The state after the happening. Raises InvalidState where the table has no entry."""
    following = TRANSITIONS.get((status, happening))
    if following is None:
        raise InvalidState(
            LazyText(
                "A claim that is %(claim_status)s does not take part in this any more.",
                claim_status=status,
            ),
            state=str(status),
        )
    return following
