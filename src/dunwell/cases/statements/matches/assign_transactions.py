"""Record what a person decides about transactions on statements: which claims they belong to, that
they belong to none, or that a match was wrong."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.payments.bookings.store import lock_claims
from dunwell.cases.payments.record_payment import RecordedPayment
from dunwell.cases.payments.reversals import reverse_payment
from dunwell.cases.payments.store import find_payment
from dunwell.cases.statements.covering_sets import CoveringSets, find_covering_sets
from dunwell.cases.statements.match_reasons import build_reason
from dunwell.cases.statements.matches.debits.match_debits import find_claims_by_debit
from dunwell.cases.statements.matches.match_transactions import (
    book_matches,
    build_money,
    list_references,
)
from dunwell.cases.statements.matches.record_matches import record_matches
from dunwell.cases.statements.matches.returns.book_returns import list_originals
from dunwell.cases.statements.matches.returns.store import OriginalEntry
from dunwell.cases.statements.matches.store import (
    BankMatch,
    BankTransaction,
    find_claims_by_reference,
    find_claims_of_customers,
    find_match,
    find_match_of_payment,
    is_undone,
    list_matches,
    list_open_rows,
    load_candidates,
    load_transactions,
    lock_transactions,
    save_decision,
)
from dunwell.cases.statements.matching import (
    MatchCandidates,
    MatchPart,
    MatchRule,
    MatchSuggestion,
    decide_match,
)
from dunwell.cases.statements.payers.store import delete_payer, find_claims_by_payer
from dunwell.cases.statements.payouts.store import save_awaited
from dunwell.cases.statements.store import list_accounts
from dunwell.platform.errors import Fault, InvalidState, NotFound, ValidationError

_MAX_SHARES = 100


@dataclass(frozen=True, slots=True)
class TransactionShare:
    """A part of a transaction (entry, number) that belongs to a claim."""

    entry_id: UUID
    number: int
    claim_id: int
    cents: int


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction that a person has to assign, with suggestions in the order of the rules. For a
    return, `originals` are the entries whose money it may take back."""

    transaction: BankTransaction
    suggestions: tuple[MatchSuggestion, ...]
    originals: Sequence[OriginalEntry] = ()


async def list_open_transactions(
    work: Work, account: str, *, limit: int = 50
) -> list[OpenTransaction]:
    """Return the transactions that need a person, the oldest first, with suggestions. Raises
    NotFound."""
    work.require(Right.READ_CLAIMS)
    accounts = await list_accounts(work.tx, work.merchant_id)
    if account not in accounts:
        raise NotFound(f"There is no bank account {account}.")
    opened = await list_open_rows(work.tx, work.merchant_id, account, limit)
    tolerance = accounts[account].tolerance_cents
    digests = {each.counterparty_digest for each in opened if each.counterparty_digest}
    by_payer = await find_claims_by_payer(work.tx, work.merchant_id, sorted(digests))
    originals = await list_originals(work, opened)
    return [
        OpenTransaction(
            each, await _suggest(work, each, by_payer, tolerance), originals.get(each.key, ())
        )
        for each in opened
    ]


async def _suggest(
    work: Work, transaction: BankTransaction, by_payer: dict[bytes, list[int]], tolerance: int
) -> tuple[MatchSuggestion, ...]:
    # An error that made the matching fail could also make the suggestions fail.
    if transaction.amount_cents < 0 or transaction.problem is not None:
        return ()
    written = list_references(transaction)
    named = await find_claims_by_reference(
        work.tx, work.merchant_id, written.as_written, [*written.normal, *written.checked]
    )
    paid = by_payer.get(transaction.counterparty_digest or b"", [])
    by_debit = await find_claims_by_debit(work, [transaction])
    claims = await load_candidates(work.tx, work.merchant_id, {*named, *paid, *by_debit.values()})
    numbers = {each.customer_number for each in claims.values() if each.customer_number}
    related = await find_claims_of_customers(work.tx, work.merchant_id, numbers)
    others = await load_candidates(work.tx, work.merchant_id, set(related) - claims.keys())
    decision = decide_match(
        build_money(transaction, written),
        MatchCandidates(
            # In a fixed order, so that the page shows the same claim first when it is reloaded.
            by_reference=[claims[each] for each in sorted(named) if each in claims],
            by_debit={name: claims[each] for name, each in by_debit.items() if each in claims},
            by_payer=[claims[each] for each in paid if each in claims],
            of_customer=[others[each] for each in sorted(others)],
        ),
        tolerance,
    )
    return decision.proposals if decision.match is None else (decision.match, *decision.proposals)


