"""Paying later, all at once: choosing a day, checking it, asking for it."""

from starlette.responses import Response

from dunwell.cases.modalities.bounds import DefermentTerms, find_deferment_range
from dunwell.cases.modalities.offers import list_offered_deferments
from dunwell.interfaces.landing.arranging.asking import (
    OWN,
    Ground,
    Refused,
    is_to_be_had,
    read_carried_deferment,
    read_deferment,
)
from dunwell.interfaces.landing.arranging.requesting import (
    ask_for,
    lead_elsewhere,
    load_ground,
    read_fields,
)
from dunwell.interfaces.landing.arranging.views import LaterPage, describe_later_check
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.session.store_opened import OpenedClaim
from dunwell.interfaces.landing.web.debtor_request import DebtorRequest
from dunwell.interfaces.landing.web.in_session import (
    RoutedPages,
    from_level,
    in_session,
    takes_form,
    takes_form_from,
)
from dunwell.interfaces.landing.web.site import DebtorSite
from dunwell.interfaces.web.form_fields import FormFields

_PLACE = "later"
_MOST_TYPED = 10
_TYPED = ("until", "on_day", "on_month", "on_year")


@in_session
@from_level(Level.FACT, _PLACE)
async def show_days(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    return _answer_form(site, visit, opened, await load_ground(site, opened))


@in_session
@from_level(Level.FACT, _PLACE)
async def check_day(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    ground = await load_ground(site, opened)
    chosen = read_deferment(read_fields(visit), ground)
    if isinstance(chosen, DefermentTerms):
        return _answer_check(site, visit, opened, ground=ground, terms=chosen)
    return _answer_form(site, visit, opened, ground=ground, refused=chosen)


@takes_form
@takes_form_from(Level.FACT, _PLACE)
async def ask_time(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim, form: FormFields
) -> Response:
    wanted = read_carried_deferment(form)
    answer = None if wanted is None else await ask_for(site, visit, opened, terms=wanted, form=form)
    if answer is not None:
        return answer
    opened = await site.find_opened(visit) or opened
    ground = await load_ground(site, opened)
    if wanted is not None and is_to_be_had(wanted, ground):
        return _answer_check(site, visit, opened, ground=ground, terms=wanted, is_changed=True)
    return _answer_form(site, visit, opened, ground=ground, refused=Refused.CHANGED)


def _answer_form(
    site: DebtorSite,
    visit: DebtorRequest,
    opened: OpenedClaim,
    ground: Ground,
    refused: Refused | None = None,
) -> Response:
    frame = site.frame_opened(visit, opened)
    offers = list_offered_deferments(ground.modalities, ground.facts, ground.today)
    elsewhere = lead_elsewhere(site, frame, opened, ground)
    if elsewhere is not None:
        return elsewhere
    if not offers:
        return site.redirect(frame, "options")
    assert ground.modalities.deferment is not None
    first, last = find_deferment_range(ground.modalities.deferment, ground.facts, ground.today)
    fields = read_fields(visit)
    page = LaterPage(
        currency=opened.facts.currency,
        outstanding_cents=ground.facts.outstanding_cents,
        days=[each.until for each in offers],
        first_day=first,
        last_day=last,
        own=OWN,
        typed={name: fields.get(name, "")[:_MOST_TYPED] for name in _TYPED},
        refused=refused,
    )
    return site.answer(frame, page, 200 if refused in (None, Refused.CHANGED) else 422)


def _answer_check(
    site: DebtorSite,
    visit: DebtorRequest,
    opened: OpenedClaim,
    ground: Ground,
    terms: DefermentTerms,
    *,
    is_changed: bool = False,
) -> Response:
    frame = site.frame_opened(visit, opened)
    elsewhere = lead_elsewhere(site, frame, opened, ground)
    if elsewhere is not None:
        return elsewhere
    return site.answer(frame, describe_later_check(opened, ground, terms, is_changed=is_changed))


PAGES: RoutedPages = {
    "later": {"GET": show_days},
    "later_check": {"GET": check_day, "POST": ask_time},
}
