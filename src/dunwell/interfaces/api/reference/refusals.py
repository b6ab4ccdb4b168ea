"""The errors of an operation in the reference: the types that it can respond with, by status, and
an example of each error exactly as the service returns it. A test provokes every one.
"""

from typing import Any

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
_SINGLE_CLAIM_ERRORS = ("DuplicateReferenceNumber", "UnknownTicket")
_CREATE_CLAIMS = "createClaims"


def list_kinds(operation: Operation) -> list[FailureKind]:
    """List every error type that the operation can respond with, by status, then name."""
    refusals: set[type[Refusal]] = {*_ALWAYS, *operation.refusals}
    if operation.body is not None:
        refusals |= set(_WITH_BODY)
    if operation.accepts_idempotency_key:
        refusals |= set(_WITH_KEY)
    kinds = {get_failure_kind(each) for each in refusals} | {INTERNAL_ERROR}
    return sorted(kinds, key=lambda kind: (kind.status, kind.name))


def list_statuses(operation: Operation) -> dict[int, list[FailureKind]]:
    """Return the error types that fail the whole request, by status."""
    statuses: dict[int, list[FailureKind]] = {}
    for kind in list_kinds(operation):
        if operation.operation_id != _CREATE_CLAIMS or kind.name not in _SINGLE_CLAIM_ERRORS:
            statuses.setdefault(kind.status, []).append(kind)
    return statuses


# The message and details of each error type.
_EXAMPLES: dict[str, tuple[str, dict[str, Any]]] = {
    "InvalidRequest": (
        "The body is not JSON: Input data was truncated. Send a JSON array.",
        {},
    ),
    "AuthenticationError": (
        "The access token is wrong, expired or revoked. Request a new one: POST /api/token.",
        {},
    ),
    "InsufficientScope": (
        (
            "This needs the permission to record payments, items and fees (RECORD_MONEY), which "
            "you do not have. Ask the person who gave you access."
        ),
        {"right": "RECORD_MONEY"},
    ),
    "NotFound": ("There is no claim 4711.", {}),
    "MethodNotAllowed": (
        "/api/merchants/1/uploads does not support GET. Use POST.",
        {"allowed": ["POST"]},
    ),
    "MerchantNotConfigured": (
        "The operator has not finished setting this merchant up; see details.missing.",
        {"missing": ["legal"]},
    ),
    "DuplicateReferenceNumber": (
        "An earlier claim has this referenceNumber; see details.claimId.",
        {"claimId": 4711},
    ),
    "IdempotencyConflict": (
        "This Idempotency-Key was used for another request. Use a new key for a new request.",
        {},
    ),
    "InvalidState": (
        "This is no longer possible for a claim that is ARCHIVED.",
        {"state": "ARCHIVED"},
    ),
    "PayloadTooLarge": (
        "The body is larger than the limit of 10485760 bytes. Send less.",
        {"limit": 10485760},
    ),
    "TooSlow": ("The request's headers did not arrive in time. Send it again.", {}),
    "AddressTooLong": (
        "The request's address is larger than the limit of 65536 bytes. Send less.",
        {"limit": 65536},
    ),
    "HeadTooLarge": (
        "The head of the request is larger than the limit of 65536 bytes. Send less.",
        {"limit": 65536},
    ),
    "UnsupportedMediaType": (
        "The body must be sent as application/json; set the Content-Type header.",
        {"allowed": ["application/json"]},
    ),
    "ValidationError": (
        "3 faults were found. See details.errors; correct them and send again.",
        {
            "errors": [
                {
                    "path": "/amount",
                    "message": "Expected an integer, not a string.",
                    "code": "WRONG_TYPE",
                },
                {
                    "path": "/transactionId",
                    "message": '"transactionId" is required.',
                    "code": "REQUIRED",
                },
                {
                    "path": "/transactionID",
                    "message": '"transactionID" is not known here. Did you mean "transactionId"?',
                    "code": "UNKNOWN_FIELD",
                },
            ]
        },
    ),
    "UnknownTicket": (
        "No usable upload has this ticket; upload the file again and use the new ticketId.",
        {"ticketIds": ["01955479-8c10-7d20-8f3e-7a6b5c4d3e2f"]},
    ),
    "WorkflowAssignmentError": (
        "Some claims were not assigned. See details.errors. All others were assigned.",
        {"errors": [{"claimId": 4711, "message": "There is no such claim."}]},
    ),
    "RateLimited": (
        (
            "This credential may send 600 requests a minute. Wait for the seconds in Retry-After, "
            "then continue."
        ),
        {},
    ),
    "Unavailable": ("The database is not available. Try again shortly.", {}),
    "InternalError": (
        (
            "An internal error occurred. Repeat the request. If it fails again, report "
            "details.requestId to the operator."
        ),
        {"requestId": "01955a1c-0c00-7f90-b590-064113fb52cc"},
    ),
}

# The responses of the token endpoint, by status.
TOKEN_FAILURES = {
    400: {
        "error": "unsupported_grant_type",
        "error_description": "Send grant_type client_credentials.",
    },
    401: {
        "error": "invalid_client",
        "error_description": "The client id or the client secret is wrong, or was revoked.",
    },
    413: {
        "error": "invalid_request",
        "error_description": "The body is larger than the limit of 8192 bytes. Send less.",
    },
    500: {
        "error": "server_error",
        "error_description": "Try again. If it fails again, inform the operator.",
    },
    503: {
        "error": "temporarily_unavailable",
        "error_description": "The database is not available. Try again shortly.",
    },
}


def build_failure_example(name: str) -> dict[str, Any]:
    """Return the whole response body for an error of this type."""
    message, details = _EXAMPLES[name]
    return {"error": {"type": name, "message": message, "details": details}, "result": None}
