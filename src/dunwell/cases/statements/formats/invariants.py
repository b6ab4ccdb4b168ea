"""Check the sums of a statement. An entry is the sum of its transactions and charges; the opening
balance plus the entries is the closing balance. A statement that fails is held until a person has
looked at it. Pure.
"""

from collections.abc import Iterator

from dunwell.cases.statements.formats.amounts import render_plain_amount
from dunwell.cases.statements.formats.statement import (
    BankEntry,
    BankStatement,
    EntryStatus,
    StatementKind,
)
from dunwell.platform.text.shape import shorten


def find_broken_invariants(statement: BankStatement) -> tuple[str, ...]:
    """Return a sentence for each invariant that the statement breaks. An empty result means that it
    may be booked."""
    return (*_check_entries(statement), *_check_balances(statement))


def _check_entries(statement: BankStatement) -> Iterator[str]:
    for number, entry in enumerate(statement.entries, 1):
        if entry.status is not EntryStatus.BOOK:
            continue
        name = f"Entry {number}"
        if entry.bank_reference:
            name += f" ({shorten(entry.bank_reference)})"
        if entry.currency != statement.currency:
            yield (
                f"{name} is in {entry.currency}, but the account is in {statement.currency or '?'}."
            )
        total = compute_details_total(entry)
        if total is not None and total + entry.charges_cents != entry.amount_cents:
            yield (
                f"{name} is {render_plain_amount(entry.amount_cents, entry.currency)}, but its "
                f"transactions make {render_plain_amount(total, entry.currency)} and its charges "
                f"{render_plain_amount(entry.charges_cents, entry.currency)}."
            )


def compute_details_total(entry: BankEntry) -> int | None:
    """Return the sum of an entry's transactions, None if it has none or an amount is unknown."""
    cents = [detail.amount_cents for detail in entry.details]
    known = [each for each in cents if each is not None]
    return sum(known) if known and len(known) == len(cents) else None


def _check_balances(statement: BankStatement) -> Iterator[str]:
    """Only a statement of what was booked has balances that can be relied on."""
    opening, closing = statement.opening_cents, statement.closing_cents
    if statement.kind is not StatementKind.STATEMENT or opening is None or closing is None:
        return
    booked = sum(
        entry.amount_cents
        for entry in statement.entries
        if entry.status is EntryStatus.BOOK and entry.currency == statement.currency
    )
    if opening + booked != closing:
        shown = [
            render_plain_amount(cents, statement.currency)
            for cents in (opening, booked, opening + booked, closing)
        ]
        yield (
            f"The opening balance {shown[0]} and the booked entries {shown[1]} make {shown[2]}, "
            f"but the closing balance is {shown[3]}."
        )
