"""Publishing a draft, with its changes, their authors and the claims that move; and discarding
it."""

from collections.abc import Sequence

from starlette.responses import Response

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.delete_workflow import discard_draft_or_workflow
from dunwell.cases.rollout.preview.effects import PreviewScope
from dunwell.cases.rollout.preview.effects_views import NextContactsView, build_next_contacts_view
from dunwell.cases.rollout.preview.preview_effects import MinorVersionChange, preview_effects
from dunwell.cases.rollout.publish_workflow import publish_workflow
from dunwell.cases.rollout.workflow_overviews import (
    MAX_COUNTED_CLAIMS,
    DraftOverview,
    WorkflowOverview,
    get_draft_overview,
    get_workflow_overview,
)
from dunwell.core.workflows.drafts.draft_changes import DraftChange, ReviewedChanges
from dunwell.core.workflows.drafts.publish_draft import ChangesNotReviewed
from dunwell.core.workflows.versions.versions import VersionVerdict
from dunwell.interfaces.portal.web.access import (
    MerchantAccess,
    PortalRequest,
    parse_form_id,
    parse_path_id,
)
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.portal.workflows.part_forms import get_amount_format
from dunwell.interfaces.portal.workflows.views import (
    DiscardDraftPage,
    PublishWorkflowPage,
    build_author_key,
    build_outlook_figures,
    describe_faults,
    group_changes,
)
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.responses import add_etag
from dunwell.operations.jobs.jobs import TooManyJobs
from dunwell.operations.jobs.previews.draft_previews import find_draft_preview, start_preview
from dunwell.platform.errors import InvalidState, ValidationError

# If more claims are affected, the worker computes their next contacts.
_MAX_INLINE_CLAIMS = 200
_MAX_LISTED_CLAIMS = 20


@at_merchant
async def get_publication_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Return the page, with an ETag so that polling is cheap while the worker counts."""
    return add_etag(await _render_page(site, request, access), request.headers)


@takes_form_at_merchant
async def submit_publication(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    workflow_id, comment = parse_path_id(request, "workflow_id"), fields.text("comment")[:2_000]
    try:
        async with site.open_work(access) as work:
            work.require(Right.PUBLISH)
            draft = await get_draft_overview(work, workflow_id)
            reviewed = _parse_reviewed_changes(fields, draft.changes)
            await publish_workflow(
                work, workflow_id, comment or None,
                expected_id=parse_form_id(fields, "known_draft"), reviewed=reviewed,
            )  # fmt: skip
    except ChangesNotReviewed as refusal:
        return await _render_page(
            site, request, access, comment=comment, refusal=refusal, status=409
        )
    except ValidationError as refusal:
        has_control_characters = any(fault.path == "/comment" for fault in refusal.faults)
        return await _render_page(
            site,
            request,
            access,
            comment=comment,
            has_control_characters=has_control_characters,
            status=422,
        )
    except InvalidState:
        return await _render_page(
            site, request, access, comment=comment, is_conflict=True, status=409
        )
    return site.redirect(
        request, access, "workflow_history", workflow_id=workflow_id, done="published"
    )


@takes_form_at_merchant
async def start_counting_claims(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Let the worker count the affected claims. The page shows the progress."""
    workflow_id = parse_path_id(request, "workflow_id")
    try:
        async with site.open_work(access) as work:
            await start_preview(work, workflow_id, parse_form_id(fields, "known_draft"))
    except TooManyJobs:
        raise
    except InvalidState:
        return await _render_page(site, request, access, is_conflict=True, status=409)
    return site.redirect(request, access, "workflow_publish", workflow_id=workflow_id)


