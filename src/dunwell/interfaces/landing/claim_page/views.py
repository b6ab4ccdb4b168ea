"""What the claim's page shows, depending on the claim's state and the session's level."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import ClassVar
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.actor import ActorKind
from dunwell.accounts.merchants.configuration import PageFeature
from dunwell.cases.disputes.dispute import DisputeState, render_case_number
from dunwell.cases.modalities.instalments import Instalment
from dunwell.cases.modalities.modality import Modality
from dunwell.cases.modalities.offers import ModalityOffer
from dunwell.cases.modalities.progress import local_date
from dunwell.contact.escalation.forecast.forecast import Announcement
from dunwell.core.claims.states import HoldKind, Status
from dunwell.core.files.upload import AttachedFile, render_download_name
from dunwell.interfaces.landing.claim_page.next_steps import NextSteps, describe_next
from dunwell.interfaces.landing.claim_page.other_claims import OtherClaimOfDebtor
from dunwell.interfaces.landing.claim_page.recent_answers import (
    DisputeNews,
    EndedPlan,
    ModalityRefusal,
    find_dispute_news,
    find_ended_plan,
    find_modality_refusal,
)
from dunwell.interfaces.landing.disputes.submit_dispute import (
    can_dispute,
    find_undisputed_cents,
    list_unsent_reasons,
)
from dunwell.interfaces.landing.session.facts import (
    DisputeFacts,
    PageClaim,
    PageItem,
    PaymentFacts,
    WithheldFacts,
)
from dunwell.interfaces.landing.session.session import Level, Session
from dunwell.interfaces.landing.session.states import (
    PageState,
    Topic,
    decide_state,
    find_announced_transfer,
    find_hold,
    find_next_instalment,
    is_answered,
    is_provider_awaited,
    list_topics,
    render_initials,
)
from dunwell.interfaces.landing.session.store import OpenedClaim
from dunwell.interfaces.web.templates import Page


class OpenDispute(msgspec.Struct, frozen=True, gc=False):
    dispute_id: UUID
    case_number: str
    opened_on: date
    # The part that the debtor does not dispute, if it can be paid separately.
    undisputed_cents: int | None


class ClaimPage(Page, frozen=True):
    template: ClassVar[str] = "claim.html"

    state: PageState
    # True if the claim was archived while an amount was owed: the merchant decides about it.
    is_archived_unpaid: bool
    topics: Sequence[Topic]
    features: Sequence[PageFeature]
    # True if the session may see the details of the claim.
    shows_details: bool
    # True if the merchant offers a way to pay.
    can_pay: bool
    can_dispute: bool
    # True if the page offers to report that the reader is not the debtor, because the claim was
    # opened with a message alone.
    offers_not_me: bool
    currency: str
    timezone: str
    reference: str
    initials: str
    outstanding_cents: int
    # The amount paid in excess of the total.
    overpaid_cents: int
    due_on: date | None
    is_overdue: bool
    # Empty if the session may not see them.
    items: Sequence[PageItem]
    payments: Sequence[PaymentFacts]
    # True if the debtor is not a company. Only consumers are shown what a debt collector must
    # disclose about its fees.
    is_consumer: bool
    # The sum of the fees, or 0 if the session may not see the items.
    fees_cents: int
    contract_number: str | None
    document_count: int
    modality: Modality | None
    # The first instalment of an active plan that is not fully paid.
    next_instalment: Instalment | None
    # The unpaid part of `next_instalment`. None if it is the whole outstanding amount or the
    # session may not see it.
    instalment_cents: int | None
    # The payment request whose money a provider has not confirmed yet, and the day on which an
    # announced bank transfer was sent.
    awaited_id: UUID | None
    sent_on: date | None
    disputes: Sequence[OpenDispute]
    answer: DisputeNews | None
    ended_plan: EndedPlan | None
    refusal: ModalityRefusal | None
    # The offer that can be requested after a refusal. None if there is none or the session may not
    # see it.
    alternative: ModalityOffer | None
    # The end of the hold after the merchant's answer to a dispute. None if it has no known end or
    # is over.
    held_until: datetime | None
    next: NextSteps
    # When the hold of a dispute began, if the claim has such a hold but no open dispute.
    held_since: datetime | None
    paused_until: datetime | None
    # The reasons of disputes with a saved draft that was not sent.
    unsent: Sequence[str]
    # How many other open claims of the same merchant the session may see.
    other_count: int


class PreviewedClaimPage(ClaimPage, frozen=True):
    """The claim's page as a preview for the merchant's staff."""

    template: ClassVar[str] = "claim_preview.html"


class WithheldPage(Page, frozen=True):
    """The page of a claim whose details are withheld because the reader may be the wrong person. It
    asks neither for a payment nor for data (`cases.disputes.wrong_person`)."""

    template: ClassVar[str] = "withheld.html"

    reason: str
    dispute_id: UUID
    case_number: str
    opened_on: date
    # True if the address that this reader was contacted at is on the suppression list.
    is_address_suppressed: bool
    can_withdraw_report: bool


class PreviewedWithheldPage(WithheldPage, frozen=True):
    """The page of a withheld claim as a preview for the merchant's staff."""

    template: ClassVar[str] = "withheld_preview.html"


