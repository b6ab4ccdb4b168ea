"""The errors with which the service refuses a request, as one class hierarchy. It knows nothing of
HTTP: `api` maps the classes to status codes.

   Refusal                     details
   |- InvalidRequest           -
   |- ValidationError          errors: [{path, message, code}]
   |- AuthenticationError      -
   |- InsufficientScope        right
   |- NotFound                 -
   |- MethodNotAllowed         allowed
   |- MerchantNotConfigured    missing
   |- DuplicateReferenceNumber claimId
   |- IdempotencyConflict      -
   |- InvalidState             state
   |  `- EditConflict          state; InvalidState on the wire
   |- PayloadTooLarge          limit
   |- AddressTooLong           limit
   |- HeadTooLarge             limit
   |- TooSlow                  -
   |- UnsupportedMediaType     allowed
   |- UnknownTicket            -
   |- RateLimited              -, retry_after
   |- WorkflowAssignmentError  errors: [{claimId, message}]
   `- Unavailable              -, retry_after

The class name is the type on the wire. A message says what happened and what to do next. Any other
exception is a defect of this program; clients see it as InternalError without details. Pure.
"""

from dataclasses import dataclass
from typing import Any


class Refusal(Exception):  # noqa: N818 - a refusal is not an error of this program
    """A request that is refused, with the reason in words for the caller."""

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = str(message)
        # A `LazyText` if pages can show it in the reader's language.
        self.text = message
        self.details: dict[str, Any] = details

    @property
    def type(self) -> str:
        return type(self).__name__


class InvalidRequest(Refusal):
    """The request cannot be parsed: not JSON, a broken form, a malformed header."""


class AuthenticationError(Refusal):
    """The credential or token is missing, wrong, expired or revoked."""


class InsufficientScope(Refusal):
    """The credential or user lacks the permission. This is checked before anything is looked up."""


class NotFound(Refusal):
    """The object does not exist or belongs to another merchant. The response never says which."""


class MethodNotAllowed(Refusal):
    """The address exists, but not with this method."""


class MerchantNotConfigured(Refusal):
    """The operator has not completed the merchant's configuration (spec, What the service does
    5)."""


class DuplicateReferenceNumber(Refusal):
    """The merchant already has a claim with this reference number."""


class IdempotencyConflict(Refusal):
    """The idempotency key was used for another request, or its first request is still running."""

    def __init__(self, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class InvalidState(Refusal):
    """The object's state does not permit this."""


class EditConflict(InvalidState):
    """Someone else changed the object after this edit began, and nothing was saved.

    `part` is the part that was edited. `current` is its present value, None if it was deleted or is
    not shown. `change` says who changed it last and when, None if unknown.
    """

    def __init__(
        self, message: str, *, part: str = "", current: Any = None, change: Any = None,
        state: str = "CHANGED",
    ) -> None:  # fmt: skip
        super().__init__(message, state=state)
        self.part = part
        self.current = current
        self.change = change


class PayloadTooLarge(Refusal):
    """The body has more bytes than the limit."""


class AddressTooLong(Refusal):
    """The request line has more bytes than the limit."""


class HeadTooLarge(Refusal):
    """The request line and headers, or the trailers, have more bytes than the limit."""


class TooSlow(Refusal):
    """The client stopped sending before the end of the request."""


class UnsupportedMediaType(Refusal):
    """The type of a body or file is not supported, or its content does not match its type."""


class UnknownTicket(Refusal):
    """The upload ticket never existed, has expired or belongs to another merchant."""


class WorkflowAssignmentError(Refusal):
    """Some claims were assigned incorrectly (spec, Errors 3)."""


class RateLimited(Refusal):
    """The caller sent too many requests. `retry_after` is in seconds."""

    def __init__(self, message: str, *, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Unavailable(Refusal):
    """The service cannot answer now, for example because the database is unavailable. `retry_after`
    is in seconds."""

    def __init__(self, message: str, *, retry_after: int = 2) -> None:
        super().__init__(message)
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault in an input: a JSON pointer from its root, a message, and a stable code."""

    path: str
    message: str
    code: str


class ValidationError(Refusal):
    """The input can be parsed but is not valid. The error has all faults."""

    def __init__(self, faults: list[Fault], message: str | None = None) -> None:
        count = len(faults)
        default = "1 fault was found." if count == 1 else f"{count} faults were found."
        super().__init__(
            message or f"{default} See details.errors; correct them and send again.",
            errors=[{"path": f.path, "message": str(f.message), "code": f.code} for f in faults],
        )
        self.faults = faults
