"""Which error types an operation can answer, by status."""

from dunwell.interfaces.api.failures import INTERNAL_ERROR, FailureKind, kind_of
from dunwell.interfaces.api.operation import Operation
from dunwell.platform.errors import (
    AuthenticationError,
    IdempotencyConflict,
    InsufficientScope,
    InvalidRequest,
    NotFound,
    PayloadTooLarge,
    RateLimited,
    Refusal,
    Unavailable,
    UnsupportedMediaType,
    ValidationError,
)

# What can happen to every request that needs a token; a query may hold an unknown name.
_ALWAYS = (
    AuthenticationError,
    InsufficientScope,
    NotFound,
    ValidationError,
    RateLimited,
    Unavailable,
)
_WITH_BODY = (InvalidRequest, PayloadTooLarge, UnsupportedMediaType)
_WITH_KEY = (InvalidRequest, IdempotencyConflict)
# Errors of a single claim in a creation result; none of them fails the request as a whole.
_OF_CLAIMS_ALONE = ("DuplicateReferenceNumber", "UnknownTicket")
_CREATION = "createClaims"


def list_kinds(operation: Operation) -> list[FailureKind]:
    """Every type the operation can answer, by status, then name."""
    refusals: set[type[Refusal]] = {*_ALWAYS, *operation.refusals}
    if operation.body is not None:
        refusals |= set(_WITH_BODY)
    if operation.takes_key:
        refusals |= set(_WITH_KEY)
    kinds = {kind_of(each) for each in refusals} | {INTERNAL_ERROR}
    return sorted(kinds, key=lambda kind: (kind.status, kind.name))


def list_statuses(operation: Operation) -> dict[int, list[FailureKind]]:
    """The types that an error answer of each status can have."""
    statuses: dict[int, list[FailureKind]] = {}
    for kind in list_kinds(operation):
        if operation.operation_id != _CREATION or kind.name not in _OF_CLAIMS_ALONE:
            statuses.setdefault(kind.status, []).append(kind)
    return statuses
