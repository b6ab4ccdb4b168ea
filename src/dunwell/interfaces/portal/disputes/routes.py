"""The inbox of disputes; one dispute with its evidence, its assignee and the response; and
the response templates.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from starlette.responses import Response

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.answer_days import compute_answer_day
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.users.assignee import Assignee, AssigneeFilter
from dunwell.cases.disputes.answer_dispute import (
    assign_dispute,
    confirm_right_person,
    find_assignee,
)
from dunwell.cases.disputes.dispute import (
    ClaimDispute,
    DisputeState,
    EvidenceFile,
    render_case_number,
)
from dunwell.cases.disputes.list_disputes import (
    count_unresolved_disputes,
    get_evidence,
    list_claim_disputes,
    list_disputes,
    list_unresolved_disputes,
)
from dunwell.cases.disputes.response_templates import (
    add_response_template,
    list_response_templates,
    remove_response_template,
)
from dunwell.cases.disputes.store import ListedDispute, UnresolvedDispute
from dunwell.contact.messages.templates.formatting import render_name
from dunwell.core.claims.access import ClaimView, check_claim_exists
from dunwell.interfaces.portal.disputes.drafts import (
    DisputeAlreadyAnswered,
    ResponseContent,
    ResponseDraft,
    decide_resolution,
    load_draft,
    save_draft,
    send_response,
)
from dunwell.interfaces.portal.disputes.views import (
    DisputePage,
    DisputesPage,
    ResponsePreviewPage,
    ResponseTemplatesPage,
    build_response_preview,
)
from dunwell.interfaces.portal.web.access import (
    MerchantAccess,
    PortalRequest,
    open_claim,
    parse_claim_id,
    parse_path_id,
)
from dunwell.interfaces.portal.web.guards import (
    RoutedPages,
    at_merchant,
    in_preview_turn,
    takes_form_at_merchant,
)
from dunwell.interfaces.portal.web.lists import (
    PAGE_SIZE,
    list_assignable_users,
    load_page,
    parse_assignee,
    parse_assignee_filter,
)
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.responses import build_file_response
from dunwell.platform.children.process import run_in_thread
from dunwell.platform.errors import EditConflict, InvalidState, NotFound, ValidationError


@dataclass(frozen=True, slots=True)
class _LoadedDispute:
    claim: ClaimView
    dispute: ClaimDispute
    files: list[EvidenceFile]
    others: list[ClaimDispute]
    draft: ResponseDraft
    assignee: Assignee | None


@at_merchant
async def get_disputes_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    after, state_name = request.get_parameter("after"), request.get_parameter("state")
    state = DisputeState(state_name) if state_name in list(DisputeState) else DisputeState.OPEN
    choice, assignee_filter = parse_assignee_filter(request, access)
    async with site.open_work(access) as work:
        count = await count_unresolved_disputes(work)
        open_disputes, closed_disputes, cursor = await _load_disputes(
            work, state, after, assignee_filter
        )
    page = DisputesPage(
        state=str(state),
        whose=choice,
        me=access.person.user_id,
        open_disputes=open_disputes,
        closed_disputes=closed_disputes,
        answer_days={
            each.dispute_id: _compute_answer_day(access, each.opened_at) for each in open_disputes
        },
        count=count,
        after=after,
        next_cursor=cursor,
    )
    return site.render_merchant_page(request, access, page)


async def _load_disputes(
    work: Work, state: DisputeState, after: str, assignee_filter: AssigneeFilter
) -> tuple[Sequence[UnresolvedDispute], Sequence[ListedDispute], str | None]:
    """Return one page of disputes as two lists, of which one is empty: the open disputes and the
    closed ones. The third value is the cursor of the next page."""
    if state is DisputeState.OPEN:
        found = await load_page(
            lambda cursor: list_unresolved_disputes(
                work, limit=PAGE_SIZE, cursor=cursor, whose=assignee_filter
            ),
            after,
        )
        return found.items, (), found.next_cursor
    closed = await load_page(
        lambda cursor: list_disputes(work, limit=PAGE_SIZE, cursor=cursor, state=state), after
    )
    return (), closed.items, closed.next_cursor


def _compute_answer_day(access: MerchantAccess, opened_at: datetime) -> date:
    configuration = access.merchant.configuration
    return compute_answer_day(
        opened_at, configuration.disputes.answer_within_days, configuration.timezone
    )


@at_merchant
async def get_dispute_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    return await _render_dispute_page(site, request, access)


@takes_form_at_merchant
async def submit_response(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Save the draft, whichever button was pressed. Then open the preview or return to the
    dispute."""
    claim_id, dispute_id = parse_claim_id(request), parse_path_id(request, "dispute_id")
    typed, button = _parse_response(fields), fields["do"]
    if button == "insert":
        typed = await _insert_template(site, access, typed, fields["text"])
    try:
        async with site.open_work(access) as work:
            await save_draft(
                work, claim_id, dispute_id, typed, expected_revision=_parse_revision(fields)
            )
        if button == "preview":
            decide_resolution(typed)
    except (EditConflict, DisputeAlreadyAnswered) as conflict:
        return await _render_dispute_page(
            site, request, access, typed, conflict=conflict, status=409
        )
    except ValidationError as refusal:
        faults = [(each.path.rpartition("/")[2], each.code) for each in refusal.faults]
        return await _render_dispute_page(site, request, access, typed, faults=faults, status=422)
    path_values = {"claim_id": claim_id, "dispute_id": dispute_id}
    if button == "preview":
        return site.redirect(request, access, "dispute_preview", **path_values)
    return site.redirect(
        request, access, "dispute", **path_values, done="" if button == "insert" else "draft"
    )


