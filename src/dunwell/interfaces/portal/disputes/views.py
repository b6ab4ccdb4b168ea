"""What the pages about disputes show, and a response as its debtor will read it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import ClassVar
from uuid import UUID

from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.users.assignee import Assignee
from dunwell.cases.disputes.dispute import ClaimDispute, EvidenceFile, render_case_number
from dunwell.cases.disputes.response_templates import ResponseTemplate
from dunwell.cases.disputes.store import ListedDispute, UnresolvedDispute
from dunwell.contact.messages.claim_links import TOKEN_MASK
from dunwell.contact.messages.templates.facts import CHECK_MASK
from dunwell.contact.notices.notice import Addressee, DebtorNotice
from dunwell.contact.notices.occasions.facts import DisputeAnswerFacts
from dunwell.core.claims.access import ClaimView
from dunwell.core.claims.states import ACTIVE
from dunwell.interfaces.landing.notifications.writer import NoticeWriter
from dunwell.interfaces.portal.disputes.drafts import ResponseContent, ResponseDraft
from dunwell.interfaces.web.templates import Page
from dunwell.platform.database.listed_table import Count
from dunwell.platform.errors import MerchantNotConfigured


@dataclass(frozen=True, slots=True)
class ResponsePreview:
    """`notice` is None if the debtor cannot be reached or the merchant has no delivery channel."""

    notice: DebtorNotice | None
    # True for a letter. Only its text is previewed.
    is_letter: bool
    ends_claim: bool
    # The earliest time at which the workflow continues, None if it ends or has ended.
    continues_at: datetime | None
    # True if another hold of the claim remains after that time.
    stays_on_hold: bool


def build_response_preview(
    merchant: Merchant, now: datetime, *, writer: NoticeWriter, claim: ClaimView,
    dispute: ClaimDispute,
    content: ResponseContent,
) -> ResponsePreview:  # fmt: skip
    """Preview a response. Needs no transaction. `now` is the merchant's time."""
    is_accepted = content.outcome == "ACCEPTED"
    is_active = claim.status in ACTIVE
    ends_claim = is_accepted and content.ends_claim and is_active
    is_closed = not is_active or ends_claim
    quiet_days = merchant.configuration.disputes.quiet_days_after_answer
    facts = DisputeAnswerFacts(
        reference_number=claim.reference_number,
        case_number=render_case_number(dispute.dispute_id),
        is_accepted=is_accepted,
        is_closed=is_closed,
        reason=content.message or None,
        quiet_days=quiet_days,
    )
    others = [each for each in claim.holds if each.hold_id != dispute.hold_id]
    return ResponsePreview(
        notice=_render_notice(merchant, writer, claim, facts),
        is_letter=not claim.debtor.email and not claim.debtor.mobile_number,
        ends_claim=ends_claim,
        continues_at=None if is_closed else now + timedelta(days=quiet_days),
        stays_on_hold=bool(others) and not is_closed,
    )


def _render_notice(
    merchant: Merchant, writer: NoticeWriter, claim: ClaimView, facts: DisputeAnswerFacts
) -> DebtorNotice | None:
    debtor = claim.debtor
    language = debtor.language or merchant.configuration.language
    if debtor.email or (debtor.has_address and not debtor.mobile_number):
        # A letter has the same text. Its pages are made when it is printed.
        addressee = Addressee(claim.claim_id, "EMAIL", debtor.email or "", language)
    elif debtor.mobile_number:
        addressee = Addressee(claim.claim_id, "SMS", debtor.mobile_number, language)
    else:
        return None
    try:
        notice = writer.write(merchant, addressee, facts)
    except (MerchantNotConfigured, LookupError):
        return None
    shown = notice.body_text
    for mask in (TOKEN_MASK, CHECK_MASK):
        shown = shown.replace(mask, "…")
    return replace(notice, body_text=shown)


class DisputesPage(Page, frozen=True):
    """If `state` is OPEN, the open disputes, oldest first. Otherwise closed disputes, newest
    first."""

    template: ClassVar[str] = "disputes.html"
    area: ClassVar[str] = "disputes"

    state: str
    # The assignee filter: mine, nobodys (unassigned), or "" for all.
    whose: str
    me: UUID
    open_disputes: Sequence[UnresolvedDispute]
    closed_disputes: Sequence[ListedDispute]
    # The day on which a response is due, by the id of each open dispute.
    answer_days: Mapping[UUID, date]
    # The number of open disputes.
    count: Count
    after: str
    next_cursor: str | None


class DisputePage(Page, frozen=True):
    template: ClassVar[str] = "dispute.html"
    area: ClassVar[str] = "disputes"

    claim: ClaimView
    name: str
    dispute: ClaimDispute
    case_number: str
    answer_on: date
    files: Sequence[EvidenceFile]
    others: Sequence[ClaimDispute]
    draft: ResponseDraft
    # The values of the form: those of the draft, or what was typed.
    typed: ResponseContent
    texts: Sequence[ResponseTemplate]
    faults: Sequence[tuple[str, str]]
    # The assignee, the users who can be assigned, and the current user.
    assignee: Assignee | None
    colleagues: Sequence[Assignee]
    me: UUID
    # True if someone else saved the draft in the meantime. Both texts are shown.
    is_conflict: bool
    # True if the dispute was answered in the meantime. What was typed is shown.
    is_answered: bool


class ResponsePreviewPage(Page, frozen=True):
    template: ClassVar[str] = "dispute_preview.html"
    area: ClassVar[str] = "disputes"

    claim: ClaimView
    name: str
    dispute: ClaimDispute
    draft: ResponseDraft
    preview: ResponsePreview


class ResponseTemplatesPage(Page, frozen=True):
    template: ClassVar[str] = "answer_texts.html"
    area: ClassVar[str] = "disputes"

    texts: Sequence[ResponseTemplate]
    name: str
    text: str
    faults: Sequence[tuple[str, str]]
