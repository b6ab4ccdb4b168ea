"""Book the payments of many claims in a few statements, with the same result as booking them one by
one (`record_payment.book_payment`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import AuditRow, save_audits
from dunwell.cases.modalities.store import schedule_checks_now
from dunwell.cases.payments.bookings.store import (
    BookedShares,
    insert_payments,
    list_claims_with_requests,
    load_items_of_claims,
    load_paid_cents_of_claims,
    save_statuses,
)
from dunwell.cases.payments.record_payment import (
    REASON_PAID,
    NewPayment,
    add_allocation,
    build_payment,
    build_receipt,
    decide_statuses,
)
from dunwell.cases.payments.requests.live_requests import complete_transfer, find_matching_transfer
from dunwell.cases.payments.requests.request_states import BANK_TRANSFER
from dunwell.cases.payments.store import StoredPayment
from dunwell.contact.escalation.store import cancel_contacts
from dunwell.contact.notices.occasions.store import OccasionToSave, save_occasions
from dunwell.core.claims.balance import Balance, OwedItem, allocate, sum_balance
from dunwell.core.claims.states import Status
from dunwell.core.claims.store import LockedClaim


@dataclass(slots=True)
class _ClaimAccount:
    """A claim while its payments are booked."""

    claim: LockedClaim
    items: list[OwedItem]
    paid_cents: int
    # The status and, if it is COLLECTED, the status before that.
    statuses: tuple[Status, Status | None]


async def book_payments(
    work: Work, claims: Mapping[int, LockedClaim], payments: Sequence[tuple[int, NewPayment]], *,
    items: Mapping[int, list[OwedItem]] | None = None,
) -> list[StoredPayment]:  # fmt: skip
    """Book new payments (claim id, payment) of locked claims, in the given order, and complete the
    announced transfers that they cover. `items` maps claim ids to the present items of the claims,
    if the caller has loaded them already. Return the stored payments in the same order."""
    claim_ids = sorted({claim_id for claim_id, _ in payments})
    if not claim_ids:
        return []
    if items is None:
        items = await load_items_of_claims(work.tx, work.merchant_id, claim_ids)
    accounts = await _load_accounts(work, claims, claim_ids, items)
    announced = await list_claims_with_requests(work.tx, work.merchant_id, claim_ids, BANK_TRANSFER)
    booked, completed, occasions, audits = [], [], [], []
    for claim_id, new in payments:
        request = None
        if claim_id in announced:
            request = await find_matching_transfer(work, claim_id, new.amount_cents)
        if request is not None:
            # Another payment of the claim does not complete the same transfer again.
            announced -= {claim_id}
        request_id = None if request is None else request.request_id
        account = accounts[claim_id]
        booking, outstanding_cents, audit = _book(work, account, new, request_id)
        booked.append(booking)
        audits.append(audit)
        receipt = build_receipt(account.claim, booking.payment, outstanding_cents)
        occasions.append(
            OccasionToSave(claim_id, str(booking.payment.payment_id), receipt, work.real_now)
        )
        if request is not None:
            completed.append(request)
    await _save(work, accounts, booked)
    await save_occasions(work.tx, work.merchant_id, occasions)
    await save_audits(work, "payment.record", audits)
    for request in completed:
        await complete_transfer(work, request)
    return [each.payment for each in booked]


async def _load_accounts(
    work: Work, claims: Mapping[int, LockedClaim], claim_ids: Sequence[int],
    items: Mapping[int, list[OwedItem]],
) -> dict[int, _ClaimAccount]:  # fmt: skip
    paid_cents = await load_paid_cents_of_claims(work.tx, work.merchant_id, claim_ids)
    return {
        claim_id: _ClaimAccount(
            claims[claim_id],
            items.get(claim_id, []),
            paid_cents.get(claim_id, 0),
            (claims[claim_id].status, claims[claim_id].status_before_collected),
        )
        for claim_id in claim_ids
    }


def _book(
    work: Work, account: _ClaimAccount, new: NewPayment, request_id: UUID | None
) -> tuple[BookedShares, int | None, AuditRow]:
    """Change the account by one payment. Return the payment with its allocations, the outstanding
    cents for the receipt (None for a claim that has ended), and the row of the audit log."""
    order = work.merchant.configuration.payment.allocation
    shares = allocate(account.items, new.amount_cents, order, new.item_ids)
    before = sum_balance(account.items, account.paid_cents)
    account.items = [add_allocation(each, shares.get(each.item_id, 0)) for each in account.items]
    account.paid_cents += new.amount_cents
    after = sum_balance(account.items, account.paid_cents)
    status_before = account.statuses[0]
    account.statuses = _decide(account, after)
    payment = build_payment(work, account.claim, new, request_id)
    is_closed = account.statuses[0] in (Status.ARCHIVED, Status.WITHDRAWN)
    audit = AuditRow(
        subject=f"claim:{payment.claim_id}",
        before={"status": status_before, "outstanding": before.outstanding_cents},
        after={
            "status": account.statuses[0], "outstanding": after.outstanding_cents,
            "amount": payment.amount_cents, "currency": payment.currency,
        },
        details={"paymentId": str(payment.payment_id)},
    )  # fmt: skip
    return BookedShares(payment, shares), None if is_closed else after.outstanding_cents, audit


def _decide(account: _ClaimAccount, after: Balance) -> tuple[Status, Status | None]:
    """Return the statuses after a payment. They start from those of the account, not of the locked
    claim, because an earlier payment of the set may have collected the claim."""
    status, before_collected = account.statuses
    return decide_statuses(status, before_collected, after)


async def _save(
    work: Work, accounts: Mapping[int, _ClaimAccount], booked: Sequence[BookedShares]
) -> None:
    await insert_payments(work.tx, work.merchant_id, booked, work.now)
    statuses = {claim_id: account.statuses for claim_id, account in accounts.items()}
    await save_statuses(work.tx, work.merchant_id, statuses, work.now)
    collected = [
        claim_id for claim_id, (status, _) in statuses.items() if status is Status.COLLECTED
    ]
    await cancel_contacts(work.tx, work.merchant_id, collected, work.now, reason=REASON_PAID)
    await schedule_checks_now(work.tx, work.merchant_id, list(accounts), work.now)
