"""What the pages about disputes show."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import ClassVar
from uuid import UUID

from dunwell.accounts.users.assignee import Assignee
from dunwell.cases.disputes.answer_texts import AnswerText
from dunwell.cases.disputes.dispute import Dispute, EvidenceFile
from dunwell.cases.disputes.store import ListedDispute, WaitingDispute
from dunwell.core.claims.read_claim import ClaimView
from dunwell.interfaces.portal.disputes.drafts import Answer, Draft
from dunwell.interfaces.portal.disputes.preview import Preview
from dunwell.interfaces.web.templates import Page
from dunwell.platform.database.listed_table import Count


class DisputesPage(Page, frozen=True):
    """state: OPEN: those that wait, the oldest first; else those that have ended, the newest
    first."""

    template: ClassVar[str] = "disputes.html"
    area: ClassVar[str] = "disputes"

    state: str
    # mine, nobodys or "": of everybody; and who looks.
    whose: str
    me: UUID
    waiting: Sequence[WaitingDispute]
    ended: Sequence[ListedDispute]
    # By the id of each that waits.
    answer_days: Mapping[UUID, date]
    # How many wait.
    count: Count
    after: str
    next_cursor: str | None


class DisputePage(Page, frozen=True):
    template: ClassVar[str] = "dispute.html"
    area: ClassVar[str] = "disputes"

    claim: ClaimView
    name: str
    dispute: Dispute
    case_number: str
    answer_on: date
    files: Sequence[EvidenceFile]
    others: Sequence[Dispute]
    draft: Draft
    # What stands in the form: the draft's, or what was typed.
    typed: Answer
    texts: Sequence[AnswerText]
    faults: Sequence[tuple[str, str]]
    # Who answers it; who can be given it; who looks.
    assignee: Assignee | None
    colleagues: Sequence[Assignee]
    me: UUID
    # Somebody else has written since: both texts are shown.
    is_conflict: bool
    # Somebody has answered; what was typed is shown.
    is_answered: bool


class PreviewPage(Page, frozen=True):
    template: ClassVar[str] = "dispute_preview.html"
    area: ClassVar[str] = "disputes"

    claim: ClaimView
    name: str
    dispute: Dispute
    draft: Draft
    preview: Preview


class TextsPage(Page, frozen=True):
    template: ClassVar[str] = "answer_texts.html"
    area: ClassVar[str] = "disputes"

    texts: Sequence[AnswerText]
    name: str
    text: str
    faults: Sequence[tuple[str, str]]
