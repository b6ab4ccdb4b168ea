"""Is this real? Works without a link: a message's code and amount can be checked here."""

from starlette.responses import Response

from dunwell.interfaces.landing.entering.check_message import TypedMessage, check_message
from dunwell.interfaces.landing.entering.tries import Slowed, Wrong
from dunwell.interfaces.landing.entering.views import RealPage
from dunwell.interfaces.landing.entering.visitors import digest_visitor
from dunwell.interfaces.landing.web.debtor_request import DebtorRequest
from dunwell.interfaces.landing.web.in_session import RoutedPages
from dunwell.interfaces.landing.web.problems import answer_problem, too_many
from dunwell.interfaces.landing.web.site import DebtorSite


async def show_form(site: DebtorSite, visit: DebtorRequest) -> Response:
    return site.answer(await site.find_frame(visit), RealPage(None))


async def check(site: DebtorSite, visit: DebtorRequest) -> Response:
    form, frame = await visit.read_form(), await site.find_frame(visit)
    keys = site.resources.keys
    typed = TypedMessage(
        form.get("code", ""), form.get("amount", ""), site.resources.settings.public_url
    )
    visitor = digest_visitor(keys, visit.client_host)
    async with site.resources.database.transaction() as tx:
        found = await check_message(tx, keys, typed, visitor=visitor, now=site.now())
    if isinstance(found, Slowed):
        return answer_problem(site, frame, too_many(found.retry_after_seconds, "SLOWED"))
    if isinstance(found, Wrong):
        return site.answer(frame, RealPage("UNCONFIRMED"), 422)
    outcome = "LETTER" if found.is_letter else "MESSAGE"
    return site.answer(site.frame(visit, found.merchant), RealPage(outcome))


PAGES: RoutedPages = {
    "real": {"GET": show_form, "POST": check},
}
