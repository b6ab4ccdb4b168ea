"""Record payments. A payment is allocated to the items, and the debtor gets a receipt. A claim with
nothing outstanding is collected."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from msgspec.structs import replace

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.configuration import Allocation
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.modalities.store import schedule_check_now
from dunwell.cases.payments.requests.live_requests import complete_transfer, find_matching_transfer
from dunwell.cases.payments.requests.request_states import BANK_TRANSFER
from dunwell.cases.payments.store import (
    StoredPayment,
    find_payment_by_transaction,
    insert_payment,
    load_surplus,
    save_allocations,
    save_collected,
)
from dunwell.contact.escalation.store import cancel_contacts
from dunwell.contact.notices.occasions.facts import ReceiptFacts
from dunwell.contact.notices.occasions.notify_debtor import notify_debtor
from dunwell.core.claims.access import lock_claim_of_merchant
from dunwell.core.claims.balance import Balance, OwedItem, allocate, sum_balance
from dunwell.core.claims.states import ClaimTransition, Status, decide_status
from dunwell.core.claims.store import LockedClaim, load_items, load_paid_cents
from dunwell.platform.errors import Fault, InvalidState, ValidationError
from dunwell.platform.text.translation import LazyText

CentsByItem = dict[int, int]
_PROVIDER_SPELLINGS = {"STRIPE": "Stripe", "MOLLIE": "Mollie", "GOCARDLESS": "GoCardless"}


def compute_surplus_allocation(
    items: Sequence[OwedItem], surplus: Mapping[UUID, int], order: Allocation
) -> dict[UUID, CentsByItem]:
    """Allocate the unused cents of each payment in turn: payment id -> item id -> cents.

    This keeps a claim from having both an outstanding and an overpaid amount.
    """
    owing, allocations = list(items), {}
    for payment_id, cents in surplus.items():
        shares = allocate(owing, cents, order)
        if shares:
            allocations[payment_id] = shares
            owing = [add_allocation(item, shares.get(item.item_id, 0)) for item in owing]
    return allocations


def add_allocation(item: OwedItem, cents: int) -> OwedItem:
    """Return the item with `cents` more allocated to it."""
    return replace(item, allocated_cents=item.allocated_cents + cents)


async def load_balance(work: Work, claim_id: int) -> Balance:
    items = await load_items(work.tx, work.merchant_id, claim_id)
    return sum_balance(items, await load_paid_cents(work.tx, work.merchant_id, claim_id))


async def allocate_surplus(work: Work, claim_id: int) -> None:
    """Allocate surplus payments, so that the claim is not both owing and overpaid."""
    surplus = await load_surplus(work.tx, work.merchant_id, claim_id)
    if not surplus:
        return
    items = await load_items(work.tx, work.merchant_id, claim_id)
    order = work.merchant.configuration.payment.allocation
    allocations = compute_surplus_allocation(items, surplus, order)
    await save_allocations(work.tx, work.merchant_id, claim_id, allocations)


async def collect_if_paid(work: Work, claim: LockedClaim, balance: Balance) -> Status:
    """Mark the active claim as collected if nothing is outstanding. Return its status after
    that."""
    status, claim_id = claim.status, claim.claim_id
    if balance.outstanding_cents > 0:
        return status
    following = decide_status(status, ClaimTransition.PAID_IN_FULL)
    await save_collected(work.tx, work.merchant_id, claim_id, status_before=status, now=work.now)
    await cancel_contacts(
        work.tx, work.merchant_id, [claim_id], work.now, reason="Nothing is outstanding."
    )
    await schedule_check_now(work.tx, work.merchant_id, claim_id, work.now)
    return following


def render_provider_name(name: str) -> str:
    """Return the kind of provider as it is shown to people."""
    return _PROVIDER_SPELLINGS.get(name, name[:1].upper() + name[1:])


async def send_receipt(
    work: Work, claim: LockedClaim, payment: StoredPayment, outstanding_cents: int | None
) -> None:
    """Send the debtor a receipt. `outstanding_cents` is None for an archived or withdrawn claim,
    whose receipt names no balance."""
    facts = build_receipt(claim, payment, outstanding_cents)
    await notify_debtor(work, claim.claim_id, str(payment.payment_id), facts)


def build_receipt(
    claim: LockedClaim, payment: StoredPayment, outstanding_cents: int | None
) -> ReceiptFacts:
    """Return the facts of the receipt. `outstanding_cents` is None for an archived or withdrawn
    claim."""
    return ReceiptFacts(
        reference_number=claim.reference_number,
        currency=payment.currency,
        amount_cents=payment.amount_cents,
        paid_at=payment.paid_at,
        number=payment.transaction_id,
        method=_describe_method(payment),
        outstanding_cents=outstanding_cents,
    )


def _describe_method(payment: StoredPayment) -> str | None:
    """Return the provider's name and the masked means of payment, as far as they are known. Return
    None if neither is, as for a bank transfer."""
    provider = payment.provider_name
    shown = None if provider in (None, BANK_TRANSFER) else render_provider_name(provider)
    return ", ".join(filter(None, (shown, payment.method))) or None


REASON_PAID = "The claim was paid."


@dataclass(frozen=True, slots=True)
class NewPayment:
    """A payment to be recorded."""

    amount_cents: int
    currency: str
    transaction_id: str
    provider_name: str | None = None
    # None means now.
    paid_at: datetime | None = None
    # The items that the payment was made for; they are paid before the others.
    item_ids: Collection[int] = ()
    # The means of payment, masked.
    method: str | None = None


@dataclass(frozen=True, slots=True)
class RecordedPayment:
    """A payment that was recorded or reversed, and the claim's status and balance after that."""

    payment: StoredPayment
    status: Status
    balance: Balance
    # False if the payment was already recorded, so that nothing changed.
    is_new: bool
    # Only for a reversal: the amount by which it reduced the payment.
    reversed_cents: int = 0


