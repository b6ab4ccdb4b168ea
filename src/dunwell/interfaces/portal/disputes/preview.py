"""An answer as its debtor will read it, before it is sent, and what becomes of the process."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from dunwell.accounts.merchants.merchant import Merchant
from dunwell.cases.disputes.dispute import Dispute, render_case_number
from dunwell.contact.messages.facts import CHECK_MASK
from dunwell.contact.messages.links import TOKEN_MASK
from dunwell.contact.notices.notice import Addressee, Notice
from dunwell.contact.notices.occasions.facts import DisputeAnswerFacts
from dunwell.core.claims.read_claim import ClaimView
from dunwell.core.claims.states import ACTIVE
from dunwell.interfaces.landing.telling.writer import NoticeWriter
from dunwell.interfaces.portal.disputes.drafts import Answer
from dunwell.platform.errors import MerchantNotConfigured


@dataclass(frozen=True, slots=True)
class Preview:
    """notice: none: nobody can be reached, or the merchant is not set up to write."""

    notice: Notice | None
    # By letter, which is shown here as its words alone.
    is_letter: bool
    ends_claim: bool
    # The process goes on then at the earliest; none: it ends, or has ended.
    goes_on_at: datetime | None
    # Another hold keeps it after that.
    is_held_on: bool


def preview_answer(
    merchant: Merchant, now: datetime, *, writer: NoticeWriter, claim: ClaimView, dispute: Dispute,
    answer: Answer,
) -> Preview:  # fmt: skip
    """Needs no transaction. now: the merchant's."""
    is_accepted = answer.outcome == "ACCEPTED"
    is_active = claim.status in ACTIVE
    ends_claim = is_accepted and answer.ends_claim and is_active
    is_closed = not is_active or ends_claim
    quiet_days = merchant.configuration.disputes.quiet_days_after_answer
    facts = DisputeAnswerFacts(
        reference_number=claim.reference_number,
        case_number=render_case_number(dispute.dispute_id),
        is_accepted=is_accepted,
        is_closed=is_closed,
        reason=answer.message or None,
        quiet_days=quiet_days,
    )
    others = [each for each in claim.holds if each.hold_id != dispute.hold_id]
    return Preview(
        notice=_write(merchant, writer, claim, facts),
        is_letter=not claim.debtor.email and not claim.debtor.mobile_number,
        ends_claim=ends_claim,
        goes_on_at=None if is_closed else now + timedelta(days=quiet_days),
        is_held_on=bool(others) and not is_closed,
    )


def _write(
    merchant: Merchant, writer: NoticeWriter, claim: ClaimView, facts: DisputeAnswerFacts
) -> Notice | None:
    debtor = claim.debtor
    language = debtor.language or merchant.configuration.language
    if debtor.email or (debtor.has_address and not debtor.mobile_number):
        # A letter says the same; its sheet is set when it is printed.
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
