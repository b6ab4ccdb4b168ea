"""Read camt.053, camt.054 and camt.052 of ISO 20022 in any version.

Elements are found by their local names. Banks send files that do not validate: what can be read
without doubt is read, and the statement names the problems. If an amount, its sign or its currency
cannot be read, the file is refused. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date

from dunwell.cases.statements.formats.amounts import (
    WrittenAmount,
    check_currency,
    parse_iso_day,
    parse_unsigned_amount,
)
from dunwell.cases.statements.formats.camt_details import (
    SIGNS,
    EntryFacts,
    find_only_child,
    find_transaction_code,
    parse_charges,
    parse_detail,
)
from dunwell.cases.statements.formats.coded_text import CodedText, build_day
from dunwell.cases.statements.formats.problems import build_problem
from dunwell.cases.statements.formats.statement import (
    NO_BALANCE,
    BankEntry,
    BankStatement,
    EntryDetail,
    EntryStatus,
    FilePlace,
    StatementKind,
    normalize_bank_reference,
    normalize_iban,
)
from dunwell.cases.statements.formats.xml_document import (
    XmlElement,
    find_child,
    find_text,
    list_children,
)
from dunwell.platform.text.codes import is_iban
from dunwell.platform.text.shape import shorten

# The message's element in a Document -> (the element of each statement, its kind). Version .01 adds
# "V01" to the name.
_MESSAGES = {
    "BkToCstmrStmt": ("Stmt", StatementKind.STATEMENT),
    "BkToCstmrDbtCdtNtfctn": ("Ntfctn", StatementKind.DETAILS),
    "BkToCstmrAcctRpt": ("Rpt", StatementKind.REPORT),
}
_STATUSES = {
    "BOOK": EntryStatus.BOOK,
    "PDNG": EntryStatus.PDNG,
    "FUTR": EntryStatus.PDNG,
    "INFO": EntryStatus.INFO,
}
# The balances that open and close a statement, the surest first. A statement in several parts has
# intermediate balances (ITBD): the first one opens a part, the last one closes it.
_OPENING, _CLOSING, _INTERMEDIATE = ("OPBD", "PRCD"), ("CLBD",), "ITBD"


@dataclass(frozen=True, slots=True)
class _StatementFacts:
    """What the entries of a statement inherit from it, and the problems found so far."""

    place: FilePlace
    currency: str | None
    iban: str | None
    # The day of a booked entry that has no date of its own.
    day: date | None
    problems: list[CodedText] = field(default_factory=list)


def list_messages(root: XmlElement) -> Sequence[XmlElement]:
    """Return the camt messages of a document. Some banks wrap them in an envelope."""
    return root.list_all(f"{name}{end}" for name in _MESSAGES for end in ("", "V01"))


def parse_camt(
    messages: Sequence[XmlElement], place: FilePlace, problems: tuple[CodedText, ...] = ()
) -> tuple[BankStatement, ...]:
    """Return the statements of the messages that `list_messages` returned. `problems` of the file
    are added to each statement.

    Raises BankFileRefused if an amount, its sign, its currency or an account cannot be read.
    """
    found = []
    for message in messages:
        name, kind = _MESSAGES[message.name.removesuffix("V01")]
        found += [(element, kind) for element in list_children(message, name)]
    if not found:
        raise place.refuse("NO_STATEMENT")
    return tuple(
        _parse_statement(element, kind, FilePlace(place.file, f"#{number}"), problems)
        for number, (element, kind) in enumerate(found, 1)
    )


def _parse_statement(
    element: XmlElement, kind: StatementKind, place: FilePlace, of_file: tuple[CodedText, ...]
) -> BankStatement:
    statement_id = find_text(element, "Id")
    place = FilePlace(place.file, statement_id or place.statement)
    problems = [*of_file]
    if statement_id is None:
        problems.append(build_problem("NO_ID"))
    iban, account_number = _parse_account(element, place, problems)
    period = [
        parse_iso_day(find_text(element, f"FrToDt/{end}DtTm", f"FrToDt/{end}Dt"))
        for end in ("Fr", "To")
    ]
    created_on = parse_iso_day(find_text(element, "CreDtTm"))
    facts = _StatementFacts(
        place, _find_currency(element, place), iban, day=period[1] or created_on, problems=problems
    )
    entries = tuple(
        _parse_entry(each, facts, number)
        for number, each in enumerate(list_children(element, "Ntry"), 1)
    )
    counted = find_text(element, "TxsSummry/TtlNtries/NbOfNtries")
    if counted is not None and counted.lstrip("0") != str(len(entries) or ""):
        problems.append(build_problem("ENTRY_COUNT", counted=shorten(counted), found=len(entries)))
    opening, closing = _parse_balances(element, facts)
    if kind is StatementKind.STATEMENT and None in (opening, closing):
        problems.append(NO_BALANCE)
    return BankStatement(
        kind=kind,
        statement_id=place.statement or "",
        iban=iban,
        account_number=account_number,
        currency=facts.currency,
        entries=entries,
        period_from=period[0],
        period_to=period[1],
        created_on=created_on,
        opening_cents=opening,
        closing_cents=closing,
        problems=tuple(problems),
    )


def _parse_account(
    element: XmlElement, place: FilePlace, problems: list[CodedText]
) -> tuple[str | None, str | None]:
    account = find_child(element, "Acct/Id")
    iban = normalize_iban(find_text(account, "IBAN"))
    number = find_text(account, "Othr/Id", "BBAN", "UPIC", "PrtryAcct/Id")
    if iban is None and number is None:
        raise place.refuse_value("Acct/Id", None, "NO_ACCOUNT")
    if iban is not None and not is_iban(iban):
        problems.append(build_problem("WRONG_IBAN", iban=shorten(iban)))
    return iban, number


def _find_currency(element: XmlElement, place: FilePlace) -> str | None:
    currency = find_text(element, "Acct/Ccy")
    for path in ("Bal/Amt", "Ntry/Amt"):
        for amount in list_children(element, path):
            currency = currency or amount.get("Ccy")
    return None if currency is None else check_currency("Acct/Ccy", currency, place)


def _parse_balances(element: XmlElement, facts: _StatementFacts) -> tuple[int | None, int | None]:
    """Return the opening and the closing balance in cents of the account's currency, each None if
    it is missing."""
    found: dict[str, int] = {}
    intermediate: list[int] = []
    for balance in list_children(element, "Bal"):
        code = find_text(balance, "Tp/CdOrPrtry/Cd", "Tp/Cd", "Tp/CdOrPrtry/Prtry")
        amount = find_child(balance, "Amt")
        if code not in (*_OPENING, *_CLOSING, _INTERMEDIATE):
            continue
        if amount is None or amount.get("Ccy", facts.currency) != facts.currency:
            facts.problems.append(build_problem("BALANCE_CURRENCY", balance=code))
            continue
        written = WrittenAmount(f"Bal/Amt of {code}", amount.text, facts.currency)
        cents = _parse_sign(balance, f"Bal/CdtDbtInd of {code}", facts.place) * (
            parse_unsigned_amount(written, facts.place)
        )
        if code == _INTERMEDIATE:
            intermediate.append(cents)
        else:
            found.setdefault(code, cents)
    first, last = (intermediate[0], intermediate[-1]) if len(intermediate) > 1 else (None, None)
    opening = next((found[code] for code in _OPENING if code in found), first)
    closing = next((found[code] for code in _CLOSING if code in found), last)
    return opening, closing


def _parse_entry(element: XmlElement, facts: _StatementFacts, number: int) -> BankEntry:
    reference = normalize_bank_reference(find_text(element, "AcctSvcrRef"))
    name = f"{number} ({shorten(reference)})" if reference else str(number)
    place = FilePlace(facts.place.file, facts.place.statement, name)
    amount = find_only_child(element, "Amt", "Ntry/Amt", place)
    written = None if amount is None else amount.text
    own_currency = None if amount is None else amount.get("Ccy")
    if amount is not None and own_currency is None:
        facts.problems.append(build_problem("NO_CURRENCY", entry=name))
    currency = check_currency("Ntry/Amt/@Ccy", own_currency or facts.currency, place)
    cents = parse_unsigned_amount(WrittenAmount("Ntry/Amt", written, currency), place)
    signed = cents * _parse_sign(element, "Ntry/CdtDbtInd", place)
    status = _parse_status(element, name, facts)
    batch = find_text(element, "NtryDtls/Btch/PmtInfId", "Btch/PmtInfId")
    is_reversal = find_text(element, "RvslInd") in ("true", "1")
    entry = EntryFacts(
        place, signed, currency,
        account_iban=facts.iban, is_reversal=is_reversal, payment_information_id=batch,
    )  # fmt: skip
    details, detail_charges = _parse_details(element, entry, facts, name)
    own_charges = parse_charges(element, currency, place)
    return BankEntry(
        amount_cents=signed,
        currency=currency,
        status=status,
        booked_on=_parse_booking_day(element, status, facts, place),
        value_on=parse_iso_day(find_text(element, "ValDt/Dt", "ValDt/DtTm", "ValDt")),
        bank_reference=reference,
        is_reversal=is_reversal,
        charges_cents=_choose_charges(signed, details, (detail_charges, own_charges)),
        transaction_code=find_transaction_code(element),
        payment_information_id=batch,
        additional_text=find_text(element, "AddtlNtryInf"),
        details=details,
    )


def _parse_details(
    element: XmlElement, entry: EntryFacts, facts: _StatementFacts, name: str
) -> tuple[tuple[EntryDetail, ...], int]:
    """Return the transactions of an entry, and the sum of their charges."""
    found = [*list_children(element, "NtryDtls/TxDtls"), *list_children(element, "TxDtls")]
    parsed = [parse_detail(each, entry, is_only=len(found) == 1) for each in found]
    counted = find_text(element, "NtryDtls/Btch/NbOfTxs", "Btch/NbOfTxs")
    groups = sum(1 for _ in list_children(element, "NtryDtls"))
    if found and counted and groups == 1 and counted.lstrip("0") != str(len(found)):
        facts.problems.append(
            build_problem("BATCH_COUNT", entry=name, counted=shorten(counted), found=len(found))
        )
    return tuple(detail for detail, _ in parsed), sum(charges for _, charges in parsed)


def _choose_charges(
    amount_cents: int, details: Sequence[EntryDetail], charges: tuple[int, int]
) -> int:
    """Return the charges that are part of an entry's amount. Banks give charges with the entry,
    with its transactions, or with both, and also if the charges are booked separately."""
    of_details, of_entry = charges
    if not details:
        return of_entry
    cents = [detail.amount_cents for detail in details if detail.amount_cents is not None]
    if len(cents) == len(details):
        difference = amount_cents - sum(cents)
        if difference in (0, of_entry, of_details, of_entry + of_details):
            return difference
    return of_details or of_entry


def _parse_sign(element: XmlElement, name: str, place: FilePlace) -> int:
    find_only_child(element, "CdtDbtInd", name, place)
    code = find_text(element, "CdtDbtInd")
    if code not in SIGNS:
        raise place.refuse_value(name, code, "SIGN")
    return SIGNS[code]


def _parse_status(element: XmlElement, name: str, facts: _StatementFacts) -> EntryStatus:
    code = find_text(element, "Sts/Cd", "Sts/Prtry", "Sts") or ""
    if code not in _STATUSES:
        facts.problems.append(
            build_problem("UNKNOWN_STATUS", entry=name, code=shorten(code) or "(none)")
        )
    return _STATUSES.get(code, EntryStatus.INFO)


def _parse_booking_day(
    element: XmlElement, status: EntryStatus, facts: _StatementFacts, place: FilePlace
) -> date | None:
    text = find_text(element, "BookgDt/Dt", "BookgDt/DtTm", "BookgDt")
    day = parse_iso_day(text)
    if day is not None or status is not EntryStatus.BOOK:
        return day
    other = parse_iso_day(find_text(element, "ValDt/Dt", "ValDt/DtTm", "ValDt")) or facts.day
    if other is None:
        raise place.refuse_value("Ntry/BookgDt", text, "NO_DAY")
    facts.problems.append(
        build_problem("NO_BOOKING_DATE", entry=place.entry or "", day=build_day(other))
    )
    return other
