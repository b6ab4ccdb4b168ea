"""The error types of the API with their statuses, causes and remedies, and the codes of faults in a
request. The reference is generated from these tables, and tests compare them with what is in use.
"""

from dataclasses import dataclass

from dunwell.interfaces.api.schemas import failures
from dunwell.platform import errors
from dunwell.platform.text.wire import Wire


@dataclass(frozen=True, slots=True)
class FailureKind:
    """An error type of the API."""

    # The value of `type` on the wire.
    name: str
    status: int
    cause: str
    remedy: str
    details: type[Wire] = failures.NoDetails


INTERNAL_ERROR = FailureKind(
    "InternalError", 500,
    "An internal error occurred. The request took no effect unless a later read shows otherwise.",
    "Repeat the request with the same Idempotency-Key. If it fails again, report "
    "details.requestId to the operator.",
    details=failures.RequestId,
)  # fmt: skip

_KINDS: dict[type[errors.Refusal], FailureKind] = {
    errors.InvalidRequest: FailureKind(
        "InvalidRequest", 400,
        "The request cannot be read: its body is not JSON, its form is malformed, or a header is "
        "malformed.",
        "Correct the request. The message says what could not be read.",
    ),
    errors.AuthenticationError: FailureKind(
        "AuthenticationError", 401,
        "The access token is missing, wrong, expired or revoked.",
        "Request a new token and send it as Authorization: Bearer <ACCESS_TOKEN>.",
    ),
    errors.InsufficientScope: FailureKind(
        "InsufficientScope", 403,
        "The access token is valid, but its credential does not have the required right. This does "
        "not say whether the resource exists, because it was not looked up.",
        "Use a credential whose scope includes details.right, or ask the operator for one.",
        details=failures.LackingRight,
    ),
    errors.NotFound: FailureKind(
        "NotFound", 404,
        "The resource does not exist for this merchant, or the credential has no access to the "
        "merchant. The two cases cannot be distinguished.",
        "Check the ids in the path, and to which merchants your credential has access.",
    ),
    errors.MethodNotAllowed: FailureKind(
        "MethodNotAllowed", 405, "The path exists, but does not support this method.",
        "Use one of details.allowed.", details=failures.AllowedChoices,
    ),
    errors.MerchantNotConfigured: FailureKind(
        "MerchantNotConfigured", 409,
        "The operator has not finished setting up the merchant, or legal details are missing that "
        "a live merchant in Germany or Austria must show to debtors.",
        "Ask the operator to complete what details.missing names.", details=failures.MissingParts,
    ),
    errors.DuplicateReferenceNumber: FailureKind(
        "DuplicateReferenceNumber", 409,
        "The merchant already has a claim with this referenceNumber. In a creation result, only "
        "that claim fails.",
        "If it is the same claim, use details.claimId; otherwise use another reference.",
        details=failures.OtherClaim,
    ),
    errors.IdempotencyConflict: FailureKind(
        "IdempotencyConflict", 409,
        "The Idempotency-Key was used for a different request, or its first request is still "
        "running.",
        "If there is a Retry-After header, wait and repeat the request. Otherwise use a new key.",
    ),
    errors.InvalidState: FailureKind(
        "InvalidState", 409, "The current state does not allow this operation.",
        "Read the resource again. details.state is its current state.",
        details=failures.PresentState,
    ),
    errors.PayloadTooLarge: FailureKind(
        "PayloadTooLarge", 413,
        "The body or the file is larger than allowed. With details.used, the file does not fit "
        "into the merchant's remaining storage.",
        "Send at most details.limit bytes. With details.used, delete attachments that are no "
        "longer needed, or ask the operator for more storage.", details=failures.SizeLimit,
    ),
    errors.TooSlow: FailureKind(
        "TooSlow", 408, "The request's headers or body did not arrive completely in time.",
        "Repeat the request with the same Idempotency-Key.",
    ),
    errors.AddressTooLong: FailureKind(
        "AddressTooLong", 414, "The request's URL is longer than allowed.",
        "Shorten the query. The URL may have at most details.limit bytes.", details=failures.Limit,
    ),
    errors.HeadTooLarge: FailureKind(
        "HeadTooLarge", 431,
        "The request's URL and headers, or the trailers of its chunked body, are larger than "
        "allowed.",
        "Send fewer or smaller headers, at most details.limit bytes.", details=failures.Limit,
    ),
    errors.UnsupportedMediaType: FailureKind(
        "UnsupportedMediaType", 415,
        "The body's media type is not supported, or the type of a file's content is not allowed or "
        "differs from its declared type.",
        "Send one of details.allowed.", details=failures.AllowedChoices,
    ),
    errors.ValidationError: FailureKind(
        "ValidationError", 422, "The request can be read, but values in it are invalid.",
        "Correct every fault in details.errors and repeat the request.",
        details=failures.FieldFaults,
    ),
    errors.UnknownTicket: FailureKind(
        "UnknownTicket", 422,
        "The upload ticket of an attachment does not belong to this merchant or has expired. In a "
        "creation result, only that claim fails.",
        "Upload the file again and use the new ticketId.", details=failures.UnknownTickets,
    ),
    errors.WorkflowAssignmentError: FailureKind(
        "WorkflowAssignmentError", 422,
        "Some claims were not assigned. All claims that details.errors does not name were "
        "assigned.",
        "See the message for each claim in details.errors.", details=failures.AssignmentFaults,
    ),
    errors.RateLimited: FailureKind(
        "RateLimited", 429,
        "The credential exceeded its requests per minute, or one address has too many connections "
        "or requests at once, or one merchant sends too many large bodies at once.",
        "Wait for the seconds in Retry-After, then repeat the request.",
    ),
    errors.Unavailable: FailureKind(
        "Unavailable", 503,
        "The service is unavailable: its database does not respond or is overloaded, or its clock "
        "is wrong.",
        "Wait for the seconds in Retry-After, then repeat the request with the same "
        "Idempotency-Key.",
    ),
}  # fmt: skip

