"""The values that every reader of bank files returns: statements, their entries, and the details of
entries. Amounts are integer minor units, positive for money that arrives. Pure.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from dunwell.cases.statements.formats.coded_text import CodedText, Fact
from dunwell.cases.statements.formats.problems import build_problem
from dunwell.platform.errors import InvalidRequest
from dunwell.platform.text.shape import shorten
from dunwell.platform.text.wire import UNPRINTABLE

_NO_REFERENCE = frozenset({"", "NONREF", "NOREF", "NOTPROVIDED", "NOT PROVIDED", "N/A"})

# A shorter number could be the end of several IBANs.
_MIN_ACCOUNT_DIGITS = 7
_MAX_TEXT = 1_000
# The problem of a statement of booked entries whose sum cannot be checked.
NO_BALANCE = build_problem("NO_BALANCE")
_NATIONAL_NUMBER = re.compile(r"(?:(?P<bank>[0-9]{8})/)?0*(?P<account>[0-9]{1,10})(?:[A-Z]{3})?")


class BankFileRefused(InvalidRequest):
    """A file of a bank, or one file of a ZIP archive, of which nothing can be used. `details` has
    the place as far as it is known: file, statement, entry, element, value."""

    def __init__(self, problem: CodedText, **details: str | None) -> None:
        super().__init__(problem, **details)
        self.problem = problem


@dataclass(frozen=True, slots=True)
class FilePlace:
    """Where a reader is in a file, for messages."""

    file: str
    # The statement's id, or its number in the file as "#2".
    statement: str | None = None
    # The entry's number in the statement, with the bank's reference if it has one.
    entry: str | None = None

    def describe(self) -> CodedText:
        """Return the place in words."""
        facts = {"file": self.file}
        if self.statement is not None:
            facts["statement"] = shorten(self.statement)
        if self.entry is None:
            return build_problem("FILE" if self.statement is None else "STATEMENT", **facts)
        code = "TRANSACTION" if self.statement is None else "ENTRY"
        return build_problem(code, **facts, entry=self.entry)

    def refuse(self, reason: str, /, **facts: Fact) -> BankFileRefused:
        """Build the refusal of the whole file. `reason` is the code of a problem."""
        text = build_problem(
            "REFUSED", place=self.describe(), reason=build_problem(reason, **facts)
        )
        return BankFileRefused(text, **self._list_details())

    def refuse_value(
        self, element: str, value: str | None, reason: str, /, **facts: Fact
    ) -> BankFileRefused:
        """Build the refusal of the whole file because of one value, which is None if it is missing.
        `reason` is the code of a problem."""
        parts = {
            "place": self.describe(), "element": element, "reason": build_problem(reason, **facts),
        }  # fmt: skip
        if value is None:
            text = build_problem("VALUE_MISSING", **parts)
        else:
            text = build_problem("VALUE_WRONG", **parts, value=shorten(value))
        return BankFileRefused(
            text,
            **self._list_details(),
            element=element,
            value=value if value is None else shorten(value, 200),
        )

    def _list_details(self) -> dict[str, str | None]:
        return {"file": self.file, "statement": self.statement, "entry": self.entry}


class StatementKind(StrEnum):
    # camt.053, MT940, CSV: what was booked.
    STATEMENT = "STATEMENT"
    # camt.054: the details of entries that a statement also has.
    DETAILS = "DETAILS"
    # camt.052, MT942: what was booked so far, and what is expected.
    REPORT = "REPORT"


class EntryStatus(StrEnum):
    """How certain an entry is. Only BOOK counts: an entry that is PDNG or INFO can return with
    another text and amount, or not at all."""

    BOOK = "BOOK"
    PDNG = "PDNG"
    INFO = "INFO"


@dataclass(frozen=True, slots=True)
class EntryDetail:
    """One transaction of an entry."""

    # Signed, without the bank's charges. None if the bank does not give it in the account's
    # currency.
    amount_cents: int | None
    # None also where the bank writes NOTPROVIDED.
    end_to_end_id: str | None = None
    mandate_id: str | None = None
    instruction_id: str | None = None
    transaction_id: str | None = None
    # The bank's reference of this transaction, which is not the one of the entry.
    bank_reference: str | None = None
    # The batch of the order that this transaction was part of.
    payment_information_id: str | None = None
    # References with their own field, such as "RF18539007547034" (ISO 11649).
    structured_references: tuple[str, ...] = ()
    # The lines that the payer wrote.
    remittance_lines: tuple[str, ...] = ()
    # What the bank added.
    additional_text: str | None = None
    counterparty_name: str | None = None
    counterparty_iban: str | None = None
    # Why the payment was returned, such as "AC04". None if it was not returned.
    return_reason: str | None = None
    transaction_code: str | None = None

    def list_texts(self) -> Iterator[str]:
        """Yield every text of this transaction, always in the same order."""
        fields = (
            self.end_to_end_id, self.mandate_id, self.instruction_id, self.transaction_id,
            self.bank_reference, self.payment_information_id, *self.structured_references,
            *self.remittance_lines, self.additional_text, self.counterparty_name,
            self.counterparty_iban, self.return_reason,
        )  # fmt: skip
        return (text for text in fields if text)


@dataclass(frozen=True, slots=True)
class BankEntry:
    """One line of a statement: what changed the balance of the account."""

    amount_cents: int
    currency: str
    status: EntryStatus
    # None only if the entry is not booked.
    booked_on: date | None
    value_on: date | None = None
    # The bank's own reference, by which it names the entry in other files.
    bank_reference: str | None = None
    # The entry reverses an earlier one. Its amount already has the right sign.
    is_reversal: bool = False
    # The part of the amount that is the bank's charges, signed: negative for a cost.
    charges_cents: int = 0
    # Domain, family and subfamily such as "PMNT-RCDT-ESCT", or the bank's own code.
    transaction_code: str | None = None
    # The batch of the order that this entry settles.
    payment_information_id: str | None = None
    additional_text: str | None = None
    details: tuple[EntryDetail, ...] = ()

    @property
    def has_payments(self) -> bool:
        """Whether the entry has payments to match. Other entries are only shown."""
        return self.status is EntryStatus.BOOK and self.amount_cents != 0

    def list_texts(self) -> Iterator[str]:
        """Yield every text of the entry except the bank's reference, always in the same order."""
        if self.additional_text:
            yield self.additional_text
        for detail in self.details:
            yield from detail.list_texts()


