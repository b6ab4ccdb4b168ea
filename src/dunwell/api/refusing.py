"""Turns what was raised into an answer: refusals into their type's status, the rest into 500."""

import structlog

from dunwell.api.answer import Answer, Headers
from dunwell.api.envelope import encode_failure
from dunwell.api.failures import INTERNAL_ERROR, kind_of
from dunwell.api.schemas.failures import Failure
from dunwell.errors import AuthenticationError, MethodNotAllowed, Refusal

_log = structlog.get_logger("dunwell.api")


def describe(refusal: Refusal) -> Failure:
    """The refusal as it goes over the wire, in an envelope or in a claim's creation result."""
    return Failure(
        type=kind_of(type(refusal)).name, message=refusal.message, details=refusal.details
    )


def answer_refusal(refusal: Refusal, *, is_last: bool = False) -> Answer:
    """`is_last`: the request's body was not read to its end."""
    return Answer(
        kind_of(type(refusal)).status,
        encode_failure(describe(refusal)),
        _headers_of(refusal),
        is_last=is_last,
    )


def answer_crash(error: BaseException, request_id: str, route: str) -> Answer:
    """Log where it happened, without the words of the exception, which may quote what was sent."""
    _log.error("request crashed", request_id=request_id, route=route, exc_info=error)
    failure = Failure(
        type=INTERNAL_ERROR.name,
        message="Something went wrong on our side. Send the request again; if it fails again, "
        "tell the operator details.requestId.",
        details={"requestId": request_id},
    )
    return Answer(INTERNAL_ERROR.status, encode_failure(failure))


def _headers_of(refusal: Refusal) -> Headers:
    retry_after: int | None = getattr(refusal, "retry_after", None)
    if retry_after is not None:
        return ((b"retry-after", b"%d" % retry_after),)
    if isinstance(refusal, AuthenticationError):
        return ((b"www-authenticate", b"Bearer"),)
    if isinstance(refusal, MethodNotAllowed):
        return ((b"allow", ", ".join(refusal.details["allowed"]).encode()),)
    return ()
