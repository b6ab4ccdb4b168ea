"""The names that the document gives to its choices, so that generators of clients make one type of
each instead of one per field. Pure.

The values here are in the order in which readers see them.
"""

from collections.abc import Collection
from typing import Any

CHOICES: dict[str, tuple[str, ...]] = {
    "ActorKind": ("SYSTEM", "OPERATOR", "CREDENTIAL", "USER", "DEBTOR"),
    "Channel": ("EMAIL", "SMS", "LETTER"),
    "ClaimStatus": ("CREATED", "IN_PROCESS", "COLLECTED", "ARCHIVED", "WITHDRAWN"),
    "CommunicationState": (
        "PLANNED", "ATTACHMENT_MISSING", "HANDED_OVER", "ACCEPTED", "FAILED", "CANCELLED",
        "UNKNOWN",
    ),
    "ContactDelay": ("GUARD_DAY", "GUARD_WEEK", "QUIET_HOURS", "CONTACT_HOURS", "PERSON_DIED"),
    "DisputeOutcome": ("ACCEPTED", "REJECTED"),
    "DisputeParty": ("DEBTOR", "MERCHANT"),
    "DisputeState": ("OPEN", "ACCEPTED", "REJECTED", "WITHDRAWN"),
    "EndpointState": ("WORKING", "FAILING", "SWITCHED_OFF"),
    "EventType": (
        "DISPUTED", "ESCALATED", "FEE_ADDED", "PAYMENT_IN_PROGRESS", "PAYMENT_COMPLETED",
        "DETAILS_ACCESSED", "PAYMENT_MODALITY_STATE_CHANGE", "CHECKPOINT_REACHED", "ARCHIVED",
    ),
    "FeeType": ("COLLECTION_FEE", "DUNNING_FEE"),
    "HoldKind": ("DISPUTE", "PAUSE", "MODALITY_REQUESTED", "MODALITY_ACTIVE", "PAYMENT_PENDING"),
    "ItemType": ("PRIMARY", "COLLECTION_FEE", "DUNNING_FEE"),
    "ModalityEnd": ("WITHDRAWN", "BROKEN", "FULFILLED", "PASSED", "REJECTED", "CLAIM_ENDED"),
    "ModalityState": ("REQUESTED", "APPROVED", "REJECTED"),
    "ModalityType": ("PAYMENT_PLAN", "PAYMENT_DEFEREMENT"),
    "NextStepOutcome": ("RUN", "SKIPPED"),
    "PaymentRequestState": (
        "CREATED", "OPEN", "PENDING", "COMPLETED", "FAILED", "CANCELLED", "EXPIRED",
    ),
    "PendingContactState": ("PLANNED", "ATTACHMENT_MISSING", "HANDED_OVER", "UNKNOWN"),
    "ProcessStepKind": ("COMMUNICATION", "WAIT", "FEE", "CHECKPOINT", "ARCHIVE"),
    "RuleOutcome": (
        "MATCHED", "INACTIVE", "UNMET", "SKIPPED_DEACTIVATED", "SKIPPED_DELETED",
        "SKIPPED_UNPUBLISHED", "SKIPPED_CURRENCY", "NOT_REACHED",
    ),
    "Salutation": ("MR", "MS", "NEUTRAL"),
    "ScenarioStepKind": ("COMMUNICATION", "WAIT", "FEE", "CHECKPOINT"),
    "StepOutcome": ("DONE", "SKIPPED", "FAILED"),
    "SuppressionReason": ("BOUNCE", "DEBTOR", "MERCHANT", "OPERATOR", "WRONG_PERSON"),
    "SwitchOffReason": ("GONE", "FAILING"),
    "TokenErrorCode": (
        "invalid_request", "invalid_client", "unsupported_grant_type", "server_error",
        "temporarily_unavailable",
    ),
    "Weekday": ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"),
}  # fmt: skip

_NAMES = {frozenset(values): name for name, values in CHOICES.items()}
assert len(_NAMES) == len(CHOICES), "two names for the same values"


def get_choice_name(values: Collection[Any]) -> str:
    """The name of the choice between exactly these values. Raises LookupError."""
    name = _NAMES.get(frozenset(values))
    if name is None:
        listed = ", ".join(map(str, values))
        raise LookupError(f"The choice between {listed} has no name. Give it one in CHOICES.")
    return name


def describe_choice(name: str) -> dict[str, Any]:
    """The schema of the component with this name."""
    return {"title": name, "type": "string", "enum": list(CHOICES[name])}
