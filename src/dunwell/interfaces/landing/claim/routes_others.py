"""The debtor's other open claims of the same merchant: their list, and going to one."""

from starlette.responses import Response

from dunwell.interfaces.landing.claim.others import (
    OTHERS,
    OtherOpening,
    list_others,
    open_other,
)
from dunwell.interfaces.landing.claim.views import OthersPage
from dunwell.interfaces.landing.entering.browser_sessions import (
    find_session_of_claim,
    redirect_to_claim,
    redirect_with_session_cookie,
)
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.session.store_opened import OpenedClaim
from dunwell.interfaces.landing.web.debtor_request import DebtorRequest
from dunwell.interfaces.landing.web.in_session import (
    RoutedPages,
    from_level,
    in_session,
    in_session_with,
    takes_form_from,
    takes_form_with,
)
from dunwell.interfaces.landing.web.leading import find_held
from dunwell.interfaces.landing.web.site import DebtorSite
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.platform.errors import NotFound

_PLACE = "others"


@in_session_with(OTHERS)
@from_level(Level.CODE, _PLACE)
async def show_others(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    found = list_others(site.resources.keys, opened)
    return site.answer(site.frame_opened(visit, opened), OthersPage(found))


@takes_form_with(OTHERS)
@takes_form_from(Level.CODE, _PLACE)
async def go_to_other(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim, _form: FormFields
) -> Response:
    """Into the session that has it open, or a new one. Raises NotFound for what is none of them."""
    keys, frame = site.resources.keys, site.frame_opened(visit, opened)
    known = {str(each.claim_id): each.claim_id for each in list_others(keys, opened)}
    claim_id = known.get(visit.path_params["other"])
    if claim_id is None:
        raise NotFound("This is none of the debtor's other claims.")
    merchant_id, held = opened.merchant.merchant_id, await find_held(site, visit)
    back = find_session_of_claim(site, held, merchant_id, claim_id, level=opened.session.level)
    if back is not None:
        return redirect_to_claim(site, frame, back)
    session_id = site.resources.ids.new(site.now())
    other = OtherOpening(claim_id, session_id, site.draw_randomness())
    async with site.resources.database.transaction() as tx:
        work = site.work(tx, opened.merchant, session_id)
        session = await open_other(work, keys, opened.session, other)
    return redirect_with_session_cookie(site, frame, held, session)


@in_session
async def go_to_others(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    """An address that only takes forms, opened by hand or by choosing a language there."""
    return site.redirect(site.frame_opened(visit, opened), "others")


PAGES: RoutedPages = {
    "others": {"GET": show_others},
    "other": {"GET": go_to_others, "POST": go_to_other},
}
