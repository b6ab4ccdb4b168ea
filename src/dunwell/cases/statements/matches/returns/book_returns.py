"""Reverse payments that a bank returns.

A return names its original entry by the end-to-end id. If it returns the whole entry, all payments
that were booked of the entry are reversed together, including those of several claims. Any other
return is left to a person, who sees the payments of the original entry.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.payments.bookings.store import lock_claims
from dunwell.cases.payments.movements import PaymentMovement, decide_return_review
from dunwell.cases.payments.provider import MovementKind
from dunwell.cases.payments.reversals import MoneyChange, return_money
from dunwell.cases.payments.store import StoredPayment, find_payment, insert_movement
from dunwell.cases.statements.match_reasons import build_return_reason, is_known_return
from dunwell.cases.statements.matches.record_matches import compute_paid_at, record_matches
from dunwell.cases.statements.matches.returns.store import (
    OriginalEntry,
    OriginalPart,
    find_original_entries,
)
from dunwell.cases.statements.matches.store import BankMatch, BankTransaction
from dunwell.cases.statements.matching import MatchRule


async def find_returned_entries(
    work: Work, new: Sequence[BankTransaction]
) -> dict[tuple[UUID, int], OriginalEntry]:
    """Return the original entry of each transaction that takes back a whole entry, if only one
    entry fits. Transactions whose return reason is not known are left out."""
    work.require(Right.READ_CLAIMS)
    known = [each for each in new if is_known_return(each.return_reason)]
    ids = {each.end_to_end_id for each in known if each.end_to_end_id}
    originals = await find_original_entries(work.tx, work.merchant_id, ids) if ids else []
    returned = {}
    for transaction in known:
        fitting = [each for each in originals if is_whole_return(transaction, each)]
        if len(fitting) == 1:
            originals.remove(fitting[0])
            returned[transaction.key] = fitting[0]
    return returned


def is_whole_return(transaction: BankTransaction, original: OriginalEntry) -> bool:
    """Return whether the transaction takes back all money of the original entry, all of which was
    booked as payments that did not go back before."""
    return (
        original.end_to_end_id == transaction.end_to_end_id
        and original.currency == transaction.currency
        and original.amount_cents == -transaction.amount_cents
        and original.is_booked_whole
        and original.left_cents > 0
    )


async def list_originals(
    work: Work, transactions: Collection[BankTransaction]
) -> Mapping[tuple[UUID, int], Sequence[OriginalEntry]]:
    """Return the entries whose money each of these transactions may take back, for a person."""
    work.require(Right.READ_CLAIMS)
    taken = [each for each in transactions if each.amount_cents < 0 and each.end_to_end_id]
    ids = {each.end_to_end_id or "" for each in taken}
    found = await find_original_entries(work.tx, work.merchant_id, ids) if ids else []
    return {
        each.key: [one for one in found if one.end_to_end_id == each.end_to_end_id]
        for each in taken
    }


async def book_return(work: Work, transaction: BankTransaction, original: OriginalEntry) -> None:
    """Reverse every payment that was booked of the original entry. The claims must be locked. The
    bank's charge for the return is not part of the transaction, and the debtor does not owe it."""
    work.require(Right.RECORD_MONEY)
    matches = [
        await _return_part(work, transaction, part, place if len(original.parts) > 1 else 0)
        for place, part in enumerate(original.parts, 1)
    ]
    await record_matches(work, matches)


async def _return_part(
    work: Work, transaction: BankTransaction, part: OriginalPart, place: int
) -> BankMatch:
    """Reverse what is left of one payment. `place` is 0 if the entry was booked as one payment."""
    payment = await find_payment(work.tx, work.merchant_id, part.claim_id, part.payment_id)
    assert payment is not None, "it is a foreign key"
    claim = (await lock_claims(work.tx, work.merchant_id, [part.claim_id]))[part.claim_id]
    cents = min(part.amount_cents, payment.amount_cents - payment.returned_cents)
    movement = _build_movement(work, transaction, payment, part, place=place, booked_cents=cents)
    status = claim.status
    if cents > 0:
        change = MoneyChange(cents, MovementKind.CHARGED_BACK, movement.movement_id)
        status, _ = await return_money(work, claim, payment, change)
    review_reason = decide_return_review(part.amount_cents, cents, status)
    movement = replace(movement, review_reason=review_reason)
    await insert_movement(work.tx, work.merchant_id, movement)
    return BankMatch(
        match_id=work.ids.new(work.now),
        kind="MATCHED",
        entry_id=transaction.entry_id,
        number=transaction.number,
        amount_cents=part.amount_cents,
        rule=MatchRule.RETURN,
        explanation=build_return_reason("RETURNED", transaction.return_reason or ""),
        claim_id=part.claim_id,
        payment_id=part.payment_id,
    )


def _build_movement(
    work: Work, transaction: BankTransaction, payment: StoredPayment, part: OriginalPart, *,
    place: int, booked_cents: int,
) -> PaymentMovement:  # fmt: skip
    """Return the movement of one part. A return of several payments has a movement for each, with
    the place of the payment in the id."""
    name = f"{transaction.entry_id}:{transaction.number}"
    return PaymentMovement(
        record_id=work.ids.new(work.now),
        provider=f"bank:{transaction.account}",
        movement_id=f"{name}:{place}" if place else name,
        kind=MovementKind.CHARGED_BACK,
        claim_id=payment.claim_id,
        request_id=payment.request_id,
        payment_id=payment.payment_id,
        amount_cents=part.amount_cents,
        currency=transaction.currency,
        booked_cents=booked_cents,
        moved_at=compute_paid_at(work, transaction.booked_on),
        recorded_at=work.now,
        review_reason=None,
        reviewed_at=None,
    )
