"""Rewrite the finished OpenAPI document so that client generators understand it, and give every
enum a name."""

from collections.abc import Collection
from typing import Any

from dunwell.accounts.merchants.configuration import CHANNELS

# The values of each enum, by the name that its component gets.
CHOICES: dict[str, tuple[str, ...]] = {
    "ActorKind": ("SYSTEM", "OPERATOR", "CREDENTIAL", "USER", "DEBTOR"),
    "Channel": CHANNELS,
    "ClaimStatus": ("CREATED", "IN_PROCESS", "COLLECTED", "ARCHIVED", "WITHDRAWN"),
    "CollectionCancelReason": (
        "MANDATE_ENDED", "PLAN_ENDED", "PAID", "NOT_NOTIFIED", "NOT_RELEASED", "DISPUTED",
        "HELD_BACK",
    ),
    "CollectionState": (
        "PLANNED", "PRENOTIFIED", "RELEASED", "DELIVERED", "COLLECTED", "RETURNED", "CANCELLED",
    ),
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
        "PAYMENT_REVERSED", "PAYMENT_REFUNDED", "MANDATE_CHANGED",
    ),
    "EventInclusion": ("additions",),
    "FeeType": ("COLLECTION_FEE", "DUNNING_FEE"),
    "HoldKind": ("DISPUTE", "PAUSE", "MODALITY_REQUESTED", "MODALITY_ACTIVE", "PAYMENT_PENDING"),
    "ItemType": ("PRIMARY", "COLLECTION_FEE", "DUNNING_FEE"),
    "MandateEnd": ("REVOKED", "RETURNED", "UNUSED", "PLAN_ENDED", "ACCOUNT_CLOSED"),
    "MandateState": ("REQUESTED", "ACTIVE", "REVOKED", "FAILED", "EXPIRED"),
    "ModalityEnd": ("WITHDRAWN", "BROKEN", "FULFILLED", "PASSED", "REJECTED", "CLAIM_ENDED"),
    "ModalityState": ("REQUESTED", "APPROVED", "REJECTED"),
    "ModalityType": ("PAYMENT_PLAN", "PAYMENT_DEFEREMENT"),
    "MovementKind": (
        "PAID", "REFUNDED", "REFUND_FAILED", "CHARGED_BACK", "CHARGEBACK_REVERSED", "REVERSED",
    ),
    "NextStepOutcome": ("RUN", "SKIPPED"),
    "PaymentRequestState": (
        "CREATED", "OPEN", "PENDING", "COLLECTING", "COMPLETED", "FAILED", "CANCELLED", "EXPIRED",
    ),
    "PendingContactState": ("PLANNED", "ATTACHMENT_MISSING", "HANDED_OVER", "UNKNOWN"),
    "ProcessStepKind": ("COMMUNICATION", "WAIT", "FEE", "CHECKPOINT", "ARCHIVE"),
    "RefundEffect": ("SURPLUS", "REDUCE_CLAIM", "REOPEN"),
    "RefundRefusal": ("PROVIDER", "NOTHING_LEFT", "ACCOUNT_CLOSED"),
    "RefundState": ("CREATED", "ACCEPTED", "BOOKED", "REFUSED", "FAILED", "NOT_BOOKED"),
    "RefundStatus": ("REFUNDED", "REFUND_FAILED"),
    "ReviewReason": (
        "OTHER_CURRENCY", "OTHER_AMOUNT", "NOTHING_TO_RETURN", "REFUND_FAILED", "UNKNOWN_ORDER",
        "CLAIM_ENDED",
    ),
    "ReversalStatus": ("REVERSED", "CHARGED_BACK", "CHARGEBACK_REVERSED"),
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
assert len(_NAMES) == len(CHOICES), "two enums have the same values"


def get_choice_name(values: Collection[Any]) -> str:
    """Return the name of the enum with exactly these values. Raises LookupError."""
    name = _NAMES.get(frozenset(values))
    if name is None:
        listed = ", ".join(map(str, values))
        raise LookupError(f"The choice between {listed} has no name. Give it one in CHOICES.")
    return name


def describe_choice(name: str) -> dict[str, Any]:
    """Return the schema of the component with this name."""
    return {"title": name, "type": "string", "enum": list(CHOICES[name])}


_ALWAYS_NULL = "AlwaysNull"
_NULL = {"type": "null"}
_MAX_INT32 = 2**31 - 1
# Values of these keys are example data, not schemas.
_DATA = ("example", "examples")


def prepare_for_generators(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with the rules applied and the components of the enums added.

    Raises LookupError if an enum has no name in `CHOICES`.
    """
    prepared: dict[str, Any] = _rewrite(document)
    named = prepared["components"]["schemas"]
    for name in _list_references(prepared) & CHOICES.keys():
        assert name not in named, name
        named[name] = describe_choice(name)
    # If a field's schema is only {"type": "null"}, openapi-generator cannot generate its Python
    # client at all, and its Java client cannot distinguish a created claim from a failed one. A
    # string that is always null means the same.
    named[_ALWAYS_NULL] = {
        "title": _ALWAYS_NULL,
        "description": "Always null.",
        "type": ["string", "null"],
        "const": None,
    }
    prepared["components"]["schemas"] = dict(sorted(named.items()))
    return prepared


def _rewrite(part: Any) -> Any:
    if isinstance(part, list):
        return [_rewrite(each) for each in part]
    if not isinstance(part, dict):
        return part
    rewritten = {
        name: each if name in _DATA else _rewrite(each)
        for name, each in part.items()
        if name != "properties"
    }
    if "properties" in part:
        # The keys below `properties` are names of fields, which may equal any keyword.
        rewritten["properties"] = {
            name: _refer_to(_ALWAYS_NULL) if each == _NULL else _rewrite(each)
            for name, each in part["properties"].items()
        }
    return _name_choice(_add_format(rewritten))


def _add_format(schema: dict[str, Any]) -> dict[str, Any]:
    """Add a format to integers. Without one, generators use 32 bits, and ids need more."""
    kinds = schema.get("type", ())
    if "integer" not in (kinds if isinstance(kinds, list) else [kinds]) or "format" in schema:
        return schema
    is_small = schema.get("maximum", _MAX_INT32 + 1) <= _MAX_INT32
    return {**schema, "format": "int32" if is_small else "int64"}


def _name_choice(schema: dict[str, Any]) -> dict[str, Any]:
    if "enum" not in schema:
        return schema
    rest = {name: each for name, each in schema.items() if name not in ("enum", "type")}
    return _refer_to(get_choice_name(schema["enum"])) | rest


def _refer_to(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _list_references(part: Any) -> set[str]:
    """Return the names of all schemas that are referred to."""
    if isinstance(part, list):
        return set().union(*map(_list_references, part))
    if not isinstance(part, dict):
        return set()
    names = set().union(*map(_list_references, part.values()))
    if isinstance(part.get("$ref"), str):
        names.add(part["$ref"].rpartition("/")[2])
    return names
