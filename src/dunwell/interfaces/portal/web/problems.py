"""What can go wrong with a page, and what its reader is told: what happened, what to do.

Refusals of use cases come here where no page shows them itself; anything else that is raised is a
fault of ours, logged by the request's id and shown as nothing more. What somebody may not do or
reach answers as what is not there.
"""

import structlog
from starlette.exceptions import HTTPException
from starlette.responses import Response

from dunwell.interfaces.landing.web.problems import Problem, find_mismatch
from dunwell.interfaces.portal.web.preview_turns import PreviewBusy, PreviewTooSlow
from dunwell.interfaces.portal.web.site import Site
from dunwell.interfaces.portal.web.views import ProblemPage
from dunwell.interfaces.portal.web.visit import ForeignForm, Visit
from dunwell.platform import errors
from dunwell.platform.http.requests import request_id_of

_log = structlog.get_logger("dunwell.interfaces.portal")


_CRASH = Problem(500, "CRASH")
_BY_REFUSAL: tuple[tuple[type[errors.Refusal], Problem], ...] = (
    (ForeignForm, Problem(403, "STALE")),
    (errors.NotFound, Problem(404, "NOT_FOUND")),
    # Whoever may not is told no more than that.
    (errors.InsufficientScope, Problem(404, "NOT_FOUND")),
    (errors.PayloadTooLarge, Problem(413, "TOO_LARGE")),
    (errors.UnsupportedMediaType, Problem(415, "WRONG_TYPE")),
    (errors.InvalidState, Problem(409, "OVERTAKEN")),
    (errors.TooSlow, Problem(408, "AWAY")),
    (PreviewBusy, Problem(429, "PREVIEW_BUSY", retry_after=5)),
    (PreviewTooSlow, Problem(503, "PREVIEW_SLOW", retry_after=5)),
    (errors.RateLimited, Problem(429, "AWAY", retry_after=30)),
    (errors.InvalidRequest, Problem(400, "UNREADABLE")),
    (errors.ValidationError, Problem(400, "UNREADABLE")),
    (errors.Unavailable, Problem(503, "AWAY", retry_after=5)),
    (errors.Refusal, Problem(409, "OVERTAKEN")),
)


async def answer_failure(site: Site, visit: Visit, error: Exception) -> Response:
    problem, request_id = _find_problem(error), ""
    if problem.status == 500:
        request_id = request_id_of(visit.scope, site.resources)
        _log.error("page crashed", request_id=request_id, route=visit.route, exc_info=error)
    message = ""
    if problem.kind == "OVERTAKEN" and isinstance(error, errors.Refusal):
        message = error.said
    more: dict[str, str] = {}
    if problem.retry_after is not None:
        more["Retry-After"] = str(problem.retry_after)
    if problem.allowed is not None:
        more["Allow"] = problem.allowed
    frame = site.frame(visit, getattr(visit.state, "access", None))
    is_preview = isinstance(error, PreviewBusy | PreviewTooSlow)
    again = visit.own_address if is_preview and visit.method in ("GET", "HEAD") else ""
    page = ProblemPage(problem.kind, message, request_id, again)
    return site.answer(frame, page, problem.status, more=more)


def _find_problem(error: Exception) -> Problem:
    if isinstance(error, HTTPException):
        return find_mismatch(error)
    for refusal, problem in _BY_REFUSAL:
        if isinstance(error, refusal):
            return problem
    return _CRASH
