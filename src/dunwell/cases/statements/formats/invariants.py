"""Check the sums of a statement. An entry is the sum of its transactions and charges; the opening
balance plus the entries is the closing balance. A statement that breaks one of these rules is held
until a person has looked at it. Pure."""

from collections.abc import Iterator

from dunwell.cases.statements.formats.coded_text import CodedText, build_amount
from dunwell.cases.statements.formats.problems import build_problem
from dunwell.cases.statements.formats.statement import (
    BankEntry,
    BankStatement,
    EntryStatus,
    StatementKind,
)
from dunwell.platform.text.shape import shorten


def find_broken_invariants(statement: BankStatement) -> tuple[CodedText, ...]:
    """Return a problem for each invariant that the statement breaks. A statement without such a
    problem may be booked."""
    return (*_check_entries(statement), *_check_balances(statement))


def _check_entries(statement: BankStatement) -> Iterator[CodedText]:
    for number, entry in enumerate(statement.entries, 1):
        if entry.status is not EntryStatus.BOOK:
            continue
        name = str(number)
        if entry.bank_reference:
            name += f" ({shorten(entry.bank_reference)})"
        if entry.currency != statement.currency:
            yield build_problem(
                "ENTRY_CURRENCY", entry=name, currency=entry.currency,
                expected=statement.currency or "?",
            )  # fmt: skip
        total = compute_details_total(entry)
        if total is not None and total + entry.charges_cents != entry.amount_cents:
            yield build_problem(
                "ENTRY_SUM", entry=name, amount=build_amount(entry.amount_cents, entry.currency),
                transactions=build_amount(total, entry.currency),
                charges=build_amount(entry.charges_cents, entry.currency),
            )  # fmt: skip


def compute_details_total(entry: BankEntry) -> int | None:
    """Return the sum of an entry's transactions, None if it has none or an amount is unknown."""
    cents = [detail.amount_cents for detail in entry.details]
    known = [each for each in cents if each is not None]
    return sum(known) if known and len(known) == len(cents) else None


def _check_balances(statement: BankStatement) -> Iterator[CodedText]:
    """Yield a problem if the balances do not fit the entries. Only a statement of booked entries
    has reliable balances."""
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
            build_amount(cents, statement.currency)
            for cents in (opening, booked, opening + booked, closing)
        ]
        yield build_problem(
            "BALANCES", opening=shown[0], booked=shown[1], total=shown[2], closing=shown[3]
        )