@at_merchant
@in_preview_turn
async def get_response_preview_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Show a preview of the stored draft, which is what will be sent."""
    async with site.open_work(access) as work:
        loaded = await _load_dispute(work, access, request)
        if loaded.dispute.state is not DisputeState.OPEN or not loaded.draft.content.outcome:
            return _redirect_to_dispute(site, request, access)
        now = work.now
    preview = await run_in_thread(
        build_response_preview,
        access.merchant,
        now,
        writer=site.debtors.notices,
        claim=loaded.claim,
        dispute=loaded.dispute,
        content=loaded.draft.content,
    )
    name = render_name(loaded.claim.debtor)
    page = ResponsePreviewPage(
        loaded.claim, name, dispute=loaded.dispute, draft=loaded.draft, preview=preview
    )
    return site.render_merchant_page(request, access, page)


@takes_form_at_merchant
async def submit_previewed_response(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Send the response that the preview shows."""
    claim_id, dispute_id = parse_claim_id(request), parse_path_id(request, "dispute_id")
    try:
        async with site.open_work(access) as work:
            await send_response(
                work, claim_id, dispute_id, expected_revision=_parse_revision(fields)
            )
    except (EditConflict, DisputeAlreadyAnswered) as conflict:
        return await _render_dispute_page(site, request, access, conflict=conflict, status=409)
    except ValidationError:
        return _redirect_to_dispute(site, request, access)
    return site.redirect(
        request, access, "dispute", claim_id=claim_id, dispute_id=dispute_id, done="answer"
    )


@at_merchant
async def send_file(site: PortalSite, request: PortalRequest, access: MerchantAccess) -> Response:
    """Send the original as a download, so that browsers never display a debtor's file on the
    portal's origin."""
    claim_id, dispute_id = parse_claim_id(request), parse_path_id(request, "dispute_id")
    file_id = parse_path_id(request, "file_id")
    async with site.open_work(access) as work:
        await open_claim(work, access, claim_id)
        file = await get_evidence(work, claim_id, dispute_id, file_id)
    content = await site.storage.load(file.storage_key)
    return build_file_response(content, file.content_type, file.name)


async def _load_dispute(
    work: Work, access: MerchantAccess, request: PortalRequest
) -> _LoadedDispute:
    """Load the dispute. Raises NotFound, also if it belongs to another claim."""
    claim_id, dispute_id = parse_claim_id(request), parse_path_id(request, "dispute_id")
    claim = await open_claim(work, access, claim_id)
    listed = (await list_claim_disputes(work, claim_id, limit=100)).items
    found = next((each for each in listed if each.dispute.dispute_id == dispute_id), None)
    if found is None:
        raise NotFound("There is no such dispute.")
    dispute, files = found.dispute, [*found.files]
    others = [each.dispute for each in listed if each is not found]
    draft, assignee = await load_draft(work, dispute_id), await find_assignee(work, dispute_id)
    return _LoadedDispute(
        claim, dispute, files=files, others=others, draft=draft, assignee=assignee
    )


async def _render_dispute_page(  # noqa: PLR0913 - one parameter for each part of the page
    site: PortalSite, request: PortalRequest, access: MerchantAccess,
    typed: ResponseContent | None = None, *,
    faults: list[tuple[str, str]] | None = None,
    conflict: EditConflict | DisputeAlreadyAnswered | None = None, status: int = 200,
) -> Response:  # fmt: skip
    async with site.open_work(access) as work:
        loaded = await _load_dispute(work, access, request)
        texts = await list_response_templates(work)
        colleagues = await list_assignable_users(work, access)
    dispute = loaded.dispute
    page = DisputePage(
        claim=loaded.claim,
        name=render_name(loaded.claim.debtor),
        dispute=dispute,
        case_number=render_case_number(dispute.dispute_id),
        answer_on=_compute_answer_day(access, dispute.opened_at),
        files=loaded.files,
        others=loaded.others,
        draft=loaded.draft,
        typed=typed or loaded.draft.content,
        texts=texts if access.may(Right.ANSWER) else (),
        faults=faults or (),
        assignee=loaded.assignee,
        colleagues=colleagues,
        me=access.person.user_id,
        is_conflict=isinstance(conflict, EditConflict),
        is_answered=isinstance(conflict, DisputeAlreadyAnswered),
    )
    return site.render_merchant_page(request, access, page, status)


