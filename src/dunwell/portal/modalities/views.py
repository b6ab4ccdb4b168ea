"""What the pages about plans and deferments show."""

from collections.abc import Sequence
from typing import ClassVar

from dunwell.claims.read_claim import ClaimView
from dunwell.modalities.modality import Modality
from dunwell.portal.render.pages import Page


class PlansPage(Page, frozen=True):
    """show: waiting, running or all."""

    template: ClassVar[str] = "plans.html"
    area: ClassVar[str] = "plans"

    show: str
    # Each with its claim's reference.
    plans: Sequence[tuple[Modality, str]]
    after: str
    next_cursor: str | None


class PlanPage(Page, frozen=True):
    template: ClassVar[str] = "plan.html"
    area: ClassVar[str] = "plans"

    claim: ClaimView
    name: str
    plan: Modality
    # What was typed as the reason of a rejection.
    reason: str
    # REQUIRED, OVERTAKEN or "".
    fault: str
    # What the use case said.
    message: str
