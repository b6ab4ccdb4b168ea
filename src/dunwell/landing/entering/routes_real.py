"""Is this real? Works without a link: a letter's code and amount can be checked here."""

from starlette.responses import Response

from dunwell.landing.entering.check_letter import check_letter
from dunwell.landing.entering.tries import Slowed, Wrong
from dunwell.landing.entering.views import RealPage
from dunwell.landing.entering.visitors import digest_visitor
from dunwell.landing.render.pages import Frame
from dunwell.landing.web.in_session import RoutedPages
from dunwell.landing.web.problems import answer_problem, too_many
from dunwell.landing.web.site import Site
from dunwell.landing.web.visit import Visit


async def show_form(site: Site, visit: Visit) -> Response:
    return site.answer(await _find_frame(site, visit), RealPage(None))


async def check(site: Site, visit: Visit) -> Response:
    form, frame = await visit.read_form(), await _find_frame(site, visit)
    keys = site.resources.keys
    typed = form.get("code", ""), form.get("amount", "")
    visitor = digest_visitor(keys, visit.client_host)
    async with site.resources.database.transaction() as tx:
        found = await check_letter(tx, keys, typed, visitor=visitor, now=site.now())
    if isinstance(found, Slowed):
        return answer_problem(site, frame, too_many(found.retry_after_seconds, "SLOWED"))
    if isinstance(found, Wrong):
        return site.answer(frame, RealPage("UNCONFIRMED"), 422)
    return site.answer(site.frame(visit, found), RealPage("OURS"))


async def _find_frame(site: Site, visit: Visit) -> Frame:
    """In a session, with its creditor."""
    opened = await site.find_opened(visit)
    if opened is not None and site.is_live(opened):
        return site.frame_opened(visit, opened)
    return site.frame(visit)


PAGES: RoutedPages = {
    "real": {"GET": show_form, "POST": check},
}
