"""Match new transactions of bank statements, a set at a time: payouts of providers first, then
returned payments, then payments of debtors. A transaction without a certain match stays open for a
person."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time
from typing import NamedTuple
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.payments.bookings.book_payments import book_payments
from dunwell.cases.payments.bookings.store import load_items_of_claims, lock_claims
from dunwell.cases.payments.record_payment import NewPayment
from dunwell.cases.payments.requests.request_states import BANK_TRANSFER
from dunwell.cases.payments.store import StoredPayment
from dunwell.cases.statements.match_reasons import build_reason
from dunwell.cases.statements.matches.debits.match_debits import (
    find_claims_by_debit,
    list_debit_ids,
    record_debits,
)
from dunwell.cases.statements.matches.record_matches import compute_paid_at, record_matches
from dunwell.cases.statements.matches.returns.book_returns import (
    book_return,
    find_returned_entries,
)
from dunwell.cases.statements.matches.returns.store import OriginalEntry
from dunwell.cases.statements.matches.store import (
    BankMatch,
    BankTransaction,
    count_matched,
    find_claims_by_reference,
    list_claims_by_reference,
    list_new_transactions,
    save_states,
)
from dunwell.cases.statements.matching import (
    ArrivedMoney,
    CandidateClaim,
    MatchCandidates,
    MatchRule,
    MatchSuggestion,
    decide_match,
)
from dunwell.cases.statements.payers.store import save_payers
from dunwell.cases.statements.payouts.store import (
    PAYOUT_EARLY,
    PAYOUT_LATE,
    AwaitedPayout,
    list_awaited_payouts,
    save_arrival,
)
from dunwell.cases.statements.store import list_accounts
from dunwell.core.claims.balance import OwedItem
from dunwell.core.claims.reference_forms import (
    WrittenReferences,
    is_short,
    list_written_references,
    normalize_reference,
)
from dunwell.core.claims.store import LockedClaim

SET_SIZE = 1_000
_NOON = time(12)


@dataclass(slots=True)
class _Plan:
    """The decisions about the transactions of a set."""

    # State and matched cents of each transaction.
    states: dict[tuple[UUID, int], tuple[str, int]] = field(default_factory=dict)
    matches: dict[tuple[UUID, int], MatchSuggestion] = field(default_factory=dict)
    payouts: dict[tuple[UUID, int], AwaitedPayout] = field(default_factory=dict)
    returns: dict[tuple[UUID, int], OriginalEntry] = field(default_factory=dict)


class _ClaimsToPay(NamedTuple):
    """Locked claims with their items."""

    claims: Mapping[int, LockedClaim]
    items: Mapping[int, list[OwedItem]]


async def match_new_transactions(work: Work, account: str, *, limit: int = SET_SIZE) -> int:
    """Match the next new transactions of an account, and book what is certain. Return how many
    there were."""
    work.require(Right.RECORD_MONEY)
    new = await list_new_transactions(work.tx, work.merchant_id, account, limit)
    await match_transactions(work, account, new)
    return len(new)


async def match_transactions(
    work: Work, account: str, new: Sequence[BankTransaction], *, before: str = "NEW"
) -> int:
    """Match these transactions of an account, which have the state `before`, and book what is
    certain. Return how many of them were matched, including payouts and returns."""
    work.require(Right.RECORD_MONEY)
    if not new:
        return 0
    accounts = await list_accounts(work.tx, work.merchant_id)
    tolerance = accounts[account].tolerance_cents
    plan = _Plan(states={each.key: ("OPEN", 0) for each in new})
    # Debits come first: they are known by their end-to-end ids, and book their own payments.
    results = await record_debits(work, new)
    debits = {(each.entry_id, each.number): each for each in results.matches}
    for key, match in debits.items():
        is_return = match.rule == MatchRule.RETURN
        plan.states[key] = ("RETURNED" if is_return else "MATCHED", match.amount_cents)
    left_out = debits.keys() | results.doubtful
    undecided = [each for each in new if each.key not in left_out]
    await _plan_payouts(work, plan, undecided)
    plan.returns = await find_returned_entries(work, undecided)
    plan.states |= {key: ("RETURNED", each.amount_cents) for key, each in plan.returns.items()}
    arrived = [each for each in undecided if each.amount_cents > 0 and each.key not in plan.payouts]
    locked = await _plan_payments(work, plan, arrived, tolerance)
    # Another worker may have matched some of the transactions in the meantime.
    saved_keys = await save_states(work.tx, work.merchant_id, plan.states, before=before)
    transactions = [each for each in new if each.key in saved_keys]
    await record_matches(work, [each for key, each in debits.items() if key in saved_keys])
    await book_matches(
        work, locked.claims, [(each, plan.matches[each.key]) for each in transactions
                              if each.key in plan.matches],
        items=locked.items,
    )  # fmt: skip
    await _record_payouts(work, plan, transactions)
    for each in transactions:
        if each.key in plan.returns:
            await book_return(work, each, plan.returns[each.key])
    decided = [each.entry_id for each in transactions if plan.states[each.key][0] != "OPEN"]
    await count_matched(work.tx, work.merchant_id, decided)
    await save_audit(
        work, "bankStatement.match", f"bankAccount:{account}",
        after={"seen": len(transactions), "matched": len(decided)},
    )  # fmt: skip
    return len(decided)


async def _plan_payouts(work: Work, plan: _Plan, new: Sequence[BankTransaction]) -> None:
    """Find the payouts among the transactions. This comes before payments, because the sum of a
    payout could match a claim by accident. A negative payout is the debit of a provider that takes
    money back."""
    amounts = {each.amount_cents for each in new}
    awaited = await list_awaited_payouts(work.tx, work.merchant_id, amounts)
    for transaction in new:
        fitting = [each for each in awaited if _fits_payout(transaction, each)]
        named = [each for each in fitting if each.payout_id in transaction.remittance_text]
        found = named if len(named) == 1 else fitting
        if len(found) != 1:
            continue
        awaited.remove(found[0])
        plan.payouts[transaction.key] = found[0]
        plan.states[transaction.key] = ("PAYOUT", abs(transaction.amount_cents))


def _fits_payout(transaction: BankTransaction, payout: AwaitedPayout) -> bool:
    if (transaction.amount_cents, transaction.currency) != (payout.amount_cents, payout.currency):
        return False
    if transaction.return_reason is not None:
        # The transaction returns a payment of a debtor.
        return False
    booked_at = datetime.combine(transaction.booked_on, _NOON, UTC)
    return payout.paid_at - PAYOUT_EARLY <= booked_at <= payout.paid_at + PAYOUT_LATE


async def _plan_payments(
    work: Work, plan: _Plan, arrived: Sequence[BankTransaction], tolerance_cents: int
) -> _ClaimsToPay:
    """Lock the claims that the arrived payments and the planned returns may belong to, and decide
    to which claims each payment belongs. Return the locked claims."""
    written = {each.key: list_references(each) for each in arrived}
    named_ids = await _find_named_claims(work, arrived, written)
    by_debit = await find_claims_by_debit(work, arrived)
    candidate_ids = sorted({*named_ids, *by_debit.values()})
    returned = [part.claim_id for each in plan.returns.values() for part in each.parts]
    claims = await lock_claims(work.tx, work.merchant_id, [*candidate_ids, *returned])
    items = await load_items_of_claims(work.tx, work.merchant_id, candidate_ids)
    candidates = {
        each: _build_candidate(claims[each], items.get(each, ())) for each in candidate_ids
    }
    by_form: dict[str, list[int]] = {}
    for claim_id, claim in candidates.items():
        by_form.setdefault(normalize_reference(claim.reference_number), []).append(claim_id)
    for transaction in arrived:
        texts = written[transaction.key]
        named = [one for form in {**texts.normal, **texts.checked} for one in by_form.get(form, ())]
        suggestion = decide_match(
            build_money(transaction, texts),
            MatchCandidates(
                by_reference=[candidates[each] for each in named],
                by_debit={name: candidates[claim_id] for name, claim_id in by_debit.items()},
            ),
            tolerance_cents,
        ).match
        if suggestion is None:
            continue
        plan.matches[transaction.key] = suggestion
        plan.states[transaction.key] = ("MATCHED", transaction.amount_cents)
        for part in suggestion.parts:
            candidates[part.claim_id] = _subtract_payment(candidates[part.claim_id], part.cents)
    return _ClaimsToPay(claims, items)


async def _find_named_claims(
    work: Work,
    arrived: Sequence[BankTransaction],
    written: Mapping[tuple[UUID, int], WrittenReferences],
) -> set[int]:
    """Return the claims that the texts may name.

    Most texts have the whole reference of one claim. Then no other form of a reference can change
    the decision, and none is searched for: a text has some ten of them.
    """
    references = {one for each in written.values() for one in each.as_written}
    exact = {
        each.reference_number: each
        for each in await list_claims_by_reference(work.tx, work.merchant_id, references)
    }
    found, others = {each.claim_id for each in exact.values()}, set[str]()
    for transaction in arrived:
        texts = written[transaction.key]
        named = [
            each
            for each in texts.as_written & exact.keys()
            if exact[each].currency == transaction.currency
            and not is_short(normalize_reference(each))
        ]
        if len(named) != 1 or texts.checked:
            others.update(texts.normal, texts.checked)
    if others:
        found.update(await find_claims_by_reference(work.tx, work.merchant_id, (), others))
    return found


def _build_candidate(claim: LockedClaim, items: Sequence[OwedItem]) -> CandidateClaim:
    """Return a locked claim with what it owes. Rules that book a payment need no other facts."""
    return CandidateClaim(
        claim_id=claim.claim_id,
        reference_number=claim.reference_number,
        currency=claim.currency,
        status=claim.status,
        outstanding_cents=sum(each.outstanding_cents for each in items),
    )


def _subtract_payment(claim: CandidateClaim, cents: int) -> CandidateClaim:
    """Return the claim with what it owes after this payment, for the next payment of the set."""
    return replace(claim, outstanding_cents=max(0, claim.outstanding_cents - cents))


def list_references(transaction: BankTransaction) -> WrittenReferences:
    """Return the parts of the transaction's texts that may be a reference number."""
    structured = transaction.references_text.splitlines()
    lines = transaction.remittance_text.splitlines()
    if transaction.end_to_end_id is not None:
        lines.append(transaction.end_to_end_id)
    return list_written_references(structured, lines)


