"""A new link on request: to the address on file, or to nobody; the page never says which."""

import asyncio

from dunwell.landing.answer import Answer, answer_page
from dunwell.landing.ask_link import admit_request, find_askers, send_link
from dunwell.landing.desk import Desk
from dunwell.landing.notice_facts import LinkFacts
from dunwell.landing.problems import answer_problem, too_many
from dunwell.landing.tries import Locked
from dunwell.landing.visit import Visit
from dunwell.landing.visitors import digest_visitor
from dunwell.notices.notice import Addressee

# So long takes every answer, whether a link was sent or not (seconds).
ANSWERED_AFTER = 0.25


async def show_form(desk: Desk, visit: Visit) -> Answer:
    return answer_page(desk.pages.render("new_link.html", desk.frame(visit), faults=()))


async def ask(desk: Desk, visit: Visit) -> Answer:
    form, frame = await visit.read_form(), desk.frame(visit)
    reference, contact = (form.get(name, "").strip() for name in ("reference", "contact"))
    faults = [name for name, given in (("reference", reference), ("contact", contact)) if not given]
    if faults:
        return answer_page(desk.pages.render("new_link.html", frame, faults=faults), 422)
    time = asyncio.get_running_loop().time
    answered_at = time() + ANSWERED_AFTER
    locked = await _send(desk, visit, reference, contact)
    if locked is not None:
        return answer_problem(
            desk.pages, frame, too_many(locked.retry_after_seconds, "ASKED_OFTEN")
        )
    await asyncio.sleep(answered_at - time())
    return desk.redirect(frame, "/q/new-link/sent")


async def show_sent(desk: Desk, visit: Visit) -> Answer:
    return answer_page(desk.pages.render("new_link_sent.html", desk.frame(visit)))


async def _send(desk: Desk, visit: Visit, reference: str, contact: str) -> Locked | None:
    """None: whatever there was to send is sent."""
    resources, now = desk.resources, desk.now()
    visitor = digest_visitor(resources.keys, visit.client_host)
    async with resources.database.transaction() as tx:
        locked = await admit_request(tx, visitor, now)
        askers = [] if locked else await find_askers(tx, reference, contact)
    for asker in askers:
        language = asker.language or asker.merchant.configuration.language
        addressee = Addressee(asker.claim_id, asker.channel, asker.address, language)
        notice = desk.notices.write(asker.merchant, addressee, LinkFacts())
        async with resources.database.transaction() as tx:
            work = desk.work(tx, asker.merchant, "new-link")
            await send_link(work, resources.keys, notice, now)
    return locked
