"""Is this real? Works without a link: a letter's code and amount can be checked here."""

from dunwell.landing.entering.check_letter import check_letter
from dunwell.landing.entering.tries import Locked, Wrong
from dunwell.landing.entering.visitors import digest_visitor
from dunwell.landing.render.pages import Frame
from dunwell.landing.web.answer import Answer, answer_page
from dunwell.landing.web.desk import Desk
from dunwell.landing.web.problems import answer_problem, too_many
from dunwell.landing.web.visit import Visit


async def show_form(desk: Desk, visit: Visit) -> Answer:
    return answer_page(_render(desk, await _find_frame(desk, visit)))


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
        return answer_page(_render(desk, frame, "UNCONFIRMED"), 422)
    return answer_page(_render(desk, desk.frame(visit, found), "OURS"))


async def _find_frame(desk: Desk, visit: Visit) -> Frame:
    """In a session, with its creditor."""
    opened = await desk.find_opened(visit)
    if opened is not None and desk.is_live(opened):
        return desk.frame_opened(visit, opened)
    return desk.frame(visit)


def _render(desk: Desk, frame: Frame, outcome: str | None = None) -> bytes:
    return desk.pages.render("real.html", frame, outcome=outcome)
