"""Is this real? Works without a link: a letter's code and amount can be checked here."""

from dunwell.landing.entering.check_letter import check_letter
from dunwell.landing.entering.tries import Locked, Wrong
from dunwell.landing.entering.views import RealPage
from dunwell.landing.entering.visitors import digest_visitor
from dunwell.landing.render.pages import Frame
from dunwell.landing.web.answer import Answer
from dunwell.landing.web.desk import Desk
from dunwell.landing.web.problems import answer_problem, too_many
from dunwell.landing.web.visit import Visit


async def show_form(desk: Desk, visit: Visit) -> Answer:
    return desk.answer(await _find_frame(desk, visit), RealPage(None))


async def check(desk: Desk, visit: Visit) -> Answer:
    form, frame = await visit.read_form(), await _find_frame(desk, visit)
    keys = desk.resources.keys
    typed = form.get("code", ""), form.get("amount", "")
    visitor = digest_visitor(keys, visit.client_host)
    async with desk.resources.database.transaction() as tx:
        found = await check_letter(tx, keys, typed, visitor, desk.now())
    if isinstance(found, Locked):
        return answer_problem(desk.pages, frame, too_many(found.retry_after_seconds))
    if isinstance(found, Wrong):
        return desk.answer(frame, RealPage("UNCONFIRMED"), 422)
    return desk.answer(desk.frame(visit, found), RealPage("OURS"))


async def _find_frame(desk: Desk, visit: Visit) -> Frame:
    """In a session, with its creditor."""
    opened = await desk.find_opened(visit)
    if opened is not None and desk.is_live(opened):
        return desk.frame_opened(visit, opened)
    return desk.frame(visit)
