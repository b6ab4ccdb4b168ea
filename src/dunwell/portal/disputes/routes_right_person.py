"""Confirms that a claim has reached the right person after all, who lives."""

from starlette.responses import Response

from dunwell.disputes.end_dispute import confirm_right_person
from dunwell.errors import InvalidState
from dunwell.portal.disputes.routes_assign import go_to_dispute
from dunwell.portal.web.access import Access
from dunwell.portal.web.guards import RoutedPages, takes_form_at_merchant
from dunwell.portal.web.looking import read_claim_id, read_id
from dunwell.portal.web.site import Site
from dunwell.portal.web.visit import Fields, Visit


@takes_form_at_merchant
async def confirm(site: Site, visit: Visit, access: Access, _fields: Fields) -> Response:
    """A second click changes nothing. A dispute that has never withheld its claim has no such
    button."""
    claim_id, dispute_id = read_claim_id(visit), read_id(visit, "dispute_id")
    done = "right_person"
    try:
        async with site.work(access) as work:
            await confirm_right_person(work, claim_id, dispute_id)
    except InvalidState:
        done = ""
    return site.redirect(
        visit, access, "dispute", claim_id=claim_id, dispute_id=dispute_id, done=done
    )


PAGES: RoutedPages = {"dispute_right_person": {"GET": go_to_dispute, "POST": confirm}}
