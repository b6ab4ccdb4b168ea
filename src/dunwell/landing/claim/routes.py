"""The claim page, and staying on or leaving."""

from dunwell.landing.claim.views import NoticesPage, describe_claim
from dunwell.landing.entering.staying import find_stayed, is_its_form, is_repeated, stay
from dunwell.landing.paying.methods import has_method
from dunwell.landing.session.end_session import end_session
from dunwell.landing.session.lookup import OpenedClaim
from dunwell.landing.web.answer import Answer
from dunwell.landing.web.desk import Desk
from dunwell.landing.web.in_session import in_session, takes_form
from dunwell.landing.web.views import EndedPage
from dunwell.landing.web.visit import Form, Visit


@in_session
async def show_claim(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    frame, merchant = desk.frame_opened(visit, opened), opened.merchant
    now, can_pay = merchant.now(desk.resources.clock), has_method(desk.providers, merchant)
    return desk.answer(frame, describe_claim(opened, now, can_pay=can_pay))


async def extend(desk: Desk, visit: Visit) -> Answer:
    """Another hour; a second click lands on the same page."""
    form, opened = await visit.read_form(), await desk.find_opened(visit)
    if opened is None:
        return desk.answer_ended(visit, None)
    frame = desk.frame_opened(visit, opened)
    if desk.is_live(opened):
        if is_repeated(desk, opened, form):
            return desk.redirect(frame, "claim")
        desk.check_token(opened.session, form)
        return desk.redirect(frame, "claim", cookie=await stay(desk, opened))
    value = await find_stayed(desk, opened) if is_its_form(desk, opened, form) else None
    if value is None:
        return desk.answer_ended(visit, opened)
    return desk.redirect(frame, "claim", cookie=value)


@takes_form
async def end(desk: Desk, visit: Visit, opened: OpenedClaim, _form: Form) -> Answer:
    async with desk.resources.database.transaction() as tx:
        work = desk.work(tx, opened.merchant, opened.session.session_id)
        await end_session(work, opened.session)
    return desk.redirect(desk.frame_opened(visit, opened), "ended", cookie="")


async def show_ended(desk: Desk, visit: Visit) -> Answer:
    return desk.answer(desk.frame(visit), EndedPage("ENDED"))


async def go_back(desk: Desk, visit: Visit) -> Answer:
    """An address that only takes forms, opened by hand or by choosing a language there."""
    return desk.redirect(desk.frame(visit), "claim")


async def show_notices(desk: Desk, visit: Visit) -> Answer:
    """Legal notice, privacy and accessibility, in a session or outside of one."""
    opened = await desk.find_opened(visit)
    is_live = opened is not None and desk.is_live(opened)
    frame = desk.frame_opened(visit, opened) if opened and is_live else desk.frame(visit)
    return desk.answer(frame, NoticesPage())
