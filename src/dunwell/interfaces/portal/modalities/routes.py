"""Requests for payment plans and deferrals, and the response to one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import ClassVar
from uuid import UUID

from starlette.responses import Response

from dunwell.accounts.users.assignee import ANY_ASSIGNEE, Assignee
from dunwell.cases.direct_debit.listing.list_debits import PlanDebits, get_plan_debits
from dunwell.cases.modalities.answer_modality import (
    approve_modality,
    assign_modality,
    list_assignees,
    reject_modality,
)
from dunwell.cases.modalities.list_modalities import (
    ModalityFilter,
    list_claim_modalities,
    list_modalities,
)
from dunwell.cases.modalities.modality import Modality, ModalityState
from dunwell.cases.modalities.progress import compute_response_day
from dunwell.cases.modalities.store import ListedModality
from dunwell.contact.messages.templates.formatting import render_name
from dunwell.core.claims.access import ClaimView, check_claim_exists
from dunwell.interfaces.portal.web.access import (
    MerchantAccess,
    PortalRequest,
    open_claim,
    parse_claim_id,
    parse_path_id,
)
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.lists import (
    PAGE_SIZE,
    Sorting,
    list_assignable_users,
    load_page,
    parse_assignee,
    parse_assignee_filter,
    parse_sorting,
)
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.templates import Page
from dunwell.platform.errors import EditConflict, InvalidState, NotFound, ValidationError


class PlansPage(Page, frozen=True):
    """The list of requests. `show` is waiting, running or all."""

    template: ClassVar[str] = "plans.html"
    area: ClassVar[str] = "plans"

    show: str
    # The assignee filter: mine, nobodys (unassigned), or "" for all.
    whose: str
    me: UUID
    # The requests, each with the reference of its claim.
    plans: Sequence[ListedModality]
    sorting: Sorting
    # For each pending request, the day by which the debtor was promised a response.
    answer_days: Mapping[UUID, date]
    # The assignees of the requests that have one.
    assignees: Mapping[UUID, Assignee]
    after: str
    next_cursor: str | None


class RequestedPlanPage(Page, frozen=True):
    template: ClassVar[str] = "plan.html"
    area: ClassVar[str] = "plans"

    claim: ClaimView
    name: str
    plan: Modality
    # The plan's mandates and direct debits.
    debits: PlanDebits
    # The day by which the debtor was promised a response, None if it is no longer pending.
    answer_on: date | None
    # The assignee, the users who can be assigned, and the current user.
    assignee: Assignee | None
    colleagues: Sequence[Assignee]
    me: UUID
    # What was typed as the reason for rejecting.
    reason: str
    # REQUIRED, CONTROL_CHARACTER, STATE_CHANGED or "".
    fault: str
    # The text of the refusal.
    message: str


_FILTERS = {
    "waiting": ModalityFilter(state=ModalityState.REQUESTED, is_live=True),
    "running": ModalityFilter(state=ModalityState.APPROVED, is_live=True),
    "all": ModalityFilter(),
}
_MAX_REASON_LENGTH = 2_000


@at_merchant
async def get_plans_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    show, after = request.get_parameter("show"), request.get_parameter("after")
    show = show if show in _FILTERS else "waiting"
    # Pending requests are sorted by waiting time, longest first.
    default_sort = "time" if show == "waiting" else "-time"
    sorting = parse_sorting(request.get_parameter("sort"), {"time"}, default_sort)
    oldest_first = not sorting.is_descending
    assignee_choice, whose = parse_assignee_filter(request, access)
    if show != "waiting":
        assignee_choice, whose = "", ANY_ASSIGNEE
    wanted = replace(_FILTERS[show], whose=whose)
    async with site.open_work(access) as work:
        found = await load_page(
            lambda cursor: list_modalities(
                work, limit=PAGE_SIZE, cursor=cursor, wanted=wanted, oldest_first=oldest_first
            ),
            after,
        )
        ids = [each.modality.modality_id for each in found.items]
        assignees = await list_assignees(work, ids)
    page = PlansPage(
        show=show,
        whose=assignee_choice,
        me=access.person.user_id,
        plans=found.items,
        answer_days=_compute_response_days(access, [each.modality for each in found.items]),
        assignees=assignees,
        sorting=sorting,
        after=after,
        next_cursor=found.next_cursor,
    )
    return site.render_merchant_page(request, access, page)


@at_merchant
async def get_plan_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    return await _render_page(site, request, access)


@takes_form_at_merchant
async def submit_answer(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Send the response. The same response again changes nothing. If another user has responded
    differently, the page says so."""
    claim_id, plan_id = parse_claim_id(request), parse_path_id(request, "plan_id")
    outcome, reason = fields["outcome"], fields.text("reason")[:_MAX_REASON_LENGTH]
    if outcome not in ("approve", "reject"):
        return await _render_page(site, request, access, reason=reason, fault="REQUIRED")
    try:
        async with site.open_work(access) as work:
            if outcome == "approve":
                await approve_modality(work, claim_id, plan_id)
            else:
                await reject_modality(work, claim_id, plan_id, reason=reason or None)
    except ValidationError:
        return await _render_page(site, request, access, reason=reason, fault="CONTROL_CHARACTER")
    except InvalidState as refusal:
        message = refusal.text
        return await _render_page(
            site, request, access, reason=reason, fault="STATE_CHANGED", message=message
        )
    return site.redirect(request, access, "plan", claim_id=claim_id, plan_id=plan_id, done="answer")