@dataclass(frozen=True, slots=True)
class BankStatement:
    """A statement of one account, with its entries in the file's order."""

    kind: StatementKind
    statement_id: str
    # Without spaces, in upper case. None if the account has another number.
    iban: str | None
    # The account's number if it is no IBAN, as the bank writes it.
    account_number: str | None
    # ISO 4217. None if the statement has no entries and names no currency.
    currency: str | None
    entries: tuple[BankEntry, ...] = ()
    period_from: date | None = None
    period_to: date | None = None
    created_on: date | None = None
    # None if the bank does not give it; a report has no balances that can be relied on.
    opening_cents: int | None = None
    closing_cents: int | None = None
    # What is wrong in the file and did not prevent reading it.
    problems: tuple[CodedText, ...] = ()

    @property
    def account(self) -> str:
        """The account as the bank names it."""
        return self.iban or self.account_number or ""


def is_statement_of(statement: BankStatement, iban: str) -> bool:
    """Return whether a statement is of the account with this IBAN.

    MT940 often has the national number instead: the German bank code and account number as
    "50080000/1234567", or the account number alone. An IBAN ends with it.
    """
    if statement.iban is not None:
        return statement.iban == iban
    found = _NATIONAL_NUMBER.fullmatch((statement.account_number or "").replace(".", ""))
    if found is None:
        return False
    if found["bank"] is None:
        return len(found["account"]) >= _MIN_ACCOUNT_DIGITS and iban.endswith(found["account"])
    return iban[4:] == found["bank"] + found["account"].rjust(10, "0")


def clean_text(text: str | None) -> str | None:
    """Return a text with single spaces, without control characters, and not longer than 1,000
    characters, None if nothing is left. No field of a bank's message is meant to be longer."""
    cleaned = " ".join((text or "").split())
    if not cleaned.isprintable():
        cleaned = UNPRINTABLE.sub("", cleaned)
    return cleaned[:_MAX_TEXT] or None


def normalize_iban(text: str | None) -> str | None:
    """Return an IBAN without spaces and in upper case."""
    return text.replace(" ", "").upper() if text else None


def normalize_bank_reference(text: str | None) -> str | None:
    """Return the bank's reference, None if it is only a placeholder such as NONREF."""
    if text is None or text.upper() in _NO_REFERENCE or not text.strip("0"):
        return None
    return text