@at_merchant
async def redirect_to_publication(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    workflow_id = parse_path_id(request, "workflow_id")
    async with site.open_work(access) as work:
        await get_draft_overview(work, workflow_id)
    return site.redirect(request, access, "workflow_publish", workflow_id=workflow_id)


async def _render_page(  # noqa: PLR0913 - one parameter for each result of the form
    site: PortalSite, request: PortalRequest, access: MerchantAccess, *, comment: str = "",
    refusal: ChangesNotReviewed | None = None, is_conflict: bool = False,
    has_control_characters: bool = False,
    status: int = 200,
) -> Response:  # fmt: skip
    workflow_id = parse_path_id(request, "workflow_id")
    async with site.open_work(access) as work:
        draft = await get_draft_overview(work, workflow_id)
        workflow = await get_workflow_overview(work, workflow_id)
        affected_claims = workflow.on_current if draft.verdict is VersionVerdict.MINOR else 0
        preview = await find_draft_preview(work, draft.draft_id) if draft.draft_id else None
        next_contacts = None
        if 0 < affected_claims <= _MAX_INLINE_CLAIMS:
            next_contacts = await _load_next_contacts(site, work, draft, affected_claims)
    new_changes = [each.change_id for each in refusal.new_changes] if refusal else []
    unticked = [each.change_id for each in refusal.unapproved] if refusal else []
    page = PublishWorkflowPage(
        draft=draft,
        faults=describe_faults(draft.definition, draft.faults),
        authors=group_changes(draft.changes, access.actor, new=new_changes, unticked=unticked),
        affected_claims=affected_claims,
        unaffected_claims=_count_running_claims(workflow) - affected_claims,
        max_counted=MAX_COUNTED_CLAIMS,
        next_contacts=next_contacts,
        preview=preview,
        outlook=build_outlook_figures(preview.effects) if preview else None,
        currency=get_amount_format(access, draft, "").currency,
        comment=comment,
        is_conflict=is_conflict or bool(new_changes),
        is_unticked=bool(unticked) and not new_changes,
        has_control_characters=has_control_characters,
    )
    return site.render_merchant_page(request, access, page, status)


async def _load_next_contacts(
    site: PortalSite, work: Work, draft: DraftOverview, affected_claims: int
) -> NextContactsView | None:
    if draft.current is None:
        return None
    change = MinorVersionChange(draft.current, draft.definition, affected_claims)
    scope = PreviewScope(0, _MAX_LISTED_CLAIMS)
    return build_next_contacts_view(await preview_effects(work, site.resources.keys, change, scope))


def _count_running_claims(workflow: WorkflowOverview) -> int:
    return sum(each.claims for each in workflow.running)


def _parse_reviewed_changes(fields: FormFields, changes: Sequence[DraftChange]) -> ReviewedChanges:
    """Return which of the changes the form showed, and which of them the user has reviewed. The
    form has one tick for all changes of an author."""
    shown, ticked = set(fields.all("seen")), set(fields.all("agreed"))
    seen = [each for each in changes if str(each.change_id) in shown]
    agreed = [each.change_id for each in seen if build_author_key(each) in ticked]
    return ReviewedChanges(frozenset(each.change_id for each in seen), frozenset(agreed))


@at_merchant
async def get_discard_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    return await _render_discard_page(site, request, access)


@takes_form_at_merchant
async def submit_discard_form(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    workflow_id, known_id = (
        parse_path_id(request, "workflow_id"),
        parse_form_id(fields, "known_draft"),
    )
    try:
        async with site.open_work(access) as work:
            is_deleted = await discard_draft_or_workflow(work, workflow_id, expected_id=known_id)
    except InvalidState as refusal:
        return await _render_discard_page(site, request, access, refusal=refusal)
    if is_deleted:
        return site.redirect(request, access, "workflows", done="gone")
    return site.redirect(request, access, "workflow", workflow_id=workflow_id, done="discarded")


async def _render_discard_page(
    site: PortalSite,
    request: PortalRequest,
    access: MerchantAccess,
    *,
    refusal: InvalidState | None = None,
) -> Response:
    async with site.open_work(access) as work:
        draft = await get_draft_overview(work, parse_path_id(request, "workflow_id"))
    is_in_use = refusal is not None and refusal.details.get("state") == "IN_USE"
    page = DiscardDraftPage(
        draft=draft,
        authors=group_changes(draft.changes, access.actor),
        currency=get_amount_format(access, draft, "").currency,
        is_conflict=refusal is not None and not is_in_use,
        refusal=refusal.message if refusal is not None and is_in_use else "",
    )
    return site.render_merchant_page(request, access, page, 409 if refusal else 200)


PAGES: RoutedPages = {
    "workflow_publish": {"GET": get_publication_page, "POST": submit_publication},
    "workflow_preview": {"GET": redirect_to_publication, "POST": start_counting_claims},
    "workflow_discard": {"GET": get_discard_page, "POST": submit_discard_form},
}
