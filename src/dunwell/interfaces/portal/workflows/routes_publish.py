"""Publishing a draft: what it changes, by whom, which claims move; and discarding it."""

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
from dunwell.interfaces.portal.web.access import MerchantAccess
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.looking import read_id, read_known_id
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.portal.workflows.part_forms import get_amount_format
from dunwell.interfaces.portal.workflows.views import (
    DiscardPage,
    PublishWorkflowPage,
    build_author_key,
    build_outlook_figures,
    describe_faults,
    group_changes,
)
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.interfaces.web.responses import add_etag
from dunwell.operations.jobs.previews.draft_previews import find_draft_preview, start_preview
from dunwell.operations.jobs.start_job import TooManyJobs
from dunwell.platform.errors import InvalidState, ValidationError

# Beyond it, claims are counted by the worker.
_AT_ONCE = 200
_LISTED = 20


@at_merchant
async def show_publication(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess
) -> Response:
    """With an ETag, while the worker counts."""
    return add_etag(await _answer(site, visit, access), visit.headers)


@takes_form_at_merchant
async def publish(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    workflow_id, comment = read_id(visit, "workflow_id"), fields.text("comment")[:2_000]
    try:
        async with site.work(access) as work:
            work.require(Right.PUBLISH)
            look = await get_draft_overview(work, workflow_id)
            ticks = _read_ticks(fields, look.changes)
            await publish_workflow(
                work, workflow_id, comment or None,
                expected_id=read_known_id(fields, "known_draft"), ticks=ticks,
            )  # fmt: skip
    except ChangesNotReviewed as unseen:
        return await _answer(site, visit, access, comment=comment, unseen=unseen, status=409)
    except ValidationError as refusal:
        is_unwritable = any(fault.path == "/comment" for fault in refusal.faults)
        return await _answer(
            site, visit, access, comment=comment, is_unwritable=is_unwritable, status=422
        )
    except InvalidState:
        return await _answer(site, visit, access, comment=comment, is_conflict=True, status=409)
    return site.redirect(
        visit, access, "workflow_history", workflow_id=workflow_id, done="published"
    )


@takes_form_at_merchant
async def count_claims(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """By the worker; the page shows how far it is."""
    workflow_id = read_id(visit, "workflow_id")
    try:
        async with site.work(access) as work:
            await start_preview(work, workflow_id, read_known_id(fields, "known_draft"))
    except TooManyJobs:
        raise
    except InvalidState:
        return await _answer(site, visit, access, is_conflict=True, status=409)
    return site.redirect(visit, access, "workflow_publish", workflow_id=workflow_id)


@at_merchant
async def redirect_back(site: PortalSite, visit: PortalRequest, access: MerchantAccess) -> Response:
    workflow_id = read_id(visit, "workflow_id")
    async with site.work(access) as work:
        await get_draft_overview(work, workflow_id)
    return site.redirect(visit, access, "workflow_publish", workflow_id=workflow_id)


async def _answer(  # noqa: PLR0913 - what became of the form, by name
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, *, comment: str = "",
    unseen: ChangesNotReviewed | None = None, is_conflict: bool = False,
    is_unwritable: bool = False,
    status: int = 200,
) -> Response:  # fmt: skip
    workflow_id = read_id(visit, "workflow_id")
    async with site.work(access) as work:
        look = await get_draft_overview(work, workflow_id)
        workflow = await get_workflow_overview(work, workflow_id)
        reached = workflow.on_current if look.verdict is VersionVerdict.MINOR else 0
        preview = await find_draft_preview(work, look.draft_id) if look.draft_id else None
        moves = None
        if 0 < reached <= _AT_ONCE:
            moves = await _find_moves(site, work, look, reached)
    came = [each.change_id for each in unseen.came] if unseen else []
    unticked = [each.change_id for each in unseen.unticked] if unseen else []
    page = PublishWorkflowPage(
        look=look,
        faults=describe_faults(look.definition, look.faults),
        authors=group_changes(look.changes, access.actor, new=came, unticked=unticked),
        reached=reached,
        staying=_count_all(workflow) - reached,
        most=MAX_COUNTED_CLAIMS,
        moves=moves,
        preview=preview,
        foreseen=build_outlook_figures(preview.found) if preview else None,
        currency=get_amount_format(access, look, "").currency,
        comment=comment,
        is_conflict=is_conflict or bool(came),
        is_unticked=bool(unticked) and not came,
        is_unwritable=is_unwritable,
    )
    return site.answer_at(visit, access, page, status)


async def _find_moves(
    site: PortalSite, work: Work, look: DraftOverview, reached: int
) -> NextContactsView | None:
    if look.current is None:
        return None
    change = MinorVersionChange(look.current, look.definition, reached)
    asked = PreviewScope(0, _LISTED)
    return build_next_contacts_view(await preview_effects(work, site.resources.keys, change, asked))


def _count_all(workflow: WorkflowOverview) -> int:
    return sum(each.claims for each in workflow.running)


def _read_ticks(fields: FormFields, changes: Sequence[DraftChange]) -> ReviewedChanges:
    """The form names what it showed, and whose changes are ticked."""
    shown, ticked = set(fields.all("seen")), set(fields.all("agreed"))
    seen = [each for each in changes if str(each.change_id) in shown]
    agreed = [each.change_id for each in seen if build_author_key(each) in ticked]
    return ReviewedChanges(frozenset(each.change_id for each in seen), frozenset(agreed))


@at_merchant
async def show_discard(site: PortalSite, visit: PortalRequest, access: MerchantAccess) -> Response:
    return await _answer_discard(site, visit, access)


@takes_form_at_merchant
async def discard(
    site: PortalSite, visit: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    workflow_id, known_id = read_id(visit, "workflow_id"), read_known_id(fields, "known_draft")
    try:
        async with site.work(access) as work:
            is_gone = await discard_draft_or_workflow(work, workflow_id, expected_id=known_id)
    except InvalidState as refusal:
        return await _answer_discard(site, visit, access, refusal=refusal)
    if is_gone:
        return site.redirect(visit, access, "workflows", done="gone")
    return site.redirect(visit, access, "workflow", workflow_id=workflow_id, done="discarded")


async def _answer_discard(
    site: PortalSite,
    visit: PortalRequest,
    access: MerchantAccess,
    *,
    refusal: InvalidState | None = None,
) -> Response:
    async with site.work(access) as work:
        look = await get_draft_overview(work, read_id(visit, "workflow_id"))
    is_in_use = refusal is not None and refusal.details.get("state") == "IN_USE"
    page = DiscardPage(
        look=look,
        authors=group_changes(look.changes, access.actor),
        currency=get_amount_format(access, look, "").currency,
        is_conflict=refusal is not None and not is_in_use,
        refusal=refusal.message if refusal is not None and is_in_use else "",
    )
    return site.answer_at(visit, access, page, 409 if refusal else 200)


PAGES: RoutedPages = {
    "workflow_publish": {"GET": show_publication, "POST": publish},
    "workflow_preview": {"GET": redirect_back, "POST": count_claims},
    "workflow_discard": {"GET": show_discard, "POST": discard},
}
