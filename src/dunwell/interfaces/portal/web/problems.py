"""What can go wrong with a page, and what its reader is told: what happened, what to do.

Refusals of use cases come here where no page shows them itself; anything else that is raised is a
fault of ours, logged by the request's id and shown as nothing more. What somebody may not do or
reach answers as what is not there.
"""

from typing import ClassVar

from starlette.responses import Response

from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.preview_turns import PreviewBusy, PreviewTooSlow
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.problems import Problem, ProblemTable, find_problem, log_crash
from dunwell.interfaces.web.templates import Page
from dunwell.platform import errors


class ProblemPage(Page, frozen=True):
    template: ClassVar[str] = "problem.html"

    # See `Problem`.
    kind: str
    # The refusal's own text.
    message: str = ""
    # Set only when the fault is ours.
    request_id: str = ""
    # The page's address, if trying again may help.
    again: str = ""


_OWN: ProblemTable = (
    # An unauthorised user learns no more than that the page does not exist.
    (errors.InsufficientScope, Problem(404, "NOT_FOUND")),
    (errors.InvalidState, Problem(409, "OVERTAKEN")),
    (errors.TooSlow, Problem(408, "AWAY")),
    (PreviewBusy, Problem(429, "PREVIEW_BUSY", retry_after=5)),
    (PreviewTooSlow, Problem(503, "PREVIEW_SLOW", retry_after=5)),
    (errors.RateLimited, Problem(429, "AWAY", retry_after=30)),
)
_OVERTAKEN = Problem(409, "OVERTAKEN")


async def answer_failure(site: PortalSite, visit: PortalRequest, error: Exception) -> Response:
    problem, request_id = find_problem(error, _OWN, otherwise=_OVERTAKEN), ""
    if problem.status == 500:
        request_id = log_crash(visit, site.resources, error)
    message = ""
    if problem.kind == "OVERTAKEN" and isinstance(error, errors.Refusal):
        message = error.text
    frame = site.frame(visit, getattr(visit.state, "access", None))
    is_preview = isinstance(error, PreviewBusy | PreviewTooSlow)
    again = visit.own_address if is_preview and visit.method in ("GET", "HEAD") else ""
    page = ProblemPage(problem.kind, message, request_id, again)
    return site.answer(frame, page, problem.status, more=problem.headers)
