"""The front door: what somebody finds who types the address that our messages name."""

from starlette.responses import Response

from dunwell.landing.entering.views import HomePage
from dunwell.landing.web.in_session import RoutedPages
from dunwell.landing.web.site import Site
from dunwell.landing.web.visit import Visit


async def show_home(site: Site, visit: Visit) -> Response:
    return site.answer(await site.find_frame(visit), HomePage())


PAGES: RoutedPages = {
    "home": {"GET": show_home},
}
