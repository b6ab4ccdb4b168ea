"""A new link on request: to the address on file, or to nobody; the page never says which."""

from dunwell.landing.entering.ask_link import ask_link
from dunwell.landing.entering.store_asked_links import AskedLink
from dunwell.landing.entering.views import NewLinkPage, NewLinkSentPage
from dunwell.landing.entering.visitors import digest_visitor
from dunwell.landing.web.answer import Answer
from dunwell.landing.web.desk import Desk
from dunwell.landing.web.problems import answer_problem, too_many
from dunwell.landing.web.visit import Visit


async def show_form(desk: Desk, visit: Visit) -> Answer:
    return desk.answer(desk.frame(visit), NewLinkPage(()))


async def ask(desk: Desk, visit: Visit) -> Answer:
    form, frame = await visit.read_form(), desk.frame(visit)
    reference, contact = (form.get(name, "").strip() for name in ("reference", "contact"))
    faults = [name for name, given in (("reference", reference), ("contact", contact)) if not given]
    if faults:
        return desk.answer(frame, NewLinkPage(faults), 422)
    resources, now = desk.resources, desk.now()
    asked = AskedLink(reference, contact, now)
    visitor = digest_visitor(resources.keys, visit.client_host)
    async with resources.database.transaction() as tx:
        locked = await ask_link(tx, resources.ids.new(now), asked, visitor)
    if locked is not None:
        return answer_problem(
            desk.pages, frame, too_many(locked.retry_after_seconds, "ASKED_OFTEN")
        )
    return desk.redirect(frame, "new_link_sent")


async def show_sent(desk: Desk, visit: Visit) -> Answer:
    return desk.answer(desk.frame(visit), NewLinkSentPage())
