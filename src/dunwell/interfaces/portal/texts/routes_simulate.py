"""A process simulated on one claim: what happens when, why then, what debtors read and what it
costs."""

from datetime import date

from starlette.responses import Response

from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.preview.sample_contact import CASES
from dunwell.cases.rollout.trials.simulate import (
    Played,
    PreparedSimulation,
    Simulation,
    prepare_simulation,
    simulate,
)
from dunwell.contact.escalation.calendars import name_holiday
from dunwell.core.workflows.definition import Definition
from dunwell.interfaces.portal.texts.asking import find_subject, open_asked
from dunwell.interfaces.portal.texts.views import SimulationPage
from dunwell.interfaces.portal.web.access import Access
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, in_preview_turn
from dunwell.interfaces.portal.web.paging import read_day
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.platform.errors import MerchantNotConfigured, NotFound


@at_merchant
@in_preview_turn
async def show_simulation(site: PortalSite, visit: PortalRequest, access: Access) -> Response:
    if not access.may(Right.CONFIGURE):
        raise NotFound("There is no such page.")
    typed = visit.ask("start")
    start_on = read_day(typed)
    prepared, simulation, problem = None, None, ""
    async with site.work(access) as work:
        opened = await open_asked(work, visit)
        subject = await find_subject(work, visit, access)
        played = Played(subject.claim_id, subject.case, start_on)
        try:
            prepared = await prepare_simulation(work, site.resources, opened.definition, played)
        except MerchantNotConfigured:
            problem = "NOT_CONFIGURED"
    if prepared is not None:
        simulation, problem = await _simulate(site, prepared)
    page = SimulationPage(
        opened=opened,
        version="" if opened.is_newest else opened.version.name,
        subject=subject,
        cases=CASES,
        start_typed=typed,
        start_error=bool(typed) and start_on is None,
        simulation=simulation,
        problem=problem,
        holidays=_name_holidays(opened.definition, simulation, site.frame(visit, access).language),
        currency=access.merchant.configuration.currency,
        start_on=start_on,
    )
    return site.answer_at(visit, access, page)


async def _simulate(
    site: PortalSite, prepared: PreparedSimulation
) -> tuple[Simulation | None, str]:
    """No transaction is open. The simulation, or why there is none."""
    try:
        return await simulate(prepared, printer=site.preview_printer), ""
    except MerchantNotConfigured:
        return None, "NOT_CONFIGURED"


def _name_holidays(
    definition: Definition, simulation: Simulation | None, language: str
) -> dict[date, str]:
    region = definition.settings.holidays
    if region is None or simulation is None:
        return {}
    told = {reason.day for step in simulation.steps for reason in step.reasons}
    return {day: name for day in told if (name := name_holiday(region, day, language))}


PAGES: RoutedPages = {"simulate": {"GET": show_simulation}}
