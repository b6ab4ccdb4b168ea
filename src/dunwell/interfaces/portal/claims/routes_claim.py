"""The pages of one claim: overview, a message as it was sent, the reasons for its next step,
statement of account, and documents."""

from starlette.responses import Response

from dunwell.cases.payments.statement_of_account import get_statement_of_account
from dunwell.contact.messages.communications.list_communications import get_communication
from dunwell.core.files.read_attachments import get_attachment, list_all_attachments
from dunwell.core.files.upload import render_download_name
from dunwell.interfaces.landing.claim_page.preview import (
    answer_claim_preview,
    prepare_claim_preview,
)
from dunwell.interfaces.portal.claims.views import (
    ClaimDetailsPage,
    ExplanationPage,
    MessagePage,
    StatementPage,
    describe_head,
    describe_life,
    find_open_dispute,
    list_chips,
)
from dunwell.interfaces.portal.web.access import MerchantAccess
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, in_preview_turn
from dunwell.interfaces.portal.web.looking import open_claim, read_claim_id, read_id
from dunwell.interfaces.portal.web.paging import read_day
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.formats import parse_instant
from dunwell.interfaces.web.responses import answer_file
from dunwell.operations.claim_status.explain_claim import explain_claim
from dunwell.operations.claim_status.timeline import MAX_EVENTS, list_timeline
from dunwell.operations.seals.seals import find_contact_seal
from dunwell.platform.errors import NotFound


@at_merchant
async def show_claim(site: PortalSite, visit: PortalRequest, access: MerchantAccess) -> Response:
    claim_id, chip = read_claim_id(visit), visit.ask("show")
    async with site.work(access) as work:
        view = await open_claim(work, access, claim_id)
        explanation = await explain_claim(work, site.resources.keys, claim_id)
        life = await list_timeline(work, claim_id)
        documents = await list_all_attachments(work, claim_id)
    chips = list_chips(life)
    chip = chip if chip in chips else ""
    assignment = explanation.assignment
    page = ClaimDetailsPage(
        head=describe_head(view),
        debtor=view.debtor,
        items=view.items,
        explanation=explanation,
        workflow=assignment.name if assignment else "",
        version=assignment.version or "" if assignment else "",
        next_at=parse_instant(explanation.next_step.at) if explanation.next_step else None,
        created_at=view.created_at,
        told=describe_life(life, chip),
        chips=chips,
        chip=chip,
        has_more=len(life) == MAX_EVENTS,
        documents=documents,
        open_dispute_id=find_open_dispute(life),
        has_unseen=any((each.kind, each.word) == ("REPLY", "UNSEEN") for each in life),
    )
    return site.answer_at(visit, access, page)


@at_merchant
async def show_explanation(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess
) -> Response:
    claim_id = read_claim_id(visit)
    async with site.work(access) as work:
        view = await open_claim(work, access, claim_id)
        explanation = await explain_claim(work, site.resources.keys, claim_id)
    return site.answer_at(visit, access, ExplanationPage(describe_head(view), explanation))


@at_merchant
async def show_message(site: PortalSite, visit: PortalRequest, access: MerchantAccess) -> Response:
    claim_id, message_id = read_claim_id(visit), read_id(visit, "message_id")
    async with site.work(access) as work:
        view = await open_claim(work, access, claim_id)
        message = await get_communication(work, message_id)
        seal = await find_contact_seal(work, message_id)
    if message.claim_id != claim_id:
        raise NotFound("There is no such message of this claim.")
    planned_at = parse_instant(message.planned_at)
    assert planned_at is not None
    page = MessagePage(
        head=describe_head(view),
        message=message,
        planned_at=planned_at,
        handed_over_at=parse_instant(message.handed_over_at),
        settled_at=parse_instant(message.settled_at),
        seal=seal.seal if seal else None,
        sealed_at=seal.sealed_at if seal else None,
    )
    return site.answer_at(visit, access, page)


@at_merchant
async def show_account(site: PortalSite, visit: PortalRequest, access: MerchantAccess) -> Response:
    """Show the statement of account as of the day in the address, by default today."""
    claim_id, frame = read_claim_id(visit), site.frame(visit, access)
    assert frame.today is not None
    on = read_day(visit.ask("on")) or frame.today
    async with site.work(access) as work:
        view = await open_claim(work, access, claim_id)
        account = await get_statement_of_account(work, claim_id, on)
    return site.answer(frame, StatementPage(describe_head(view), on, account))


@at_merchant
async def send_document(site: PortalSite, visit: PortalRequest, access: MerchantAccess) -> Response:
    """Send a document as a download, so that foreign content never opens next to the portal's
    pages."""
    claim_id, attachment_id = read_claim_id(visit), read_id(visit, "attachment_id")
    async with site.work(access) as work:
        await open_claim(work, access, claim_id)
        attached = await get_attachment(work, claim_id, attachment_id)
    content = await site.storage.load(attached.storage_key)
    name = render_download_name(attached.friendly_name, attached.content_type)
    return answer_file(content, attached.content_type, name)


@at_merchant
@in_preview_turn
async def show_debtors_page(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess
) -> Response:
    """Show the debtor page as a preview. It opens no session, publishes no event, and its forms
    cannot be sent."""
    claim_id = read_claim_id(visit)
    is_link_only = visit.ask("level") == "link"
    async with site.work(access) as work:
        await open_claim(work, access, claim_id)
        preview = await prepare_claim_preview(
            site.debtors, work, claim_id, is_link_only=is_link_only
        )
    return answer_claim_preview(site.debtors, visit, preview)


PAGES: RoutedPages = {
    "claim": {"GET": show_claim},
    "claim_why": {"GET": show_explanation},
    "claim_message": {"GET": show_message},
    "claim_account": {"GET": show_account},
    "claim_debtor": {"GET": show_debtors_page},
    "claim_document": {"GET": send_document},
}
