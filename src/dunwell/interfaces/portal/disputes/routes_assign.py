"""The forms that assign a dispute and that confirm that its claim reached the right person."""

from starlette.responses import Response

from dunwell.cases.disputes.answer_dispute import assign_dispute, confirm_right_person
from dunwell.core.claims.access import check_claim_exists
from dunwell.interfaces.portal.web.access import MerchantAccess
from dunwell.interfaces.portal.web.assigning import read_assignee
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.looking import read_claim_id, read_id
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.platform.errors import EditConflict, InvalidState, ValidationError


@takes_form_at_merchant
async def submit_assignee(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Assign the dispute. If two users do it at once, the second is told and sees the assignee."""
    claim_id, dispute_id = read_claim_id(visit), read_id(visit, "dispute_id")
    wanted, known = read_assignee(fields, "assignee"), read_assignee(fields, "known_assignee")
    done = "assigned"
    try:
        async with site.work(access) as work:
            await assign_dispute(work, claim_id, dispute_id, wanted, expected_id=known)
    except EditConflict:
        done = "assigned_before"
    except (InvalidState, ValidationError):
        done = "not_assigned"
    return site.redirect(
        visit, access, "dispute", claim_id=claim_id, dispute_id=dispute_id, done=done
    )


@takes_form_at_merchant
async def confirm_person(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, _fields: FormFields
) -> Response:
    """Confirm that the right person was reached. A second click changes nothing. The button exists
    only for disputes that withheld the claim."""
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


@at_merchant
async def redirect_to_dispute(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess
) -> Response:
    """Redirect users who open the address of a form by hand. Raises NotFound."""
    async with site.work(access) as work:
        await check_claim_exists(work, read_claim_id(visit))
    ids = {"claim_id": read_claim_id(visit), "dispute_id": read_id(visit, "dispute_id")}
    return site.redirect(visit, access, "dispute", **ids)


PAGES: RoutedPages = {
    "dispute_assign": {"GET": redirect_to_dispute, "POST": submit_assignee},
    "dispute_right_person": {"GET": redirect_to_dispute, "POST": confirm_person},
}