def _redirect_to_dispute(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    return site.redirect(
        request, access, "dispute",
        claim_id=parse_claim_id(request), dispute_id=parse_path_id(request, "dispute_id"),
    )  # fmt: skip


async def _insert_template(
    site: PortalSite, access: MerchantAccess, typed: ResponseContent, template_id: str
) -> ResponseContent:
    """Append one of the merchant's response templates to the message."""
    async with site.open_work(access) as work:
        texts = await list_response_templates(work)
    text = next((each.text for each in texts if str(each.template_id) == template_id), "")
    message = "\n\n".join(part for part in (typed.message, text) if part)
    return ResponseContent(typed.outcome, typed.ends_claim, message)


def _parse_response(fields: FormFields) -> ResponseContent:
    outcomes: tuple[Literal["ACCEPTED", "REJECTED"], ...] = ("ACCEPTED", "REJECTED")
    outcome: Literal["", "ACCEPTED", "REJECTED"] = next(
        (each for each in outcomes if each == fields["outcome"]), ""
    )
    return ResponseContent(outcome, fields["ends_claim"] != "no", fields.text("message"))


def _parse_revision(fields: FormFields) -> int:
    text = fields["known_revision"]
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0


@takes_form_at_merchant
async def submit_assignee(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Assign the dispute. If another user was faster, the page says so and shows the assignee."""
    claim_id, dispute_id = parse_claim_id(request), parse_path_id(request, "dispute_id")
    assignee_id = parse_assignee(fields, "assignee")
    expected_id = parse_assignee(fields, "known_assignee")
    done = "assigned"
    try:
        async with site.open_work(access) as work:
            await assign_dispute(work, claim_id, dispute_id, assignee_id, expected_id=expected_id)
    except EditConflict:
        done = "assigned_before"
    except (InvalidState, ValidationError):
        done = "not_assigned"
    return site.redirect(
        request, access, "dispute", claim_id=claim_id, dispute_id=dispute_id, done=done
    )


@takes_form_at_merchant
async def submit_right_person(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, _fields: FormFields
) -> Response:
    """Confirm that the right person was reached. A second click changes nothing. The button exists
    only for disputes that withheld the claim."""
    claim_id, dispute_id = parse_claim_id(request), parse_path_id(request, "dispute_id")
    done = "right_person"
    try:
        async with site.open_work(access) as work:
            await confirm_right_person(work, claim_id, dispute_id)
    except InvalidState:
        done = ""
    return site.redirect(
        request, access, "dispute", claim_id=claim_id, dispute_id=dispute_id, done=done
    )


@at_merchant
async def redirect_to_dispute(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Redirect users who open the URL of a form by hand. Raises NotFound."""
    async with site.open_work(access) as work:
        await check_claim_exists(work, parse_claim_id(request))
    ids = {"claim_id": parse_claim_id(request), "dispute_id": parse_path_id(request, "dispute_id")}
    return site.redirect(request, access, "dispute", **ids)


@at_merchant
async def get_templates_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    return await _render_templates_page(site, request, access)


@takes_form_at_merchant
async def submit_template(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    name, text = fields.text("name"), fields.text("text")
    try:
        async with site.open_work(access) as work:
            await add_response_template(work, name, text)
    except ValidationError as refusal:
        faults = [(each.path.rpartition("/")[2], each.code) for each in refusal.faults]
        return await _render_templates_page(
            site, request, access=access, name=name, text=text, faults=faults
        )
    return site.redirect(request, access, "answer_texts", done="saved")


@takes_form_at_merchant
async def submit_template_removal(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, _fields: FormFields
) -> Response:
    async with site.open_work(access) as work:
        await remove_response_template(work, parse_path_id(request, "template_id"))
    return site.redirect(request, access, "answer_texts", done="removed")


@at_merchant
async def redirect_to_templates(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    return site.redirect(request, access, "answer_texts")


async def _render_templates_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess,
    name: str = "", text: str = "", *,
    faults: list[tuple[str, str]] | None = None,
) -> Response:  # fmt: skip
    if not access.may(Right.ANSWER):
        raise NotFound("There is no such page.")
    async with site.open_work(access) as work:
        texts = await list_response_templates(work)
    page = ResponseTemplatesPage(texts, name, text, faults or ())
    return site.render_merchant_page(request, access, page, 422 if faults else 200)


PAGES: RoutedPages = {
    "disputes": {"GET": get_disputes_page},
    "dispute": {"GET": get_dispute_page, "POST": submit_response},
    "dispute_preview": {"GET": get_response_preview_page, "POST": submit_previewed_response},
    "dispute_file": {"GET": send_file},
    "dispute_assign": {"GET": redirect_to_dispute, "POST": submit_assignee},
    "dispute_right_person": {"GET": redirect_to_dispute, "POST": submit_right_person},
    "answer_texts": {"GET": get_templates_page, "POST": submit_template},
    "answer_text_end": {"GET": redirect_to_templates, "POST": submit_template_removal},
}
