"""Find the results of direct debits among the transactions of bank statements and in reports on
orders (pain.002), by their end-to-end ids."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.direct_debit.debit_results import (
    DebitOutcome,
    DebitResult,
    RecordedResult,
    record_debit_result,
)
from dunwell.cases.direct_debit.debit_values import NARRATIVE_REASON, is_return_reason
from dunwell.cases.direct_debit.files.store import list_message_collections
from dunwell.cases.direct_debit.store import find_collection, list_end_to_end_ids
from dunwell.cases.statements.formats.payment_status import OrderOutcome, PaymentStatusReport
from dunwell.cases.statements.match_reasons import (
    build_reason,
    build_return_reason,
    is_known_return,
)
from dunwell.cases.statements.matches.debits.store import (
    find_debit_claims,
    list_recorded_debits,
)
from dunwell.cases.statements.matches.store import BankMatch, BankTransaction
from dunwell.cases.statements.matching import MatchRule

# Ids as `build_end_to_end_id` and `build_reference` make them.
_DEBIT_ID = re.compile(r"\b(?:[0-9A-F]{32}|[0-9]{1,18}-[0-9A-F]{8}-[0-9]{1,4})\b")
_MAX_CLAIM_ID = 2**63 - 1


@dataclass(frozen=True, slots=True)
class RecordedDebits:
    """The matches that were made, and the transactions (entry, number) that a person has to look
    at."""

    matches: Sequence[BankMatch]
    doubtful: frozenset[tuple[UUID, int]]


async def record_debits(work: Work, new: Sequence[BankTransaction]) -> RecordedDebits:
    """Record the results of our direct debits that these transactions report.

    A debit has one credit and one return. A further credit with its end-to-end id is other money,
    which the rules for payments assign. A result is left to a person if its amount or code does not
    fit, if the debit was not delivered, or if the return was recorded before.
    """
    work.require(Right.RECORD_MONEY)
    named = {each.end_to_end_id for each in new if each.end_to_end_id is not None}
    ours = await list_end_to_end_ids(work.tx, work.merchant_id, named)
    recorded = await list_recorded_debits(work.tx, work.merchant_id, ours) if ours else set()
    matches, doubtful = [], set()
    for each in new:
        if each.end_to_end_id not in ours:
            continue
        is_return = each.amount_cents < 0
        name = (each.end_to_end_id, is_return)
        if name in recorded:
            if is_return:
                doubtful.add(each.key)
            continue
        is_returned = (each.end_to_end_id, True) in recorded
        match = await _record_result(work, each, each.end_to_end_id, is_returned=is_returned)
        if match is None:
            doubtful.add(each.key)
        else:
            matches.append(match)
            recorded.add(name)
    return RecordedDebits(matches, frozenset(doubtful))


async def _record_result(
    work: Work, transaction: BankTransaction, end_to_end_id: str, *, is_returned: bool
) -> BankMatch | None:
    """Record the result that a transaction reports. Return None if a person has to look at it.
    `is_returned` is true if a statement already has the return of the debit."""
    is_return = transaction.amount_cents < 0
    if is_return and not is_known_return(transaction.return_reason):
        return None
    result = DebitResult(
        DebitOutcome.RETURNED if is_return else DebitOutcome.COLLECTED, transaction.booked_on,
        abs(transaction.amount_cents), transaction.currency,
        reason_code=transaction.return_reason,
    )  # fmt: skip
    found = await record_debit_result(work, end_to_end_id, result)
    # A credit after a rejection can be the debit's or another payment of the debtor.
    is_settled = found is RecordedResult.KNOWN and (is_return or is_returned)
    if found is RecordedResult.RECORDED or is_settled:
        return await _build_match(work, transaction, end_to_end_id)
    return None


def list_debit_ids(transaction: BankTransaction) -> list[str]:
    """Return the texts in a transaction that may be the end-to-end id or the mandate reference of a
    debit."""
    texts = (
        transaction.end_to_end_id, transaction.mandate_id, transaction.references_text,
        transaction.remittance_text,
    )  # fmt: skip
    found = (_DEBIT_ID.findall(text.upper()) for text in texts if text)
    return list(dict.fromkeys(each for ids in found for each in ids))


async def find_claims_by_debit(
    work: Work, transactions: Sequence[BankTransaction]
) -> dict[str, int]:
    """Return the claim of each debit or mandate that transactions name."""
    work.require(Right.READ_CLAIMS)
    named = {one for each in transactions for one in list_debit_ids(each)}
    if not named:
        return {}
    numbers = {int(each.partition("-")[0]) for each in named if "-" in each}
    claim_ids = {each for each in numbers if each <= _MAX_CLAIM_ID}
    return await find_debit_claims(work.tx, work.merchant_id, named, claim_ids)


async def record_status_reports(
    work: Work, reports: Iterable[PaymentStatusReport], today: date
) -> int:
    """Record the debits that the bank rejects, and return how many were not recorded before. An
    audit entry is written even if there are none. Accepted debits are
    booked when a statement has the money."""
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
            if collection.payment_id is None and not is_return_reason(code):
                # No money has moved, so the rejection holds whatever its reason.
                code = NARRATIVE_REASON
            result = DebitResult(DebitOutcome.RETURNED, today, reason_code=code)
            found = await record_debit_result(work, end_to_end_id, result)
            rejected += found is RecordedResult.RECORDED
    await save_audit(
        work, "debit.report", f"merchant:{work.merchant_id}", after={"rejected": rejected}
    )
    return rejected


async def _build_match(work: Work, transaction: BankTransaction, end_to_end_id: str) -> BankMatch:
    collection = await find_collection(work.tx, work.merchant_id, end_to_end_id)
    assert collection is not None, "its end-to-end id was listed"
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
            build_return_reason("DEBIT_RETURNED", reason) if is_return else build_reason("DEBIT")
        ),
        # Without a payment, the credit and the return of a debit settle each other.
        claim_id=None if collection.payment_id is None else collection.claim_id,
        payment_id=collection.payment_id,
    )  # fmt: skip
