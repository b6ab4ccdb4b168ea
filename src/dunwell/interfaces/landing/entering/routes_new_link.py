"""A new link on request: to the address on file, or to nobody; the page never says which."""

from starlette.responses import Response

from dunwell.interfaces.landing.entering.asked_links import ask_link
from dunwell.interfaces.landing.entering.store_asked_links import AskedLink
from dunwell.interfaces.landing.entering.views import NewLinkPage, NewLinkSentPage
from dunwell.interfaces.landing.entering.visitors import digest_visitor
from dunwell.interfaces.landing.web.debtor_request import DebtorRequest
from dunwell.interfaces.landing.web.in_session import RoutedPages
from dunwell.interfaces.landing.web.problems import answer_problem, too_many
from dunwell.interfaces.landing.web.site import DebtorSite


async def show_form(site: DebtorSite, visit: DebtorRequest) -> Response:
    return site.answer(site.frame(visit), NewLinkPage(()))


async def ask(site: DebtorSite, visit: DebtorRequest) -> Response:
    form, frame = await visit.read_form(), site.frame(visit)
    reference, contact = (form.get(name, "").strip() for name in ("reference", "contact"))
    faults = [name for name, given in (("reference", reference), ("contact", contact)) if not given]
    if faults:
        return site.answer(frame, NewLinkPage(faults), 422)
    resources, now = site.resources, site.now()
    asked = AskedLink(reference, contact, now)
    visitor = digest_visitor(resources.keys, visit.client_host)
    async with resources.database.transaction() as tx:
        locked = await ask_link(tx, resources.ids.new(now), asked, visitor)
    if locked is not None:
        return answer_problem(site, frame, too_many(locked.retry_after_seconds, "ASKED_OFTEN"))
    return site.redirect(frame, "new_link_sent")


async def show_sent(site: DebtorSite, visit: DebtorRequest) -> Response:
    return site.answer(site.frame(visit), NewLinkSentPage())


PAGES: RoutedPages = {
    "new_link": {"GET": show_form, "POST": ask},
    "new_link_sent": {"GET": show_sent},
}
