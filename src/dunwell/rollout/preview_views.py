"""What a preview answers to programs, names on the wire in camelCase."""

from uuid import UUID

import msgspec

from dunwell.rollout.effects_views import (
    NextContactsView,
    OutlookView,
    view_next_contacts,
    view_outlook,
)
from dunwell.rollout.preview_draft import Preview


class PreviewView(msgspec.Struct, frozen=True, rename="camel"):
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
    # None: no claim is reached, or nothing was to be played forward.
    outlook: OutlookView | None


def view_preview(name: str, preview: Preview) -> PreviewView:
    plan, effects = preview.plan, preview.effects
    return PreviewView(
        name, plan.draft_id, plan.before, plan.after, plan.verdict, plan.differences,
        plan.reached, plan.staying, preview.timezone, preview.currency,
        view_next_contacts(effects),
        None if effects.outlook is None else view_outlook(effects.outlook),
    )  # fmt: skip
