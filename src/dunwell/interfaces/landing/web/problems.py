"""What can go wrong with a page, and what its reader is told: what happened, what to do.

Refusals of use cases come here; anything else that is raised is a fault of ours, logged by the
request's id and shown as nothing more.
"""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import structlog
from starlette.exceptions import HTTPException
from starlette.responses import Response

from dunwell.interfaces.landing.render.pages import DebtorPageContext
from dunwell.interfaces.landing.web.site import Site
from dunwell.interfaces.landing.web.typed_text import list_typed_texts
from dunwell.interfaces.landing.web.views import ProblemPage
from dunwell.interfaces.landing.web.visit import ForeignForm, Visit
from dunwell.platform import errors
from dunwell.platform.http.requests import request_id_of

_log = structlog.get_logger("dunwell.interfaces.landing")


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
    (errors.RateLimited, Problem(429, "AWAY", retry_after=5)),
    (errors.Unavailable, Problem(503, "AWAY", retry_after=5)),
)


def too_many(retry_after_seconds: int | None, kind: str) -> Problem:
    """kind: codes of letters that are SLOWED, a claim that is LOCKED after wrong answers, or
    LOCKED_FOR_LINK until a new one, or links that were ASKED_OFTEN or OPENED_OFTEN."""
    return Problem(429, kind, retry_after=retry_after_seconds)


async def answer_failure(site: Site, visit: Visit, error: Exception) -> Response:
    """What was raised, in the session if one was opened, with its creditor and its language."""
    problem = _find_problem(error)
    opened, request_id = visit.opened, None
    if problem.status == 500:
        request_id = request_id_of(visit.scope, site.resources)
        _log.error("page crashed", request_id=request_id, route=visit.route, exc_info=error)
    elif problem.status < 500:
        with suppress(errors.Unavailable):
            opened = await site.find_opened(visit)
    is_live = opened is not None and site.is_live(opened)
    frame = site.frame_opened(visit, opened) if opened and is_live else site.frame(visit)
    is_stale = problem.kind == "STALE" and site.is_own_form(visit, opened, visit.fields)
    typed = list_typed_texts(visit.fields) if is_stale else ()
    return answer_problem(site, frame, problem, request_id, typed=typed)


def answer_problem(
    site: Site, frame: DebtorPageContext, problem: Problem, request_id: str | None = None,
    typed: Sequence[str] = (),
) -> Response:  # fmt: skip
    more: dict[str, str] = {}
    if problem.retry_after is not None:
        more["Retry-After"] = str(problem.retry_after)
    if problem.allowed is not None:
        more["Allow"] = problem.allowed
    minutes = math.ceil((problem.retry_after or 0) / 60)
    seconds = problem.retry_after or 0
    page = ProblemPage(problem.kind, minutes, seconds, request_id, typed=typed)
    return site.answer(frame, page, problem.status, more=more)


def _find_problem(error: Exception) -> Problem:
    if isinstance(error, HTTPException):
        return find_mismatch(error)
    for refusal, problem in _BY_REFUSAL:
        if isinstance(error, refusal):
            return problem
    return _CRASH


def find_mismatch(error: HTTPException) -> Problem:
    """What no route takes: an unknown address, or a method that its address does not have."""
    if error.status_code != 405:
        return Problem(error.status_code, "NOT_FOUND" if error.status_code == 404 else "UNREADABLE")
    methods = (error.headers or {})["Allow"].split(", ")
    return Problem(405, "NOT_FOUND", allowed=", ".join(sorted(methods)))
