"""Find the results of direct debits among the transactions of bank statements and in reports on
orders (pain.002), by their end-to-end ids."""

from collections.abc import Iterable, Sequence
from datetime import date

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.direct_debit.debit_results import (
    DebitOutcome,
    DebitResult,
    RecordedResult,
    record_debit_result,
)
from dunwell.cases.direct_debit.files.store import list_message_collections
from dunwell.cases.direct_debit.store import find_collection, list_end_to_end_ids
from dunwell.cases.statements.formats.payment_status import OrderOutcome, PaymentStatusReport
from dunwell.cases.statements.matches.store import BankMatch, BankTransaction
from dunwell.cases.statements.matching import RETURN_REASONS, MatchRule, is_known_return

_RECORDED = (RecordedResult.RECORDED, RecordedResult.KNOWN)


async def record_debits(work: Work, new: Sequence[BankTransaction]) -> list[BankMatch]:
    """Record what transactions say about our direct debits. Return what each of them belongs to;
    a transaction with a doubtful result is left for a person."""
    work.require(Right.RECORD_MONEY)
    named = {each.end_to_end_id for each in new if each.end_to_end_id is not None}
    ours = await list_end_to_end_ids(work.tx, work.merchant_id, named)
    matches = []
    for each in new:
        if each.end_to_end_id not in ours:
            continue
        is_return = each.amount_cents < 0
        if is_return and not is_known_return(each.return_reason):
            continue
        result = DebitResult(
            DebitOutcome.RETURNED if is_return else DebitOutcome.COLLECTED, each.booked_on,
            abs(each.amount_cents), each.currency, reason_code=each.return_reason,
        )  # fmt: skip
        if await record_debit_result(work, each.end_to_end_id, result) in _RECORDED:
            matches.append(await _build_match(work, each, each.end_to_end_id))
    return matches


async def record_status_reports(
    work: Work, reports: Iterable[PaymentStatusReport], today: date
) -> int:
    """Record the debits that the bank rejects. What it accepts is booked when the statement has the
    money. Return how many were rejected."""
    work.require(Right.RECORD_MONEY)
    rejected = 0
    for report in reports:
        for collection in await list_message_collections(
            work.tx, work.merchant_id, report.original_message_id
        ):
            end_to_end_id = collection.end_to_end_id
            outcome, reasons = report.find_outcome(collection.batch_id or "", end_to_end_id)
            if outcome is not OrderOutcome.REJECTED:
                continue
            code = next((each.code for each in reasons if each.code is not None), None)
            result = DebitResult(DebitOutcome.RETURNED, today, reason_code=code)
            found = await record_debit_result(work, end_to_end_id, result)
            rejected += found is RecordedResult.RECORDED
    await save_audit(
        work, "debit.report", f"merchant:{work.merchant_id}", after={"rejected": rejected}
    )
    return rejected


async def _build_match(work: Work, transaction: BankTransaction, end_to_end_id: str) -> BankMatch:
    collection = await find_collection(work.tx, work.merchant_id, end_to_end_id)
    assert collection is not None, "it was listed"
    is_return = transaction.amount_cents < 0
    reason = transaction.return_reason or ""
    return BankMatch(
        match_id=work.ids.new(work.now),
        kind="MATCHED",
        entry_id=transaction.entry_id,
        number=transaction.number,
        amount_cents=abs(transaction.amount_cents),
        rule=MatchRule.RETURN if is_return else MatchRule.MANDATE,
        explanation=(
            f"Direct debit returned with {reason}: {RETURN_REASONS[reason]}." if is_return
            else "Direct debit with this end-to-end id."
        ),
        claim_id=collection.claim_id,
        payment_id=collection.payment_id,
    )  # fmt: skip
