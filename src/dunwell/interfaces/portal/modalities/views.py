"""What the pages about plans and deferments show."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import ClassVar
from uuid import UUID

from dunwell.accounts.users.assignee import Assignee
from dunwell.cases.modalities.modality import Modality
from dunwell.cases.modalities.store import ListedModality
from dunwell.core.claims.read_claim import ClaimView
from dunwell.interfaces.portal.render.sorting import Sorting
from dunwell.interfaces.web.templates import Page


class PlansPage(Page, frozen=True):
    """show: waiting, running or all."""

    template: ClassVar[str] = "plans.html"
    area: ClassVar[str] = "plans"

    show: str
    # mine, nobodys or "": of everybody; and who looks.
    whose: str
    me: UUID
    # Each with its claim's reference.
    plans: Sequence[ListedModality]
    sorting: Sorting
    # Of those that wait for an answer: by when the debtor was promised one.
    answer_days: Mapping[UUID, date]
    # Of those that are somebody's.
    assignees: Mapping[UUID, Assignee]
    after: str
    next_cursor: str | None


class PlanPage(Page, frozen=True):
    template: ClassVar[str] = "plan.html"
    area: ClassVar[str] = "plans"

    claim: ClaimView
    name: str
    plan: Modality
    # By when the debtor was promised an answer; none: nothing is left to answer.
    answer_on: date | None
    # Who answers it; who can be given it; who looks.
    assignee: Assignee | None
    colleagues: Sequence[Assignee]
    me: UUID
    # What was typed as the reason of a rejection.
    reason: str
    # REQUIRED, OVERTAKEN or "".
    fault: str
    # What the use case said.
    message: str
