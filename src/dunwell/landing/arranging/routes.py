"""What somebody can do who cannot pay all of it now: in parts, later, or neither."""

from functools import partial

from dunwell.landing.arranging.asking import find_live, may_ask
from dunwell.landing.arranging.requesting import can_be_arranged, load_ground
from dunwell.landing.session.lookup import OpenedClaim
from dunwell.landing.web.answer import Answer, answer_page
from dunwell.landing.web.desk import Desk
from dunwell.landing.web.in_session import in_session
from dunwell.landing.web.visit import Visit
from dunwell.modalities.offers import count_rate, list_offered_deferments, list_offered_plans


@in_session
async def show_options(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    """A link alone may see them: they tell of nothing but the amount."""
    frame = desk.frame_opened(visit, opened)
    if not can_be_arranged(desk, opened):
        return desk.redirect(frame, "/claim")
    ground = await load_ground(desk, opened)
    terms = (ground.modalities, ground.facts, ground.today)
    plans, deferments = list_offered_plans(*terms), list_offered_deferments(*terms)
    live, show = find_live(ground.earlier), partial(desk.show_amount, frame=frame, opened=opened)
    same = {
        "live": None if live is None else live.type,
        "may_ask": may_ask(ground.earlier, opened.merchant.now(desk.resources.clock)),
        "most_rates": plans[-1].count if plans else None,
        "latest": deferments[-1].until if deferments else None,
    }  # fmt: skip
    slots = {
        "modality_id": "" if live is None else str(live.modality_id),
        "outstanding": show(opened.facts.outstanding_cents),
        "rate": show(count_rate(plans[-1], ground.facts)) if plans else "",
    }
    return answer_page(desk.pages.render_slotted("options.html", frame, same, slots))