@takes_form_at_merchant
async def submit_assignee(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Assign the request. If another user was faster, the page says so and shows the assignee."""
    claim_id, plan_id = parse_claim_id(request), parse_path_id(request, "plan_id")
    wanted, known = parse_assignee(fields, "assignee"), parse_assignee(fields, "known_assignee")
    done = "assigned"
    try:
        async with site.open_work(access) as work:
            await assign_modality(work, claim_id, plan_id, wanted, expected_id=known)
    except EditConflict:
        done = "assigned_before"
    except (InvalidState, ValidationError):
        done = "not_assigned"
    return site.redirect(request, access, "plan", claim_id=claim_id, plan_id=plan_id, done=done)


@at_merchant
async def redirect_to_plan(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Redirect users who open the URL of a form by hand. Raises NotFound."""
    async with site.open_work(access) as work:
        await check_claim_exists(work, parse_claim_id(request))
    ids = {"claim_id": parse_claim_id(request), "plan_id": parse_path_id(request, "plan_id")}
    return site.redirect(request, access, "plan", **ids)


async def _render_page(
    site: PortalSite,
    request: PortalRequest,
    access: MerchantAccess,
    *,
    reason: str = "",
    fault: str = "",
    message: str = "",
) -> Response:
    claim_id, plan_id = parse_claim_id(request), parse_path_id(request, "plan_id")
    async with site.open_work(access) as work:
        claim = await open_claim(work, access, claim_id)
        listed = await list_claim_modalities(work, claim_id, limit=100)
        assignees = await list_assignees(work, [plan_id])
        colleagues = await list_assignable_users(work, access)
        debits = await get_plan_debits(work, claim_id, plan_id)
    plans = (each.modality for each in listed.items)
    plan = next((each for each in plans if each.modality_id == plan_id), None)
    if plan is None:
        raise NotFound("There is no such plan.")
    page = RequestedPlanPage(
        claim=claim,
        name=render_name(claim.debtor),
        plan=plan,
        debits=debits,
        answer_on=_compute_response_days(access, [plan]).get(plan_id),
        assignee=assignees.get(plan_id),
        colleagues=colleagues,
        me=access.person.user_id,
        reason=reason,
        fault=fault,
        message=message,
    )
    status = {"REQUIRED": 422, "CONTROL_CHARACTER": 422, "STATE_CHANGED": 409}.get(fault, 200)
    return site.render_merchant_page(request, access, page, status)


def _compute_response_days(
    access: MerchantAccess, plans: Sequence[Modality]
) -> Mapping[UUID, date]:
    """Return the day on which a response is due, by the id of each pending request."""
    configuration = access.merchant.configuration
    within, zone = configuration.modalities.answer_within_days, configuration.timezone
    return {
        each.modality_id: compute_response_day(each, within, zone)
        for each in plans
        if each.state is ModalityState.REQUESTED and each.ended_at is None
    }


PAGES: RoutedPages = {
    "plans": {"GET": get_plans_page},
    "plan": {"GET": get_plan_page, "POST": submit_answer},
    "plan_assign": {"GET": redirect_to_plan, "POST": submit_assignee},
}