async def find_transactions_for_claim(
    work: Work, account: str, claim_id: int, *, limit: int = 200
) -> tuple[list[BankTransaction], CoveringSets]:
    """Return open payments, and the sets of them that add up to exactly what the claim owes. A set
    contains indexes into the returned list, from 0. Raises NotFound."""
    work.require(Right.READ_CLAIMS)
    claims = await load_candidates(work.tx, work.merchant_id, [claim_id])
    if claim_id not in claims:
        raise NotFound(f"There is no claim {claim_id}.")
    claim = claims[claim_id]
    opened = [
        each
        for each in await list_open_rows(work.tx, work.merchant_id, account, limit)
        if each.amount_cents > 0 and each.currency == claim.currency
    ]
    amounts = {place: each.left_cents for place, each in enumerate(opened)}
    return opened, find_covering_sets(claim.outstanding_cents, amounts)


async def assign_transactions(work: Work, shares: Sequence[TransactionShare]) -> list[BankMatch]:
    """Book transactions to claims: one to several claims, several to one, or a part of one.

    Raises NotFound if there is no such claim or transaction; InvalidState if a transaction is not
    open or has less left; ValidationError if there are no shares or too many, an amount is not
    positive, or the currency differs.
    """
    work.require(Right.RECORD_MONEY)
    if not 0 < len(shares) <= _MAX_SHARES or any(each.cents <= 0 for each in shares):
        message = f"Assign between 1 and {_MAX_SHARES} positive amounts."
        raise ValidationError([Fault("/shares", message, "OUT_OF_RANGE")])
    claims = await lock_claims(work.tx, work.merchant_id, [each.claim_id for each in shares])
    keys = {(each.entry_id, each.number) for each in shares}
    locked = await lock_transactions(work.tx, work.merchant_id, sorted(keys))
    left = {key: transaction.left_cents for key, transaction in locked.items()}
    for each in shares:
        transaction = locked.get((each.entry_id, each.number))
        if transaction is None or each.claim_id not in claims:
            raise NotFound("There is no such transaction or claim.")
        if transaction.currency != claims[each.claim_id].currency:
            message = f"The claim is in {claims[each.claim_id].currency}."
            raise ValidationError([Fault("/shares", message, "OTHER_CURRENCY")])
        left[transaction.key] -= each.cents
        if transaction.state != "OPEN" or transaction.amount_cents < 0 or left[transaction.key] < 0:
            raise InvalidState(
                "This transaction already belongs to something, or has less left.",
                state=transaction.state,
            )
    for key, cents in left.items():
        state = "MATCHED" if cents == 0 else "OPEN"
        matched = abs(locked[key].amount_cents) - cents
        await save_decision(work.tx, work.merchant_id, key, state, matched_cents=matched)
    return await book_matches(
        work,
        claims,
        [(locked[each.entry_id, each.number], _build_suggestion(each)) for each in shares],
    )


def _build_suggestion(share: TransactionShare) -> MatchSuggestion:
    part = MatchPart(share.claim_id, share.cents)
    return MatchSuggestion((part,), MatchRule.BY_HAND, build_reason("BY_HAND"))


async def record_without_claim(work: Work, entry_id: UUID, number: int, note: str) -> BankMatch:
    """Record that what is left of a transaction belongs to no claim. `note` is a line for staff.
    Raises NotFound, InvalidState if the transaction is not open, and ValidationError if the note is
    empty, too long, or has several lines."""
    work.require(Right.RECORD_MONEY)
    if not 0 < len(note.strip()) <= 255 or "\n" in note:
        message = "Describe it in one line of at most 255 characters."
        raise ValidationError([Fault("/note", message, "REQUIRED")])
    transaction = await _lock_transaction(work, (entry_id, number))
    if transaction.state != "OPEN":
        raise InvalidState("This transaction is not open.", state=transaction.state)
    match = BankMatch(
        match_id=work.ids.new(work.now),
        kind="MATCHED",
        entry_id=entry_id,
        number=number,
        amount_cents=transaction.left_cents,
        rule=MatchRule.WITHOUT_CLAIM,
        explanation=note,
    )
    await save_decision(
        work.tx,
        work.merchant_id,
        transaction.key,
        "WITHOUT_CLAIM",
        matched_cents=abs(transaction.amount_cents),
    )
    await record_matches(work, [match])
    await save_audit(
        work, "bankTransaction.setAside", f"bankTransaction:{entry_id}:{number}",
        before={"state": "OPEN"}, after={"state": "WITHOUT_CLAIM"},
    )  # fmt: skip
    return match