class OtherClaimsPage(Page, frozen=True):
    """The debtor's other open claims of the same merchant."""

    template: ClassVar[str] = "others.html"

    others: Sequence[OtherClaimOfDebtor]


class ClaimToClose(msgspec.Struct, frozen=True, gc=False):
    """A claim whose cookie this browser would drop. `reference` is None if the claim is
    withheld."""

    handle: str
    creditor: str
    reference: str | None


class TooManyClaimsPage(Page, frozen=True):
    """The page that asks whether the oldest claims may be closed in this browser, so that this
    claim can be opened."""

    template: ClassVar[str] = "too_many_claims.html"

    to_close: Sequence[ClaimToClose]


class ShownDocument(msgspec.Struct, frozen=True, gc=False):
    attachment_id: UUID
    name: str
    content_type: str
    size_bytes: int


class DocumentsPage(Page, frozen=True):
    template: ClassVar[str] = "documents.html"

    documents: Sequence[ShownDocument]
    # The name of a document whose file was not found in the storage.
    missing: str | None = None


def describe_claim(
    opened: OpenedClaim, now: datetime, announced: Sequence[Announcement] = (),
    *, can_pay: bool, other_count: int, alternative: ModalityOffer | None = None,
) -> ClaimPage:  # fmt: skip
    """Describe the page. `now` is the merchant's time, `announced` comes from `load_forecast`."""
    facts, configuration = opened.facts, opened.merchant.configuration
    shows_details = opened.session.level.reaches(Level.FACT)
    state, due_on, timezone = decide_state(facts, now), facts.due_on, configuration.timezone
    # A DISPUTE hold without an open dispute: the merchant set it, or it remains after an answer.
    hold = None if facts.disputes else find_hold(facts, HoldKind.DISPUTE, now)
    pause = find_hold(facts, HoldKind.PAUSE, now)
    return ClaimPage(
        state=state,
        is_archived_unpaid=facts.status is Status.ARCHIVED and facts.outstanding_cents > 0,
        topics=list_topics(facts, state, opened.modality, now),
        features=configuration.landing_page.features,
        shows_details=shows_details, can_pay=can_pay, can_dispute=can_dispute(facts),
        offers_not_me=can_dispute(facts) and is_opened_by_message_alone(opened.session),
        currency=facts.currency, timezone=timezone, reference=facts.reference_number,
        initials=render_initials(facts),
        outstanding_cents=facts.outstanding_cents,
        overpaid_cents=max(0, facts.paid_cents - facts.total_cents + facts.outstanding_cents),
        due_on=due_on,
        is_overdue=due_on is not None and due_on < local_date(now, timezone),
        items=facts.items if shows_details else (),
        payments=[each for each in facts.payments if shows_details or each.request_id],
        is_consumer=not facts.company_name,
        fees_cents=_sum_fees(facts.items) if shows_details else 0,
        contract_number=facts.on_file.contract_number if shows_details else None,
        document_count=facts.document_count,
        modality=opened.modality, next_instalment=find_next_instalment(opened.modality),
        instalment_cents=_find_instalment_cents(opened),
        awaited_id=_find_awaited_id(facts),
        sent_on=find_announced_transfer(facts, now),
        disputes=[_describe_dispute(each, opened) for each in facts.disputes],
        answer=find_dispute_news(opened, now) if is_answered(facts) else None,
        ended_plan=find_ended_plan(opened, state, now),
        refusal=find_modality_refusal(opened, state, now),
        alternative=alternative, other_count=other_count,
        held_until=hold.until if hold and is_answered(facts) else None,
        next=describe_next(opened, now, announced),
        held_since=hold.since if hold else None,
        paused_until=pause.until if pause else None,
        unsent=_list_unsent_reasons(opened),
    )  # fmt: skip


