"""Error pages for debtors, with the creditor and the language of the session if there is one."""

import math
from collections.abc import Sequence
from contextlib import suppress

from starlette.responses import Response

from dunwell.interfaces.landing.render.pages import DebtorPageContext
from dunwell.interfaces.landing.render.typed_fields import list_typed_texts
from dunwell.interfaces.landing.web.site import DebtorProblemPage, DebtorRequest, DebtorSite
from dunwell.interfaces.web.problems import Problem, find_problem, log_crash
from dunwell.platform import errors


def build_too_many_problem(retry_after_seconds: int | None, kind: str) -> Problem:
    """Build a response for too many requests. `kind` is SLOWED for codes of letters, LOCKED for a
    claim after wrong answers, LOCKED_FOR_LINK until the claim gets a new link, or ASKED_OFTEN or
    OPENED_OFTEN for links."""
    return Problem(429, kind, retry_after=retry_after_seconds)


async def answer_failure(site: DebtorSite, request: DebtorRequest, error: Exception) -> Response:
    """Answer an exception with an error page."""
    problem = find_problem(error)
    opened, request_id = request.opened, None
    if problem.status == 500:
        request_id = log_crash(request, site.resources, error)
    elif problem.status < 500:
        with suppress(errors.Unavailable):
            opened = await site.find_opened(request)
    is_live = opened is not None and site.is_live(opened)
    context = (
        site.build_claim_context(request, opened)
        if opened and is_live
        else site.build_context(request)
    )
    is_stale = problem.kind == "STALE" and site.is_own_form(request, opened, request.fields)
    typed = list_typed_texts(request.fields) if is_stale else ()
    return answer_problem(site, context, problem, request_id, typed=typed)


def answer_problem(
    site: DebtorSite, context: DebtorPageContext, problem: Problem, request_id: str | None = None,
    typed: Sequence[str] = (),
) -> Response:  # fmt: skip
    minutes = math.ceil((problem.retry_after or 0) / 60)
    seconds = problem.retry_after or 0
    page = DebtorProblemPage(problem.kind, minutes, seconds, request_id, typed=typed)
    return site.render_page(context, page, problem.status, more=problem.headers)
