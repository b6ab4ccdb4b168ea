"""The error types of the API with their statuses, causes and remedies. The reference is generated
from this table.

`platform.errors` has the base classes of the refusals. This is the only module that assigns HTTP
statuses to them.
"""

from dataclasses import dataclass

from dunwell.interfaces.api.schemas import failures
from dunwell.platform import errors
from dunwell.platform.text.wire import Wire


@dataclass(frozen=True, slots=True)
class FailureKind:
    # The value of `type` on the wire.
    name: str
    status: int
    cause: str
    remedy: str
    details: type[Wire] = failures.NoDetails


INTERNAL_ERROR = FailureKind(
    "InternalError", 500,
    "The service made a mistake. Nothing of your request took effect unless a later read shows it.",
    "Send the request again with the same Idempotency-Key. If it fails again, tell the operator "
    "details.requestId.",
    details=failures.RequestId,
)  # fmt: skip

_KINDS: dict[type[errors.Refusal], FailureKind] = {
    errors.InvalidRequest: FailureKind(
        "InvalidRequest", 400,
        "The request cannot be read: its body is not JSON, its form is broken, or a header is "
        "malformed.",
        "Correct the request; the message says where it could not be read.",
    ),
    errors.AuthenticationError: FailureKind(
        "AuthenticationError", 401,
        "There is no access token, or it is wrong, expired or revoked.",
        "Request a new token and send it as Authorization: Bearer <ACCESS_TOKEN>.",
    ),
    errors.InsufficientScope: FailureKind(
        "InsufficientScope", 403,
        "The access token is good, but its credential was not given the right this needs. Nothing "
        "was looked up, so this does not tell whether the path names something.",
        "Use a credential whose scope holds details.right, or ask the operator for one.",
        details=failures.LackingRight,
    ),
    errors.NotFound: FailureKind(
        "NotFound", 404,
        "What the path names does not exist under this merchant, or this credential does not reach "
        "the merchant. The two are never told apart.",
        "Check the ids in the path, and which merchant your credential was made for.",
    ),
    errors.MethodNotAllowed: FailureKind(
        "MethodNotAllowed", 405, "The address exists, but not with this method.",
        "Use one of details.allowed.", details=failures.AllowedChoices,
    ),
    errors.MerchantNotConfigured: FailureKind(
        "MerchantNotConfigured", 409,
        "The operator has not finished setting the merchant up, or a live merchant in Germany or "
        "Austria lacks what the law wants debtors told.",
        "Ask the operator for what details.missing names.", details=failures.MissingParts,
    ),
    errors.DuplicateReferenceNumber: FailureKind(
        "DuplicateReferenceNumber", 409,
        "The merchant has a claim with this referenceNumber already. In a creation result it fails "
        "that claim alone.",
        "If it is the same claim, use details.claimId; if not, give another reference.",
        details=failures.OtherClaim,
    ),
    errors.IdempotencyConflict: FailureKind(
        "IdempotencyConflict", 409,
        "The Idempotency-Key was used for another request, or its first request is still running.",
        "With a Retry-After header: wait and send the same again. Without: use a new key for a new "
        "request.",
    ),
    errors.InvalidState: FailureKind(
        "InvalidState", 409, "The state of the thing forbids it.",
        "Read it again; details.state says where it stands.", details=failures.PresentState,
    ),
    errors.PayloadTooLarge: FailureKind(
        "PayloadTooLarge", 413,
        "The body or the file is larger than allowed, or, with details.used, the merchant's files "
        "take so much of its storage that this one does not fit.",
        "Send less: at most details.limit bytes. With details.used: delete attachments that are no "
        "longer needed, or ask the operator for more storage.", details=failures.SizeLimit,
    ),
    errors.TooSlow: FailureKind(
        "TooSlow", 408, "The head of the request or its body stopped coming before its end.",
        "Send the request again, with the same Idempotency-Key.",
    ),
    errors.AddressTooLong: FailureKind(
        "AddressTooLong", 414, "The request's address is larger than allowed.",
        "Send less in the query: at most details.limit bytes.", details=failures.Limit,
    ),
    errors.HeadTooLarge: FailureKind(
        "HeadTooLarge", 431,
        "The request's address and headers, or the trailers of its chunked body, are larger than "
        "allowed.",
        "Send fewer or smaller headers: at most details.limit bytes.", details=failures.Limit,
    ),
    errors.UnsupportedMediaType: FailureKind(
        "UnsupportedMediaType", 415,
        "The body's media type is not taken here, or a file's content is of a type that is not "
        "allowed or is not what it claims.",
        "Send one of details.allowed.", details=failures.AllowedChoices,
    ),
    errors.ValidationError: FailureKind(
        "ValidationError", 422, "The request can be read, but something in it is wrong.",
        "Correct every fault in details.errors and send again.", details=failures.FieldFaults,
    ),
    errors.UnknownTicket: FailureKind(
        "UnknownTicket", 422,
        "An attachment names an upload ticket that is not this merchant's or has expired. In a "
        "creation result it fails that claim alone.",
        "Upload the file again and use the new ticketId.", details=failures.UnknownTickets,
    ),
    errors.WorkflowAssignmentError: FailureKind(
        "WorkflowAssignmentError", 422,
        "Some claims were not assigned; those that details.errors does not name were.",
        "Look at the message of each claim in details.errors.", details=failures.AssignmentFaults,
    ),
    errors.RateLimited: FailureKind(
        "RateLimited", 429,
        "The credential sent more requests than it may in a minute, or too many connections or "
        "requests at once come from one address, or too many large bodies from one merchant.",
        "Wait as many seconds as Retry-After says.",
    ),
    errors.Unavailable: FailureKind(
        "Unavailable", 503,
        "The service cannot answer now: its database is away or too busy, or its clock is wrong.",
        "Wait as many seconds as Retry-After says and send the same again, with the same "
        "Idempotency-Key.",
    ),
}  # fmt: skip

KINDS = (*_KINDS.values(), INTERNAL_ERROR)


def kind_of(refusal: type[errors.Refusal]) -> FailureKind:
    """Return the kind of this class or of its nearest base class that has one."""
    for each in refusal.__mro__:
        if each in _KINDS:
            return _KINDS[each]
    raise LookupError(refusal.__name__)