KINDS = (*_KINDS.values(), INTERNAL_ERROR)


def get_failure_kind(refusal: type[errors.Refusal]) -> FailureKind:
    """Return the kind of this class or of its nearest base class that has one."""
    for each in refusal.__mro__:
        if each in _KINDS:
            return _KINDS[each]
    raise LookupError(refusal.__name__)


FAULT_CODES = {
    "REQUIRED": "The field is missing.",
    "UNKNOWN_FIELD": "The field or parameter does not exist. The message suggests the nearest one.",
    "REPEATED": "The field or parameter was given more than once.",
    "MORE_FAULTS": "One response does not list all faults. Correct these and send again.",
    "WRONG_TYPE": "The value has the wrong JSON type.",
    "WRONG_FORMAT": "The value has the wrong format. The message describes the expected format.",
    "NOT_ALLOWED": "The value is not allowed. The message lists the allowed values.",
    "TOO_SHORT": "The text has too few characters.",
    "TOO_LONG": "The text has too many characters.",
    "TOO_FEW": "The list or object has too few entries.",
    "TOO_MANY": "The list or object has too many entries.",
    "TOO_SMALL": "The number is too small.",
    "TOO_LARGE": "The number is too large.",
    "CONTROL_CHARACTER": "The text contains a control character.",
    "EMPTY_TEXT": "The text is blank.",
    "EMPTY_FILE": "The file is empty.",
    "PRIMARY_MISSING": "There is no item of type PRIMARY.",
    "UNKNOWN_ITEM": "The claim has no such item.",
    "UNKNOWN_ENDPOINT": "The merchant has no such webhook endpoint.",
    "UNKNOWN_CURRENCY": "The value is not a currency code of ISO 4217.",
    "UNKNOWN_LANGUAGE": "The value is not a language code of ISO 639.",
    "UNKNOWN_COUNTRY": "The value is not a country code of ISO 3166-1.",
    "WRONG_PHONE_NUMBER": "The value is not a valid phone number.",
    "WRONG_ORDER": "A date that must be later is earlier: a due date or an end.",
    "OTHER_CURRENCY": "The claim is in another currency.",
    "AMOUNT_CHANGED": "The amount due has changed.",
    "IN_FUTURE": "The time is in the future.",
    "BACKWARDS": "The test clock can only be advanced.",
}
