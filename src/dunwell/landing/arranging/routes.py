"""What somebody can do who cannot pay all of it now: in parts, later, or neither."""

from starlette.responses import Response

from dunwell.landing.arranging.requesting import can_be_arranged, load_ground
from dunwell.landing.arranging.views import describe_options
from dunwell.landing.session.lookup import OpenedClaim
from dunwell.landing.web.in_session import RoutedPages, in_session
from dunwell.landing.web.site import Site
from dunwell.landing.web.visit import Visit


@in_session
async def show_options(site: Site, visit: Visit, opened: OpenedClaim) -> Response:
    """A link alone may see them: they tell of nothing but the amount."""
    frame = site.frame_opened(visit, opened)
    if not can_be_arranged(site, opened):
        return site.redirect(frame, "claim")
    ground = await load_ground(site, opened)
    now = opened.merchant.now(site.resources.clock)
    return site.answer(frame, describe_options(opened, ground, now))


PAGES: RoutedPages = {
    "options": {"GET": show_options},
}
