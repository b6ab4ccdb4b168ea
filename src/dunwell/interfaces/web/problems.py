"""Errors as pages: the status and the kind of page for an exception.

A refusal of a use case becomes a page that says what happened. Any other exception is an internal
error: it is logged with the request's id, and the page shows only that id.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import structlog
from starlette.exceptions import HTTPException

from dunwell.interfaces.web.requests import ForeignForm, PageRequest
from dunwell.platform import errors
from dunwell.platform.http.requests import get_request_id
from dunwell.platform.resources import Resources

_log = structlog.get_logger("dunwell.interfaces.web")


@dataclass(frozen=True, slots=True)
class Problem:
    """The status and the error page for an exception. `kind` is the name of the page in the
    template of error pages. `retry_after` is in seconds. `allowed` lists the methods that the
    address supports, if the request's method is not one of them."""

    status: int
    kind: str
    retry_after: int | None = None
    allowed: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        named = {"Retry-After": self.retry_after, "Allow": self.allowed}
        return {name: str(value) for name, value in named.items() if value is not None}


ProblemTable: TypeAlias = Sequence[tuple[type[errors.Refusal], Problem]]
CRASH = Problem(500, "CRASH")
# The first row with a matching type is used. The rows of an interface come before these.
_SHARED_PROBLEMS: ProblemTable = (
    (ForeignForm, Problem(403, "STALE")),
    (errors.NotFound, Problem(404, "NOT_FOUND")),
    (errors.PayloadTooLarge, Problem(413, "TOO_LARGE")),
    (errors.UnsupportedMediaType, Problem(415, "WRONG_TYPE")),
    (errors.InvalidRequest, Problem(400, "UNREADABLE")),
    (errors.ValidationError, Problem(400, "UNREADABLE")),
    (errors.RateLimited, Problem(429, "UNAVAILABLE", retry_after=5)),
    (errors.Unavailable, Problem(503, "UNAVAILABLE", retry_after=5)),
)


def find_problem(
    error: Exception, own: ProblemTable = (), *, otherwise: Problem = CRASH
) -> Problem:
    """Return the problem for an error. `own` are the rows of one interface, and `otherwise` is the
    problem of a refusal without a row."""
    if isinstance(error, HTTPException):
        return _describe_mismatch(error)
    for refusal, problem in (*own, *_SHARED_PROBLEMS):
        if isinstance(error, refusal):
            return problem
    return otherwise if isinstance(error, errors.Refusal) else CRASH


def log_crash(request: PageRequest, resources: Resources, error: Exception) -> str:
    """Log an internal error and return the request's id."""
    request_id = get_request_id(request.scope, resources)
    _log.error("page crashed", request_id=request_id, route=request.route, exc_info=error)
    return request_id


def _describe_mismatch(error: HTTPException) -> Problem:
    """Describe an unknown address, or a method that the address does not support."""
    if error.status_code != 405:
        return Problem(error.status_code, "NOT_FOUND" if error.status_code == 404 else "UNREADABLE")
    methods = (error.headers or {})["Allow"].split(", ")
    return Problem(405, "NOT_FOUND", allowed=", ".join(sorted(methods)))