def build_money(transaction: BankTransaction, texts: WrittenReferences) -> ArrivedMoney:
    """Return the part of a transaction that belongs to nothing yet, as the rules need it."""
    debit_ids = list_debit_ids(transaction)
    return ArrivedMoney(transaction.left_cents, transaction.currency, texts, debit_ids)


async def book_matches(
    work: Work,
    claims: Mapping[int, LockedClaim],
    matched: Sequence[tuple[BankTransaction, MatchSuggestion]],
    *,
    items: Mapping[int, list[OwedItem]] | None = None,
) -> list[BankMatch]:
    """Book the payments of transactions whose claims are locked, and record what they belong to.
    `items` are those of the claims, or None if they are still to be loaded."""
    work.require(Right.RECORD_MONEY)
    new_payments, sources = [], []
    for transaction, suggestion in matched:
        for part in suggestion.parts:
            match_id = work.ids.new(work.now)
            new = NewPayment(
                part.cents,
                transaction.currency,
                str(match_id),
                provider_name=BANK_TRANSFER,
                paid_at=compute_paid_at(work, transaction.booked_on),
            )
            new_payments.append((part.claim_id, new))
            sources.append((match_id, transaction, suggestion))
    payments = await book_payments(work, claims, new_payments, items=items)
    matches = [
        BankMatch(
            match_id=match_id,
            kind="MATCHED",
            entry_id=transaction.entry_id,
            number=transaction.number,
            amount_cents=payment.amount_cents,
            rule=suggestion.rule,
            explanation=suggestion.explanation,
            claim_id=payment.claim_id,
            payment_id=payment.payment_id,
        )
        for (match_id, transaction, suggestion), payment in zip(sources, payments, strict=True)
    ]
    await record_matches(work, matches)
    await _save_payers(work, [each for _, each, _ in sources], payments)
    return matches


async def _save_payers(
    work: Work, transactions: Sequence[BankTransaction], payments: Sequence[StoredPayment]
) -> None:
    """Save from which account each of these payments came."""
    payers = [
        (transaction.counterparty_digest, payment.claim_id)
        for transaction, payment in zip(transactions, payments, strict=True)
        if transaction.counterparty_digest is not None
    ]
    await save_payers(work.tx, work.merchant_id, payers, work.now)


async def _record_payouts(work: Work, plan: _Plan, transactions: Sequence[BankTransaction]) -> None:
    matches = []
    for each in transactions:
        payout = plan.payouts.get(each.key)
        if payout is None:
            continue
        key = (payout.provider, payout.payout_id)
        await save_arrival(work.tx, work.merchant_id, key, work.now, transaction=each.key)
        matches.append(
            BankMatch(
                match_id=work.ids.new(work.now),
                kind="MATCHED",
                entry_id=each.entry_id,
                number=each.number,
                amount_cents=abs(each.amount_cents),
                rule=MatchRule.PAYOUT,
                explanation=build_reason(
                    "PAYOUT", payout=payout.payout_id, account=payout.provider
                ),
                payout_provider=payout.provider,
                payout_id=payout.payout_id,
            )
        )
    await record_matches(work, matches)
