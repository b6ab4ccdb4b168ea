"""What somebody can do who cannot pay all of it now: in parts, later, or neither."""

from dunwell.landing.arranging.requesting import can_be_arranged, load_ground
from dunwell.landing.arranging.views import describe_options
from dunwell.landing.session.lookup import OpenedClaim
from dunwell.landing.web.answer import Answer
from dunwell.landing.web.desk import Desk
from dunwell.landing.web.in_session import in_session
from dunwell.landing.web.visit import Visit


@in_session
async def show_options(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    """A link alone may see them: they tell of nothing but the amount."""
    frame = desk.frame_opened(visit, opened)
    if not can_be_arranged(desk, opened):
        return desk.redirect(frame, "claim")
    ground = await load_ground(desk, opened)
    now = opened.merchant.now(desk.resources.clock)
    return desk.answer(frame, describe_options(opened, ground, now))