async def record_payment(work: Work, claim_id: int, new: NewPayment) -> RecordedPayment:
    """Record a payment of the claim. Recording the same transaction again changes nothing.

    Raises NotFound, ValidationError if the currency is not the claim's or the time is in the
    future, and InvalidState if the transaction is already recorded with another amount.
    """
    work.require(Right.RECORD_MONEY)
    claim = await lock_claim_of_merchant(work, claim_id)
    _check_payment(work, claim, new)
    known = await find_payment_by_transaction(
        work.tx, work.merchant_id, claim_id, new.transaction_id
    )
    if known is None:
        return await _book_new_payment(work, claim, new)
    _check_same_amount(known, new)
    balance = await load_balance(work, claim_id)
    return RecordedPayment(known, claim.status, balance, is_new=False)


async def _book_new_payment(work: Work, claim: LockedClaim, new: NewPayment) -> RecordedPayment:
    transfer = await find_matching_transfer(work, claim.claim_id, new.amount_cents)
    if transfer is None:
        return await book_payment(work, claim, new)
    recorded = await book_payment(work, claim, new, transfer.request_id)
    await complete_transfer(work, transfer)
    return recorded


async def book_payment(
    work: Work, claim: LockedClaim, new: NewPayment, request_id: UUID | None = None
) -> RecordedPayment:
    """Book a new payment of a locked claim. `request_id` is the payment request that it
    completes.
    """
    items = await load_items(work.tx, work.merchant_id, claim.claim_id)
    paid_cents = await load_paid_cents(work.tx, work.merchant_id, claim.claim_id)
    payment = build_payment(work, claim, new, request_id)
    order = work.merchant.configuration.payment.allocation
    shares = allocate(items, new.amount_cents, order, new.item_ids)
    before = sum_balance(items, paid_cents)
    allocated = sum(shares.values())
    balance = Balance(
        before.total_cents,
        before.outstanding_cents - allocated,
        before.overpaid_cents + new.amount_cents - allocated,
    )
    statuses = decide_statuses(claim.status, claim.status_before_collected, balance)
    await insert_payment(
        work.tx, work.merchant_id, payment=payment, shares=shares, statuses=statuses
    )
    if statuses[0] is Status.COLLECTED:
        await cancel_contacts(
            work.tx, work.merchant_id, [payment.claim_id], work.now, reason=REASON_PAID
        )
    await schedule_check_now(work.tx, work.merchant_id, payment.claim_id, work.now)
    is_closed = statuses[0] in (Status.ARCHIVED, Status.WITHDRAWN)
    await send_receipt(work, claim, payment, None if is_closed else balance.outstanding_cents)
    await save_audit(
        work, "payment.record", f"claim:{payment.claim_id}",
        before={"status": claim.status, "outstanding": before.outstanding_cents},
        after={
            "status": statuses[0], "outstanding": balance.outstanding_cents,
            "amount": payment.amount_cents, "currency": payment.currency,
        },
        paymentId=str(payment.payment_id),
    )  # fmt: skip
    return RecordedPayment(payment, statuses[0], balance, is_new=True)


def build_payment(
    work: Work, claim: LockedClaim, new: NewPayment, request_id: UUID | None
) -> StoredPayment:
    """Return the payment as it is stored."""
    return StoredPayment(
        payment_id=work.ids.new(work.now),
        claim_id=claim.claim_id,
        amount_cents=new.amount_cents,
        currency=new.currency,
        transaction_id=new.transaction_id,
        provider_name=new.provider_name,
        paid_at=new.paid_at or work.now,
        recorded_at=work.now,
        reversed_at=None,
        request_id=request_id,
        method=new.method,
    )


def decide_statuses(
    status: Status, before_collected: Status | None, balance: Balance
) -> tuple[Status, Status | None]:
    """Return the claim's status after a payment and, if it is COLLECTED, the status before that."""
    if balance.outstanding_cents > 0 or status is Status.COLLECTED:
        return status, before_collected
    following = decide_status(status, ClaimTransition.PAID_IN_FULL)
    return following, status if following is Status.COLLECTED else None


def _check_payment(work: Work, claim: LockedClaim, new: NewPayment) -> None:
    faults = []
    if new.currency != claim.currency:
        message = f"The claim is in {claim.currency}; record the amount in that currency."
        faults.append(Fault("/currency", message, "OTHER_CURRENCY"))
    if new.paid_at is not None and new.paid_at > work.now:
        faults.append(Fault("/paidAt", "paidAt lies in the future.", "IN_FUTURE"))
    if faults:
        raise ValidationError(faults)


def _check_same_amount(known: StoredPayment, new: NewPayment) -> None:
    if known.amount_cents != new.amount_cents:
        raise InvalidState(
            LazyText(
                "This transactionId is recorded for the claim with another amount. "
                "Use the payment's own id at the provider.",
            ),
            state="RECORDED",
        )
