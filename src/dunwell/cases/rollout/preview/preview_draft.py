"""Preview the publication of a workflow's draft: the differences, the claims it reaches, how their
next contacts change, and what the draft would do within a number of days."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.preview.costs import PreviewCosts
from dunwell.cases.rollout.preview.effects import PreviewEffects, PreviewScope
from dunwell.cases.rollout.preview.effects_views import (
    NextContactsView,
    OutlookView,
    build_next_contacts_view,
    build_outlook_view,
)
from dunwell.cases.rollout.preview.preview_effects import MinorVersionChange, preview_effects
from dunwell.cases.rollout.publish_workflow import PublicationPlan, plan_publication
from dunwell.core.workflows.store import load_current, load_draft
from dunwell.core.workflows.versions.versions import VersionVerdict
from dunwell.platform.crypto import KeyRing


@dataclass(frozen=True, slots=True)
class DraftPreview:
    workflow_id: UUID
    plan: PublicationPlan
    # The merchant's time at which the preview was made.
    at: datetime
    timezone: str
    currency: str
    days: int
    # Empty if the draft reaches no claim: a major or a first version.
    effects: PreviewEffects


class PreviewView(msgspec.Struct, frozen=True, rename="camel"):
    """The preview as programs get it."""

    workflow: str
    draft_id: UUID
    before: str | None
    after: str
    verdict: str
    differences: list[str]
    claims_reached: int
    claims_staying: int
    timezone: str
    currency: str
    next_contacts: NextContactsView
    # None if no claim is reached or no days were previewed.
    outlook: OutlookView | None
    # None in the same cases, and if no delivery provider has prices.
    costs: PreviewCosts | None = None


async def preview_draft(
    work: Work, keys: KeyRing, workflow_id: UUID, scope: PreviewScope | None = None
) -> DraftPreview:
    """Preview the draft without writing. Call it in `database.snapshot`, so that all claims are
    read as of one instant.

    Raises InvalidState if there is no draft, and ValidationError if the number of days is out of
    range.
    """
    work.require(Right.CONFIGURE)
    scope = scope or PreviewScope()
    scope.check()
    plan = await plan_publication(work, workflow_id)
    draft = await load_draft(work.tx, work.merchant_id, workflow_id)
    current = await load_current(work.tx, work.merchant_id, workflow_id)
    effects = PreviewEffects()
    if plan.verdict is VersionVerdict.MINOR and current is not None and draft is not None:
        change = MinorVersionChange(current, draft.definition, plan.reached)
        effects = await preview_effects(work, keys, change, scope)
    configuration = work.merchant.configuration
    currency = draft.definition.settings.currency if draft else None
    return DraftPreview(
        workflow_id=workflow_id,
        plan=plan,
        at=work.now,
        timezone=configuration.timezone,
        currency=currency or configuration.currency,
        days=scope.days,
        effects=effects,
    )


def build_preview_view(
    name: str, preview: DraftPreview, costs: PreviewCosts | None = None
) -> PreviewView:
    plan, effects = preview.plan, preview.effects
    return PreviewView(
        workflow=name,
        draft_id=plan.draft_id,
        before=plan.before,
        after=plan.after,
        verdict=plan.verdict,
        differences=plan.differences,
        claims_reached=plan.reached,
        claims_staying=plan.staying,
        timezone=preview.timezone,
        currency=preview.currency,
        next_contacts=build_next_contacts_view(effects),
        outlook=None if effects.outlook is None else build_outlook_view(effects.outlook),
        costs=costs,
    )
