"""The lines of the installation: for whoever operates all merchants."""

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar

import msgspec
from starlette.responses import Response

from dunwell.alarms.mail_words import describe, find_place
from dunwell.alarms.read_alarms import AlarmsView, read_alarms
from dunwell.explanation.read_lines import MOST_SENT, MOST_WAITING, LinesView, read_lines
from dunwell.people.signed_in import SignedIn
from dunwell.portal.render.pages import Page
from dunwell.portal.web.guards import RoutedPages, signed_in
from dunwell.portal.web.site import Site
from dunwell.portal.web.visit import Visit


class ShownAlarm(msgspec.Struct, frozen=True, gc=False):
    """In the reader's language, with the address of where it is mended."""

    words: str
    address: str
    began_at: datetime


class LinesPage(Page, frozen=True):
    template: ClassVar[str] = "lines.html"

    view: LinesView
    alarms: Sequence[ShownAlarm]
    # Nobody looks for alarms, or nobody is told of them.
    is_stale: bool
    looked_at: datetime | None
    is_told_nobody: bool
    # What is counted no further.
    most_waiting: int
    most_sent: int


@signed_in
async def show_lines(site: Site, visit: Visit, person: SignedIn) -> Response:
    resources = site.resources
    async with resources.database.transaction() as tx:
        view = await read_lines(tx, person.actor, resources.clock.now())
        alarms = await read_alarms(tx, person.actor, resources.clock.now())
    frame = site.frame(visit)
    page = LinesPage(
        view=view,
        alarms=_show_alarms(alarms, frame.language),
        is_stale=alarms.is_stale,
        looked_at=alarms.looked_at,
        is_told_nobody=alarms.is_told_nobody,
        most_waiting=MOST_WAITING,
        most_sent=MOST_SENT,
    )
    return site.answer(frame, page)


def _show_alarms(view: AlarmsView, language: str) -> Sequence[ShownAlarm]:
    return [
        ShownAlarm(describe(each, language), find_place(each), each.began_at)
        for each in view.standing
    ]


PAGES: RoutedPages = {"lines": {"GET": show_lines}}
