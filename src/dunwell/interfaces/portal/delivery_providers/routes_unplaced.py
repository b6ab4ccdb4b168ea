"""Messages and reports of lines that nobody could place: for whoever operates all merchants."""

from collections.abc import Sequence
from typing import ClassVar
from uuid import UUID

from starlette.responses import Response

from dunwell.accounts.users.user import SignedIn
from dunwell.contact.sending.store import Unplaced, UnplacedKind
from dunwell.contact.sending.unmatched import list_unplaced, look_at_unplaced
from dunwell.interfaces.portal.web.guards import RoutedPages, signed_in, takes_form
from dunwell.interfaces.portal.web.paging import PAGE, find_page
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.interfaces.web.templates import Page
from dunwell.platform.errors import NotFound


class UnplacedPage(Page, frozen=True):
    template: ClassVar[str] = "unplaced.html"

    kind: UnplacedKind
    found: Sequence[Unplaced]
    next_cursor: str | None
    after: str
    # What has just become of a form of this page; "": nothing.
    done_here: str


@signed_in
async def show_unplaced(site: PortalSite, visit: PortalRequest, person: SignedIn) -> Response:
    kind, after = _read_kind(visit.ask("of")), visit.ask("after")
    async with site.resources.database.transaction() as tx:
        view = await find_page(
            lambda cursor: list_unplaced(tx, person.actor, kind, limit=PAGE, cursor=cursor), after
        )
    page = UnplacedPage(kind, view.items, view.next_cursor, after, done_here=visit.ask("looked"))
    return site.answer(site.frame(visit), page)


@takes_form
async def look_at(
    site: PortalSite, visit: PortalRequest, person: SignedIn, fields: FormFields
) -> Response:
    """Of two who look at once the second is told."""
    kind, resources = _read_kind(fields["of"]), site.resources
    async with resources.database.transaction() as tx:
        is_first = await look_at_unplaced(
            tx, person.actor, kind, _read_key(fields["key"]),
            real_now=resources.clock.now(), ids=resources.ids,
        )  # fmt: skip
    looked = "now" if is_first else "before"
    return site.redirect(visit, None, "unplaced", of=kind, after=fields["after"], looked=looked)


def _read_kind(text: str) -> UnplacedKind:
    return "reports" if text == "reports" else "sms"


def _read_key(text: str) -> UUID:
    """Raises NotFound."""
    try:
        return UUID(text)
    except ValueError:
        raise NotFound("There is no such message.") from None


PAGES: RoutedPages = {"unplaced": {"GET": show_unplaced, "POST": look_at}}
