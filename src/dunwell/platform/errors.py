"""What Dunwell refuses, as one tree. There is no HTTP here; `api` alone maps types to statuses.

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

The class name is the wire type. A message says what happened and what to do next. A fault of our
own is no Refusal: it is any other exception, shown to callers as InternalError and nothing else.
Pure.
"""

from dataclasses import dataclass
from typing import Any


class Refusal(Exception):  # noqa: N818 - the field's word; most refusals are no faults of ours
    """Something asked for that is not done, with the reason in words for the asker."""

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = str(message)
        # A `LazyText` where pages show it in the reader's language.
        self.text = message
        self.details: dict[str, Any] = details

    @property
    def type(self) -> str:
        return type(self).__name__


class InvalidRequest(Refusal):
    """The request cannot be read at all: not JSON, a broken form, a malformed header."""


class AuthenticationError(Refusal):
    """No, a bad, an expired or a revoked credential or token."""


class InsufficientScope(Refusal):
    """The credential or the person lacks the right; told before anything is looked up."""


class NotFound(Refusal):
    """Absent, or another merchant's: the two are never told apart."""


class MethodNotAllowed(Refusal):
    """The address exists, the method does not."""


class MerchantNotConfigured(Refusal):
    """The operator has not finished setting the merchant up (spec, What the service does 5)."""


class DuplicateReferenceNumber(Refusal):
    """The merchant already has a claim with this reference."""


class IdempotencyConflict(Refusal):
    """The key was used for another request, or its first request is still running."""

    def __init__(self, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class InvalidState(Refusal):
    """The state of the thing forbids it."""


class EditConflict(InvalidState):
    """Somebody else changed what this edit began with, and nothing was saved.

    `part`: of what was edited. `current`: how it is now; None: it is gone, or not said. `change`:
    who changed it last and when; None: unknown.
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
    """More bytes than the limit."""


class AddressTooLong(Refusal):
    """A request's first line of more bytes than the limit."""


class HeadTooLarge(Refusal):
    """A request's first line and headers, or its trailers, of more bytes than the limit."""


class TooSlow(Refusal):
    """A request that stopped coming before its end."""


class UnsupportedMediaType(Refusal):
    """A body or file of a type that is not taken, or whose content is not what it claims."""


class UnknownTicket(Refusal):
    """An upload ticket that is not this merchant's, never was, or has expired."""


class WorkflowAssignmentError(Refusal):
    """Some claims were not assigned correctly (spec, Errors 3)."""


class RateLimited(Refusal):
    """More requests than the credential may send; retry_after is in seconds."""

    def __init__(self, message: str, *, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Unavailable(Refusal):
    """The service cannot answer now, the database being away; retry_after is in seconds."""

    def __init__(self, message: str, *, retry_after: int = 2) -> None:
        super().__init__(message)
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with an input: a JSON pointer from its root, words, and a stable code."""

    path: str
    message: str
    code: str


class ValidationError(Refusal):
    """Readable but wrong; carries every fault at once."""

    def __init__(self, faults: list[Fault], message: str | None = None) -> None:
        count = len(faults)
        default = "1 fault was found." if count == 1 else f"{count} faults were found."
        super().__init__(
            message or f"{default} See details.errors; correct them and send again.",
            errors=[{"path": f.path, "message": str(f.message), "code": f.code} for f in faults],
        )
        self.faults = faults
