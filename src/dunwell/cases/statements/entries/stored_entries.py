"""Entries of a statement as they are stored: one row for each line of the statement, and one for
each payment of a line. Personal data is kept only as far as staff need it; the payer's account is
shortened. Pure."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from dunwell.cases.statements.formats.entry_keys import EntryKey
from dunwell.cases.statements.formats.invariants import compute_details_total
from dunwell.cases.statements.formats.repeated_entries import PaymentMarks
from dunwell.cases.statements.formats.statement import BankEntry, EntryDetail, normalize_iban

_MAX_TEXT = 2_000
_NO_DETAIL = EntryDetail(amount_cents=None)
# Makes the digest by which a payer's account is found again.
DigestIban = Callable[[str], bytes]


@dataclass(frozen=True, slots=True)
class ArrivingEntry:
    """An entry with its number in the statement, from 1. `key` is None if the bank has not booked
    the entry."""

    number: int
    key: EntryKey | None
    entry: BankEntry


@dataclass(frozen=True, slots=True)
class EntryRow:
    entry_id: UUID
    # None if the entry is not booked.
    entry_key: str | None
    status: str
    # The place in the statement, from 1.
    position: int
    amount_cents: int
    currency: str
    booked_on: date | None
    value_on: date | None
    bank_reference: str | None
    charges_cents: int
    is_reversal: bool
    transaction_code: str | None
    payment_information_id: str | None
    additional_text: str | None


@dataclass(frozen=True, slots=True)
class TransactionRow:
    entry_id: UUID
    # From 1, in the bank's order.
    number: int
    amount_cents: int
    currency: str
    booked_on: date
    end_to_end_id: str | None
    mandate_id: str | None
    # The references that have their own field, one per line.
    references_text: str
    # The texts of the payer and of the bank, one line each.
    remittance_text: str
    counterparty_name: str | None
    counterparty_iban_shown: str | None
    counterparty_digest: bytes | None
    return_reason: str | None
    # The day of another entry that may be the same one. None if there is no such entry.
    resembles_on: date | None = None


def build_entry_row(
    entry_id: UUID, entry_key: str | None, position: int, entry: BankEntry
) -> EntryRow:
    return EntryRow(
        entry_id=entry_id,
        entry_key=entry_key,
        status=entry.status,
        position=position,
        amount_cents=entry.amount_cents,
        currency=entry.currency,
        booked_on=entry.booked_on,
        value_on=entry.value_on,
        bank_reference=entry.bank_reference,
        charges_cents=entry.charges_cents,
        is_reversal=entry.is_reversal,
        transaction_code=entry.transaction_code,
        payment_information_id=entry.payment_information_id,
        additional_text=_cut(entry.additional_text),
    )


def build_transaction_rows(
    entry_id: UUID, entry: BankEntry, digest_iban: DigestIban
) -> Iterator[TransactionRow]:
    """Yield a row for each payment of a booked entry. If an amount is missing, the entry is one
    payment with the texts of all its transactions. The bank's charges are not part of a payment."""
    if not entry.has_payments or entry.booked_on is None:
        return
    details: Sequence[EntryDetail] = entry.details
    if compute_details_total(entry) is None:
        details = [_merge(entry.details)]
    for number, detail in enumerate(details, 1):
        cents = detail.amount_cents
        if cents is None:
            cents = entry.amount_cents - entry.charges_cents
        if cents == 0:
            continue
        iban = normalize_iban(detail.counterparty_iban)
        lines = [*detail.remittance_lines, detail.additional_text or entry.additional_text or ""]
        yield TransactionRow(
            entry_id=entry_id,
            number=number,
            amount_cents=cents,
            currency=entry.currency,
            booked_on=entry.booked_on,
            end_to_end_id=detail.end_to_end_id,
            mandate_id=detail.mandate_id,
            references_text=_cut("\n".join(detail.structured_references)) or "",
            remittance_text=_cut("\n".join(filter(None, lines))) or "",
            counterparty_name=_cut(detail.counterparty_name),
            counterparty_iban_shown=None if iban is None else shorten_iban(iban),
            counterparty_digest=None if iban is None else digest_iban(iban),
            return_reason=detail.return_reason,
        )


def build_marks(entry_id: UUID, entry: BankEntry, digest_iban: DigestIban) -> PaymentMarks:
    """Return what distinguishes the payment of an entry from others; empty marks if the entry has
    not exactly one payment."""
    rows = [*build_transaction_rows(entry_id, entry, digest_iban)]
    if len(rows) != 1:
        return PaymentMarks()
    return PaymentMarks(rows[0].end_to_end_id, rows[0].counterparty_digest)


def shorten_iban(iban: str) -> str:
    """Return the first and last characters of an account number."""
    return f"{iban[:4]} … {iban[-4:]}" if len(iban) > 10 else "…"


def _merge(details: Sequence[EntryDetail]) -> EntryDetail:
    """Return one transaction with the texts of all. It has no amount, because it is the whole
    entry."""
    if len(details) < 2:
        detail = details[0] if details else _NO_DETAIL
        return EntryDetail(
            amount_cents=None,
            end_to_end_id=detail.end_to_end_id,
            mandate_id=detail.mandate_id,
            structured_references=detail.structured_references,
            remittance_lines=detail.remittance_lines,
            additional_text=detail.additional_text,
            counterparty_name=detail.counterparty_name,
            counterparty_iban=detail.counterparty_iban,
            return_reason=detail.return_reason,
        )
    return EntryDetail(
        amount_cents=None,
        structured_references=tuple(one for each in details for one in each.structured_references),
        remittance_lines=tuple(one for each in details for one in each.remittance_lines),
    )


def _cut(text: str | None) -> str | None:
    # PostgreSQL stores no NUL.
    return None if text is None else text.replace("\0", "")[:_MAX_TEXT]
