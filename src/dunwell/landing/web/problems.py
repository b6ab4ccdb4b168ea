"""What can go wrong with a page, and what its reader is told: what happened, what to do.

Refusals of use cases come here; anything else that is raised is a fault of ours, logged by the
request's id and shown as nothing more.
"""

import math
from dataclasses import dataclass

import structlog

from dunwell import errors
from dunwell.kit.requests import request_id_of
from dunwell.kit.resources import Resources
from dunwell.landing.render.pages import Frame, Pages
from dunwell.landing.web.answer import Answer, Headers, answer_page
from dunwell.landing.web.views import ProblemPage
from dunwell.landing.web.visit import ForeignForm, Visit

_log = structlog.get_logger("dunwell.landing")


@dataclass(frozen=True, slots=True)
class Problem:
    """A status, and the kind of page by its template's word."""

    status: int
    kind: str
    retry_after: int | None = None
    allowed: str | None = None


_CRASH = Problem(500, "CRASH")
_BY_REFUSAL: tuple[tuple[type[errors.Refusal], Problem], ...] = (
    (ForeignForm, Problem(403, "STALE")),
    (errors.NotFound, Problem(404, "NOT_FOUND")),
    (errors.PayloadTooLarge, Problem(413, "TOO_LARGE")),
    (errors.UnsupportedMediaType, Problem(415, "WRONG_TYPE")),
    (errors.InvalidRequest, Problem(400, "UNREADABLE")),
    (errors.ValidationError, Problem(400, "UNREADABLE")),
    (errors.Unavailable, Problem(503, "AWAY", retry_after=5)),
)


def find_problem(error: Exception) -> Problem:
    for refusal, problem in _BY_REFUSAL:
        if isinstance(error, refusal):
            return problem
    return _CRASH


def too_many(retry_after_seconds: int, kind: str = "TOO_MANY") -> Problem:
    """kind: TOO_MANY codes of letters, a claim that is LOCKED after wrong answers, or links that
    were ASKED_OFTEN."""
    return Problem(429, kind, retry_after=retry_after_seconds)


def wrong_method(allowed: str) -> Problem:
    return Problem(405, "NOT_FOUND", allowed=allowed)


def log_crash(resources: Resources, visit: Visit, route: str, error: Exception) -> str:
    """Where it happened, without its words; the request's id, for the page."""
    request_id = request_id_of(visit.scope, resources)
    _log.error("page crashed", request_id=request_id, route=route, exc_info=error)
    return request_id


def answer_problem(
    pages: Pages, frame: Frame, problem: Problem, request_id: str | None = None
) -> Answer:
    more: Headers = ()
    if problem.retry_after is not None:
        more += ((b"retry-after", b"%d" % problem.retry_after),)
    if problem.allowed is not None:
        more += ((b"allow", problem.allowed.encode("ascii")),)
    minutes = math.ceil((problem.retry_after or 0) / 60)
    body = pages.render(frame, ProblemPage(problem.kind, minutes, request_id))
    return answer_page(body, problem.status, more=more)