async def undo_match(work: Work, match_id: UUID, reason: str | None = None) -> BankMatch:
    """Undo a match. Its payment is reversed, and the transaction is open again, so that a person
    can assign it.

    Raises NotFound, and InvalidState if the match is already undone, if it is a returned payment,
    or if money of its payment went back to the debtor.
    """
    work.require(Right.RECORD_MONEY)
    match = await find_match(work.tx, work.merchant_id, match_id)
    if match is None or match.kind != "MATCHED":
        raise NotFound(f"There is no match {match_id}.")
    if match.rule == MatchRule.RETURN:
        raise InvalidState("A returned payment cannot be undone.", state="RETURNED")
    if match.claim_id is not None:
        await lock_claims(work.tx, work.merchant_id, [match.claim_id])
    transaction = await _lock_transaction(work, (match.entry_id, match.number))
    if await is_undone(work.tx, work.merchant_id, match_id):
        raise InvalidState("This match was undone already.", state="UNDONE")
    if match.claim_id is not None and match.payment_id is not None:
        payment = await find_payment(work.tx, work.merchant_id, match.claim_id, match.payment_id)
        if payment is None or payment.returned_cents > 0:
            raise InvalidState("Money of this payment went back already.", state="RETURNED")
        await reverse_payment(work, match.claim_id, match.payment_id, reason)
    if match.payout_provider is not None and match.payout_id is not None:
        payout = (match.payout_provider, match.payout_id)
        await save_awaited(work.tx, work.merchant_id, payout)
    return await _open_again(work, match, transaction, match.amount_cents, reason=reason)


async def reverse_matched_payment(
    work: Work, claim_id: int, payment_id: UUID, reason: str | None = None
) -> RecordedPayment:
    """Reverse what is left of a payment. If the payment comes from a bank statement, also undo its
    match. A payment that is already reversed stays unchanged.

    Raises NotFound and ValidationError as `reverse_payment` does.
    """
    work.require(Right.RECORD_MONEY)
    # This call locks the claim before the transaction is locked.
    recorded = await reverse_payment(work, claim_id, payment_id, reason)
    if recorded.is_new:
        match = await find_match_of_payment(work.tx, work.merchant_id, claim_id, payment_id)
        if match is not None:
            transaction = await _lock_transaction(work, (match.entry_id, match.number))
            # Money that went back to the debtor before stays matched.
            cents = min(recorded.reversed_cents, match.amount_cents)
            await _open_again(work, match, transaction, cents, reason=reason)
    return recorded


async def find_transaction_of_payment(
    work: Work, claim_id: int, payment_id: UUID
) -> BankTransaction | None:
    """Return the transaction that the payment comes from, None if there is none."""
    work.require(Right.READ_CLAIMS)
    match = await find_match_of_payment(work.tx, work.merchant_id, claim_id, payment_id)
    if match is None:
        return None
    key = (match.entry_id, match.number)
    return (await load_transactions(work.tx, work.merchant_id, [key])).get(key)


async def _open_again(
    work: Work, match: BankMatch, transaction: BankTransaction, cents: int, *, reason: str | None
) -> BankMatch:
    """Record that a match was undone, and open its locked transaction again, of which `cents` then
    belong to nothing."""
    undone = BankMatch(
        match_id=work.ids.new(work.now),
        kind="UNDONE",
        entry_id=match.entry_id,
        number=match.number,
        amount_cents=cents,
        rule=MatchRule.BY_HAND,
        explanation=reason or build_reason("UNDONE"),
        undoes=match.match_id,
    )
    left = transaction.matched_cents - cents
    await save_decision(work.tx, work.merchant_id, transaction.key, "OPEN", matched_cents=left)
    await record_matches(work, [undone])
    if match.claim_id is not None and transaction.counterparty_digest is not None:
        payer = (transaction.counterparty_digest, match.claim_id)
        await delete_payer(work.tx, work.merchant_id, payer)
    await save_audit(
        work, "bankMatch.undo", f"bankMatch:{match.match_id}",
        before={"matched": transaction.matched_cents}, after={"matched": left},
    )  # fmt: skip
    return undone


async def list_transaction_matches(work: Work, entry_id: UUID) -> list[BankMatch]:
    """Return the matches of an entry's transactions, including undone ones."""
    work.require(Right.READ_CLAIMS)
    return await list_matches(work.tx, work.merchant_id, [entry_id])


async def _lock_transaction(work: Work, key: tuple[UUID, int]) -> BankTransaction:
    found = await lock_transactions(work.tx, work.merchant_id, [key])
    if key not in found:
        raise NotFound("There is no such transaction.")
    return found[key]
