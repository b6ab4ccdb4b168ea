"""The receipt of a payment, which a debtor gets without asking, whoever recorded the payment."""

from dunwell.accounts.merchants.account import Work
from dunwell.cases.payments.request_states import BANK_TRANSFER
from dunwell.cases.payments.store import StoredPayment
from dunwell.contact.notices.occasions.facts import ReceiptFacts
from dunwell.contact.notices.occasions.tell_debtor import tell_debtor
from dunwell.core.claims.store import LockedClaim


def label_provider(name: str) -> str:
    """As people read it."""
    return name[:1].upper() + name[1:]


async def tell_payment(
    work: Work, claim: LockedClaim, payment: StoredPayment, outstanding_cents: int | None
) -> None:
    """outstanding_cents: none, if the claim is closed and nothing is said of it."""
    facts = ReceiptFacts(
        reference_number=claim.reference_number,
        currency=payment.currency,
        amount_cents=payment.amount_cents,
        paid_at=payment.paid_at,
        number=payment.transaction_id,
        method=_describe_method(payment),
        outstanding_cents=outstanding_cents,
    )
    await tell_debtor(work, claim.claim_id, str(payment.payment_id), facts)


def _describe_method(payment: StoredPayment) -> str | None:
    """The provider, and what it was paid with, masked. A transfer needs no words."""
    provider = payment.provider_name
    shown = None if provider in (None, BANK_TRANSFER) else label_provider(provider)
    return ", ".join(filter(None, (shown, payment.method))) or None
