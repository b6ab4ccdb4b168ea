"""The error pages of the portal. Refusals of use cases that no page shows itself get a page here.
Any other exception is an internal error: it is logged with the request's id, and the page shows
only this id. What a user may not do or reach is shown as not found."""

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

    # The kind of the problem, see `Problem`.
    kind: str
    # The text of the refusal.
    message: str = ""
    # Set only for an internal error.
    request_id: str = ""
    # The page's address, if trying again may help.
    again: str = ""


_PORTAL_PROBLEMS: ProblemTable = (
    # An unauthorised user learns no more than that the page does not exist.
    (errors.InsufficientScope, Problem(404, "NOT_FOUND")),
    (errors.InvalidState, Problem(409, "OVERTAKEN")),
    (errors.TooSlow, Problem(408, "AWAY")),
    (PreviewBusy, Problem(429, "PREVIEW_BUSY", retry_after=5)),
    (PreviewTooSlow, Problem(503, "PREVIEW_SLOW", retry_after=5)),
    (errors.RateLimited, Problem(429, "AWAY", retry_after=30)),
)
_OVERTAKEN = Problem(409, "OVERTAKEN")


async def answer_failure(site: PortalSite, request: PortalRequest, error: Exception) -> Response:
    problem, request_id = find_problem(error, _PORTAL_PROBLEMS, otherwise=_OVERTAKEN), ""
    if problem.status == 500:
        request_id = log_crash(request, site.resources, error)
    message = ""
    if problem.kind == "OVERTAKEN" and isinstance(error, errors.Refusal):
        message = error.text
    context = site.build_context(request, getattr(request.state, "access", None))
    is_preview = isinstance(error, PreviewBusy | PreviewTooSlow)
    again = request.own_address if is_preview and request.method in ("GET", "HEAD") else ""
    page = ProblemPage(problem.kind, message, request_id, again)
    return site.answer(context, page, problem.status, more=problem.headers)
