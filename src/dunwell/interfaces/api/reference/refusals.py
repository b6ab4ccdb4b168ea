"""List the error types that an operation can respond with, by status."""

from dunwell.interfaces.api.failures import INTERNAL_ERROR, FailureKind, get_failure_kind
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

# The refusals of every request that needs a token. ValidationError is one because any query may
# have an unknown parameter.
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
# Errors of a single claim in a creation result. They do not fail the whole request.
_OF_CLAIMS_ALONE = ("DuplicateReferenceNumber", "UnknownTicket")
_CREATION = "createClaims"


def list_kinds(operation: Operation) -> list[FailureKind]:
    """List every error type that the operation can respond with, by status, then name."""
    refusals: set[type[Refusal]] = {*_ALWAYS, *operation.refusals}
    if operation.body is not None:
        refusals |= set(_WITH_BODY)
    if operation.takes_key:
        refusals |= set(_WITH_KEY)
    kinds = {get_failure_kind(each) for each in refusals} | {INTERNAL_ERROR}
    return sorted(kinds, key=lambda kind: (kind.status, kind.name))


def list_statuses(operation: Operation) -> dict[int, list[FailureKind]]:
    """Return the error types of each status."""
    statuses: dict[int, list[FailureKind]] = {}
    for kind in list_kinds(operation):
        if operation.operation_id != _CREATION or kind.name not in _OF_CLAIMS_ALONE:
            statuses.setdefault(kind.status, []).append(kind)
    return statuses
