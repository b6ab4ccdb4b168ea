"""The inbox of plans and deferments, and the answer to one."""

from starlette.responses import Response

from dunwell.errors import InvalidState, NotFound, ValidationError
from dunwell.messages.formatting import render_name
from dunwell.modalities.answer_modality import approve_modality, reject_modality
from dunwell.modalities.find_modalities import ModalityFilter, find_modalities
from dunwell.modalities.list_modalities import list_modalities
from dunwell.modalities.modality import ModalityState
from dunwell.portal.modalities.views import PlanPage, PlansPage
from dunwell.portal.web.desk import Desk
from dunwell.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.portal.web.looking import look_at_claim, read_claim_id, read_id
from dunwell.portal.web.site import Site
from dunwell.portal.web.visit import Fields, Visit

_PAGE = 50
_SHOWN = {
    "waiting": ModalityFilter(state=ModalityState.REQUESTED, stands=True),
    "running": ModalityFilter(state=ModalityState.APPROVED, stands=True),
    "all": ModalityFilter(),
}
_LONGEST_REASON = 2_000


@at_merchant
async def show_plans(site: Site, visit: Visit, desk: Desk) -> Response:
    show, after = visit.ask("show"), visit.ask("after")
    show = show if show in _SHOWN else "waiting"
    async with site.work(desk) as work:
        try:
            found = await find_modalities(
                work, limit=_PAGE, cursor=after or None, wanted=_SHOWN[show]
            )
        except ValidationError:
            found = await find_modalities(work, limit=_PAGE, wanted=_SHOWN[show])
    plans = [*found.modalities]
    if show == "waiting":
        plans.reverse()
    return site.answer_at(visit, desk, PlansPage(show, plans, after, found.next_cursor))


@at_merchant
async def show_plan(site: Site, visit: Visit, desk: Desk) -> Response:
    return await _answer(site, visit, desk)


@takes_form_at_merchant
async def take_answer(site: Site, visit: Visit, desk: Desk, fields: Fields) -> Response:
    """The same answer again changes nothing; the other one is told to the second of two."""
    claim_id, plan_id = read_claim_id(visit), read_id(visit, "plan_id")
    outcome, reason = fields["outcome"], fields.text("reason")[:_LONGEST_REASON]
    if outcome not in ("approve", "reject"):
        return await _answer(site, visit, desk, reason=reason, fault="REQUIRED")
    try:
        async with site.work(desk) as work:
            if outcome == "approve":
                await approve_modality(work, claim_id, plan_id)
            else:
                await reject_modality(work, claim_id, plan_id, reason=reason or None)
    except InvalidState as refusal:
        message = refusal.message
        return await _answer(site, visit, desk, reason=reason, fault="OVERTAKEN", message=message)
    return site.redirect(visit, desk, "plan", claim_id=claim_id, plan_id=plan_id, done="answer")


async def _answer(
    site: Site, visit: Visit, desk: Desk, *, reason: str = "", fault: str = "", message: str = ""
) -> Response:
    claim_id, plan_id = read_claim_id(visit), read_id(visit, "plan_id")
    async with site.work(desk) as work:
        claim = await look_at_claim(work, desk, claim_id)
        listed = await list_modalities(work, claim_id, limit=100)
    plan = next((each for each in listed.modalities if each.modality_id == plan_id), None)
    if plan is None:
        raise NotFound("There is no such plan.")
    page = PlanPage(claim, render_name(claim.debtor), plan, reason, fault, message)
    status = {"REQUIRED": 422, "OVERTAKEN": 409}.get(fault, 200)
    return site.answer_at(visit, desk, page, status)


PAGES: RoutedPages = {
    "plans": {"GET": show_plans},
    "plan": {"GET": show_plan, "POST": take_answer},
}
