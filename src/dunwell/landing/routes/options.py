"""What somebody can do who cannot pay all of it now: in parts, later, or neither."""

from dunwell.landing.answer import Answer, answer_page
from dunwell.landing.asking import find_live, may_ask
from dunwell.landing.desk import Desk
from dunwell.landing.in_session import in_session
from dunwell.landing.lookup import OpenedClaim
from dunwell.landing.routes.requesting import can_be_arranged, load_ground
from dunwell.landing.visit import Visit
from dunwell.modalities.bounds import DefermentTerms, PlanTerms
from dunwell.modalities.offers import list_offers


@in_session
async def show_options(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    """A link alone may see them: they tell of nothing but the amount."""
    frame = desk.frame_opened(visit, opened)
    if not can_be_arranged(desk, opened):
        return desk.redirect(frame, "/claim")
    ground = await load_ground(desk, opened)
    offers = list_offers(ground.modalities, ground.facts, ground.today)
    body = desk.show(
        "options.html", frame, opened,
        live=find_live(ground.earlier),
        may_ask=may_ask(ground.earlier, opened.merchant.now(desk.resources.clock)),
        plans=[each for each in offers if isinstance(each.terms, PlanTerms)],
        deferments=[each for each in offers if isinstance(each.terms, DefermentTerms)],
    )  # fmt: skip
    return answer_page(body)
