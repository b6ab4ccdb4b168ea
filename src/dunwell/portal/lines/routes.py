"""The lines of the installation: for whoever operates all merchants."""

from typing import ClassVar

from starlette.responses import Response

from dunwell.explanation.read_lines import MOST_SENT, MOST_WAITING, LinesView, read_lines
from dunwell.people.signed_in import SignedIn
from dunwell.portal.render.pages import Page
from dunwell.portal.web.guards import RoutedPages, signed_in
from dunwell.portal.web.site import Site
from dunwell.portal.web.visit import Visit


class LinesPage(Page, frozen=True):
    template: ClassVar[str] = "lines.html"

    view: LinesView
    # What is counted no further.
    most_waiting: int
    most_sent: int


@signed_in
async def show_lines(site: Site, visit: Visit, person: SignedIn) -> Response:
    resources = site.resources
    async with resources.database.transaction() as tx:
        view = await read_lines(tx, person.actor, resources.clock.now())
    return site.answer(site.frame(visit), LinesPage(view, MOST_WAITING, MOST_SENT))


PAGES: RoutedPages = {"lines": {"GET": show_lines}}