def _find_awaited_id(facts: PageClaim) -> UUID | None:
    """Find the payment request whose money the provider has not confirmed yet."""
    return facts.request.request_id if facts.request and is_provider_awaited(facts) else None


def describe_withheld(opened: OpenedClaim, withheld: WithheldFacts) -> WithheldPage:
    """Describe the withheld claim. Only the session that reported the wrong recipient may withdraw
    the report, because anyone else with the link may be that recipient."""
    is_of_this_session = withheld.actor_id == str(opened.session.session_id)
    is_by_debtor = withheld.actor_kind is ActorKind.DEBTOR
    return WithheldPage(
        reason=withheld.reason,
        dispute_id=withheld.dispute_id,
        case_number=render_case_number(withheld.dispute_id),
        opened_on=local_date(withheld.opened_at, opened.merchant.configuration.timezone),
        is_address_suppressed=withheld.is_address_suppressed,
        can_withdraw_report=(
            is_of_this_session and is_by_debtor and withheld.state is DisputeState.OPEN
        ),
    )


def is_opened_by_message_alone(session: Session) -> bool:
    """Return whether the claim was opened with a link, or with a letter's code. Anyone who lives at
    the letter's address can have opened the letter."""
    is_letter = session.channel is None and session.level is Level.FACT
    return session.level is Level.LINK or is_letter


def _list_unsent_reasons(opened: OpenedClaim) -> Sequence[str]:
    if not can_dispute(opened.facts):
        return ()
    disputes = opened.merchant.configuration.disputes
    return list_unsent_reasons(opened.drafts, disputes, opened.session.level)


def _sum_fees(items: Sequence[PageItem]) -> int:
    return sum(item.value_cents for item in items if item.type != "PRIMARY")


def describe_documents(
    attached: Sequence[AttachedFile], missing: AttachedFile | None = None
) -> DocumentsPage:
    """Describe the documents. `missing` is a document whose file was not found in the storage."""
    documents = [
        ShownDocument(each.attachment_id, name_document(each), each.content_type, each.size_bytes)
        for each in attached
    ]
    return DocumentsPage(documents, name_document(missing) if missing else None)


def name_document(attached: AttachedFile) -> str:
    return render_download_name(attached.friendly_name, attached.content_type)


def _describe_dispute(dispute: DisputeFacts, opened: OpenedClaim) -> OpenDispute:
    configuration = opened.merchant.configuration
    return OpenDispute(
        dispute.dispute_id,
        render_case_number(dispute.dispute_id),
        local_date(dispute.opened_at, configuration.timezone),
        find_undisputed_cents(dispute, opened.facts, configuration),
    )


def _find_instalment_cents(opened: OpenedClaim) -> int | None:
    instalment = find_next_instalment(opened.modality)
    if instalment is None or not opened.session.level.reaches(Level.FACT):
        return None
    if instalment.left_cents >= opened.facts.outstanding_cents:
        return None
    return instalment.left_cents
