"""The pages of one claim: overview, a message as it was sent, the reasons for its next step,
statement of account, and documents."""

from starlette.responses import Response

from dunwell.cases.direct_debit.listing.list_debits import list_mandates_of_claim
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
    find_open_dispute,
    list_activity,
    list_chips,
)
from dunwell.interfaces.portal.web.access import (
    MerchantAccess,
    PortalRequest,
    open_claim,
    parse_claim_id,
    parse_path_id,
)
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, in_preview_turn
from dunwell.interfaces.portal.web.lists import parse_day
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.formats import parse_instant
from dunwell.interfaces.web.responses import build_file_response
from dunwell.operations.claim_status.explain_claim import explain_claim
from dunwell.operations.claim_status.timeline import MAX_EVENTS, list_timeline
from dunwell.operations.seals.seals import find_contact_seal
from dunwell.platform.errors import NotFound

_MAX_MANDATES = 5


@at_merchant
async def get_claim_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    claim_id, chip = parse_claim_id(request), request.get_parameter("show")
    async with site.open_work(access) as work:
        view = await open_claim(work, access, claim_id)
        explanation = await explain_claim(work, site.resources.keys, claim_id)
        timeline = await list_timeline(work, claim_id)
        documents = await list_all_attachments(work, claim_id)
        mandates = await list_mandates_of_claim(work, claim_id, limit=_MAX_MANDATES)
    chips = list_chips(timeline)
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
        activity=list_activity(timeline, chip),
        chips=chips,
        chip=chip,
        has_more=len(timeline) == MAX_EVENTS,
        documents=documents,
        mandates=mandates.items,
        open_dispute_id=find_open_dispute(timeline),
        has_unread_reply=any((each.kind, each.word) == ("REPLY", "UNSEEN") for each in timeline),
    )
    return site.render_merchant_page(request, access, page)


@at_merchant
async def get_explanation_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    claim_id = parse_claim_id(request)
    async with site.open_work(access) as work:
        view = await open_claim(work, access, claim_id)
        explanation = await explain_claim(work, site.resources.keys, claim_id)
    return site.render_merchant_page(
        request, access, ExplanationPage(describe_head(view), explanation)
    )


@at_merchant
async def get_message_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    claim_id, message_id = parse_claim_id(request), parse_path_id(request, "message_id")
    async with site.open_work(access) as work:
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
    return site.render_merchant_page(request, access, page)


@at_merchant
async def get_account_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Show the statement of account as of the day in the URL, by default today."""
    claim_id, context = parse_claim_id(request), site.build_context(request, access)
    assert context.today is not None
    on = parse_day(request.get_parameter("on")) or context.today
    async with site.open_work(access) as work:
        view = await open_claim(work, access, claim_id)
        account = await get_statement_of_account(work, claim_id, on)
    return site.render_page(context, StatementPage(describe_head(view), on, account))


@at_merchant
async def send_document(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Send a document as a download, so that browsers never display foreign content on the
    portal's origin."""
    claim_id, attachment_id = parse_claim_id(request), parse_path_id(request, "attachment_id")
    async with site.open_work(access) as work:
        await open_claim(work, access, claim_id)
        attachment = await get_attachment(work, claim_id, attachment_id)
    content = await site.storage.load(attachment.storage_key)
    name = render_download_name(attachment.friendly_name, attachment.content_type)
    return build_file_response(content, attachment.content_type, name)


@at_merchant
@in_preview_turn
async def get_debtor_preview(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Show the debtor page as a preview. It opens no session, publishes no event, and its forms
    cannot be sent."""
    claim_id = parse_claim_id(request)
    is_link_only = request.get_parameter("level") == "link"
    async with site.open_work(access) as work:
        await open_claim(work, access, claim_id)
        preview = await prepare_claim_preview(
            site.debtors, work, claim_id, is_link_only=is_link_only
        )
    return answer_claim_preview(site.debtors, request, preview)


PAGES: RoutedPages = {
    "claim": {"GET": get_claim_page},
    "claim_why": {"GET": get_explanation_page},
    "claim_message": {"GET": get_message_page},
    "claim_account": {"GET": get_account_page},
    "claim_debtor": {"GET": get_debtor_preview},
    "claim_document": {"GET": send_document},
}
