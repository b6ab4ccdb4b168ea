"""Asks before a claim that is opened closes the oldest one in this browser (CONTRACT 17)."""

from starlette.responses import Response

from dunwell.interfaces.landing.claim.views import ClosingClaim
from dunwell.interfaces.landing.render.addresses import build_address
from dunwell.interfaces.landing.session.cookies import MOST_OPEN, list_to_close
from dunwell.interfaces.landing.session.details import NOTHING
from dunwell.interfaces.landing.session.extend_session import end_session
from dunwell.interfaces.landing.session.store_opened import OpenedClaim, load_opened_claim
from dunwell.interfaces.landing.web.debtor_request import DebtorRequest
from dunwell.interfaces.landing.web.in_session import RoutedPages, in_session_with, takes_form_with
from dunwell.interfaces.landing.web.leading import find_held
from dunwell.interfaces.landing.web.site import DebtorSite
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.interfaces.web.responses import answer_redirect


async def find_closing(site: DebtorSite, visit: DebtorRequest) -> list[ClosingClaim]:
    """The claims that would close for the one in the address; none: there is room."""
    if len(visit.session_hashes) <= MOST_OPEN:
        return []
    handles = list_to_close(await find_held(site, visit), visit.handle, site.now())
    found = []
    async with site.resources.database.connection() as connection:
        for handle in handles:
            other = await load_opened_claim(connection, visit.session_hashes[handle])
            if other is not None:
                found.append(_describe(handle, other))
    return found


def _describe(handle: str, opened: OpenedClaim) -> ClosingClaim:
    facts = opened.facts
    reference = None if facts.withheld else facts.reference_number
    return ClosingClaim(handle, opened.merchant.name, reference)


@takes_form_with(NOTHING, also_withheld=True)
async def take_room(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim, form: FormFields
) -> Response:
    """Closes the oldest, or gives up the claim that was opened last. A second click finds room."""
    frame = site.frame_opened(visit, opened)
    if form.get("do") == "back":
        async with site.resources.database.transaction() as tx:
            work = site.work(tx, opened.merchant, opened.session.session_id)
            await end_session(work, opened.session)
        answer = answer_redirect(build_address("claim"))
        site.set_cookie(answer, visit.handle, "")
        return answer
    answer = site.redirect(frame, "claim")
    if form.get("do") == "open":
        for each in await find_closing(site, visit):
            site.set_cookie(answer, each.handle, "")
    return answer


@in_session_with(NOTHING, also_withheld=True)
async def go_to_claim(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    """An address that only takes forms, opened by hand or by choosing a language there."""
    return site.redirect(site.frame_opened(visit, opened), "claim")


PAGES: RoutedPages = {
    "room": {"GET": go_to_claim, "POST": take_room},
}
