"""Read MT940 statements and MT942 reports of SWIFT with the library mt-940, and correct what it
misreads.

The library splits the fields; the structured field 86 is that of German banks. The library ignores
statement lines that it does not recognise; such a file is refused here. Pure.
"""

import io
import itertools
import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import mt940

from dunwell.cases.statements.formats.amounts import (
    WrittenAmount,
    check_currency,
    parse_unsigned_amount,
)
from dunwell.cases.statements.formats.statement import (
    NO_BALANCE,
    BankEntry,
    BankFileRefused,
    BankStatement,
    EntryDetail,
    EntryStatus,
    FilePlace,
    StatementKind,
    clean_text,
    normalize_bank_reference,
    normalize_iban,
)
from dunwell.platform.text.codes import is_iban

# The library logs the values that it cannot read, which are personal data.
logging.getLogger("mt940").setLevel(logging.CRITICAL + 1)

_START = re.compile(r"^:20:", re.MULTILINE)
_LINES = re.compile(r"^[ \t]*:61:", re.MULTILINE)
_SHOWS_FORMAT = re.compile(r"^:(?:25[A-Z]?|28C?|60[FM]|61):", re.MULTILINE)
# The end of a SWIFT envelope, "-}{5:...}".
_TRAILER = re.compile(r"^-\}.*$", re.MULTILINE)
# A field 86 after the closing balance is about the statement, not about its last entry.
_STATEMENT_TEXT = re.compile(
    r"(^:62[FM]?:[^\n]*\n(?:^:6[45]:[^\n]*\n)*)^:86:[\s\S]*?(?=^:[0-9]{2}[A-Z]?:|\Z)", re.MULTILINE
)
# At most 15 characters; the library would cut off the rest.
_AMOUNT = re.compile(r"(?=.{1,15}$)[0-9]+(?:,[0-9]*)?", re.ASCII)
# Some banks wrap lines inside a tag and before the amount.
_WRAPPED_TAG = re.compile(r"^:\n(?=(?:[0-9]{2}[A-Z]?|NS):)", re.MULTILINE)
_WRAPPED_AMOUNT = re.compile(
    r"^(:61:[0-9]{6}(?:[0-9]{4})?R?[CD][A-Z]?)\n(?=[0-9])", re.MULTILINE | re.IGNORECASE
)
# The library cuts the account off after 35 characters.
_ACCOUNT = re.compile(r"^:25[A-Z]?:([^\n]*)", re.MULTILINE)
_MONEY_FIELDS = re.compile(r"^:(?P<tag>61|6[02][FM]?):(?P<value>[^\n]*)", re.MULTILINE)
# An amount ends at the letter of the transaction type.
_ENTRY_START = re.compile(
    r"[0-9]{6}(?:[0-9]{4}|\s{4})?R?[CD][A-Z]?\s?(?P<amount>[^A-Z]*)(?:[A-Z].*)?",
    re.IGNORECASE | re.ASCII,
)
_BALANCE = re.compile(r"[CD][0-9]{6}[A-Z]{3}(?P<amount>.*?)\s*", re.IGNORECASE | re.ASCII)
_DEFAULTS = mt940.models.Transactions.DEFAULT_PROCESSORS
_OPENINGS = ("final_opening_balance", "intermediate_opening_balance", "opening_balance")
_CLOSINGS = ("final_closing_balance", "intermediate_closing_balance", "closing_balance")
# The German business transaction codes of returned direct debits and transfers.
_RETURN_CODES = frozenset({"108", "109", "159", "181", "182", "183", "184"})
_NO_REASON = "000"
# Without a transaction type, the library overwrites a statement line with the next one.
_UNKNOWN_TYPE = "NMSC"
_ORIGINAL = re.compile(r"/OCMT/([A-Z]{3})([0-9]+(?:,[0-9]*)?)/")


def is_mt940(text: str) -> bool:
    """Return whether a text has the fields of an MT940 or MT942 message."""
    return _START.search(text) is not None and _SHOWS_FORMAT.search(text) is not None


def parse_mt940(text: str, place: FilePlace) -> tuple[BankStatement, ...]:
    """Return the statements of a file, whose lines end with line feeds. Raises BankFileRefused if a
    field cannot be read."""
    text = _TRAILER.sub("-", text)
    text = _WRAPPED_AMOUNT.sub(r"\1", _WRAPPED_TAG.sub(":", text))
    starts = [found.start() for found in _START.finditer(text)]
    if _LINES.search(text[: starts[0]]):
        raise place.refuse("LINES_BEFORE_START")
    blocks = [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    return tuple(_parse_block(block, place) for block in blocks)


def _parse_block(block: str, place: FilePlace) -> BankStatement:
    place = replace(place, statement=clean_text(block.partition("\n")[0][4:]))
    count = len(_LINES.findall(block))
    block = _STATEMENT_TEXT.sub(r"\1", block)
    _check_amounts(block, place)
    try:
        # A stream, because the library opens a file if a text is the name of one.
        (parsed,) = mt940.parse_statements(
            io.StringIO(block),
            options=mt940.Options.all(),
            tags={61: mt940.tags.StatementGLS()},
            processors={"pre_statement": [*_DEFAULTS["pre_statement"], _add_type]},
        )
    except RuntimeError as error:
        raise _explain_unreadable_field(error, place) from None
    except (ArithmeticError, ValueError, TypeError, KeyError, AttributeError):
        raise place.refuse("MT940_FIELD") from None
    if len(parsed) != count:
        raise place.refuse("MT940_LINES", lines=count, read=len(parsed))
    account = _ACCOUNT.search(block)
    return _build_statement(parsed, account[1] if account else "", place)


def _check_amounts(block: str, place: FilePlace) -> None:
    """Raise BankFileRefused if an amount is malformed. The library would read "1.000,00" as 1."""
    entries = itertools.count(1)
    for field in _MONEY_FIELDS.finditer(block):
        is_entry = field["tag"] == "61"
        here = replace(place, entry=str(next(entries))) if is_entry else place
        found = (_ENTRY_START if is_entry else _BALANCE).fullmatch(field["value"])
        if found is None:
            raise here.refuse_value(
                f":{field['tag']}:",
                field["value"],
                "MT940_FORM",
            )
        if _AMOUNT.fullmatch(found["amount"]) is None:
            raise here.refuse_value(
                f":{field['tag']}:", found["amount"],
                "MT940_AMOUNT",
            )  # fmt: skip


def _add_type(
    _: mt940.models.Transactions, _tag: mt940.tags.Tag, fields: dict[str, Any], *_more: Any
) -> dict[str, Any]:
    return fields | {"id": fields.get("id") or _UNKNOWN_TYPE}


def _explain_unreadable_field(error: RuntimeError, place: FilePlace) -> BankFileRefused:
    """Return the refusal for a field that the library cannot read. The library raises
    RuntimeError(message, tag, value)."""
    if len(error.args) != 3:
        return place.refuse("MT940_FIELD")
    _, tag, value = error.args
    return place.refuse_value(f":{tag.id}:", " ".join(value.split()), "MT940_FORM")


def _build_statement(
    parsed: mt940.models.Transactions, account: str, place: FilePlace
) -> BankStatement:
    currency = check_currency(":60F:", parsed.currency, place)
    opening, opened_on = _find_balance(parsed.data, _OPENINGS, currency, place)
    closing, closed_on = _find_balance(parsed.data, _CLOSINGS, currency, place)
    account = (clean_text(account) or "").replace(" ", "")
    if not account:
        raise place.refuse_value(":25:", None, "NO_ACCOUNT")
    iban = _find_iban(account, currency)
    number = parsed.data.get("statement_number")
    parts = [place.statement, number, parsed.data.get("sequence_number")]
    return BankStatement(
        kind=StatementKind.REPORT if opening is None else StatementKind.STATEMENT,
        statement_id="/".join(filter(None, parts)),
        iban=iban,
        account_number=None if iban else account,
        currency=currency,
        entries=tuple(
            _build_entry(each.data, currency, replace(place, entry=str(number)))
            for number, each in enumerate(parsed, 1)
        ),
        period_from=opened_on,
        period_to=closed_on,
        opening_cents=opening,
        closing_cents=closing,
        problems=(NO_BALANCE,) if opening is not None and closing is None else (),
    )


def _find_balance(
    data: Mapping[str, Any], names: tuple[str, ...], currency: str, place: FilePlace
) -> tuple[int | None, date | None]:
    balance = next((data[name] for name in names if name in data), None)
    if balance is None:
        return None, None
    return _convert(":60:/:62:", balance.amount.amount, currency, place), _plain(balance.date)


def _find_iban(account: str, currency: str) -> str | None:
    """Find the IBAN in "COBADEFFXXX/DE89...", "NL91ABNA0417164300EUR" and the like."""
    for part in (account, account.rpartition("/")[2]):
        iban = (normalize_iban(part) or "").removesuffix(currency)
        if is_iban(iban):
            return iban
    return None


def _build_entry(data: Mapping[str, Any], currency: str, place: FilePlace) -> BankEntry:
    amount = _convert(":61:", data["amount"].amount, currency, place)
    detail, charges = _build_detail(data, amount, currency, place)
    return BankEntry(
        amount_cents=amount,
        currency=currency,
        status=EntryStatus.BOOK,
        booked_on=_plain(data.get("entry_date") or data["date"]),
        value_on=_plain(data["date"]),
        bank_reference=normalize_bank_reference(_find(data, "bank_reference")),
        is_reversal=(data.get("status") or "").upper().startswith("R"),
        charges_cents=charges,
        transaction_code=_find(data, "transaction_code") or _find(data, "id"),
        additional_text=_find(data, "extra_details"),
        details=(detail,),
    )


def _build_detail(
    data: Mapping[str, Any], amount: int, currency: str, place: FilePlace
) -> tuple[EntryDetail, int]:
    """Return the transaction of an entry, and its charges."""
    is_return = data.get("transaction_code") in _RETURN_CODES
    original = _find_original(data, amount, currency, place) if is_return else amount
    reason = _find(data, "return_debit_notes")
    texts = [_find(data, name) or "" for name in ("purpose", "additional_purpose")]
    if not any(texts):
        texts = (data.get("transaction_details") or "").splitlines()
    iban = normalize_iban(_find(data, "applicant_iban") or _find(data, "gvc_applicant_iban"))
    customer_reference = (data.get("customer_reference") or "").splitlines() or [""]
    detail = EntryDetail(
        amount_cents=original,
        end_to_end_id=normalize_bank_reference(_find(data, "end_to_end_reference")),
        mandate_id=_find(data, "additional_position_reference"),
        instruction_id=normalize_bank_reference(clean_text(customer_reference[-1])),
        remittance_lines=tuple(filter(None, map(clean_text, texts))),
        additional_text=_find(data, "posting_text"),
        counterparty_name=_find(data, "applicant_name"),
        counterparty_iban=iban if iban and is_iban(iban) else None,
        return_reason=reason if is_return and reason != _NO_REASON else None,
        transaction_code=_find(data, "transaction_code"),
    )
    return detail, amount - original


def _find_original(data: Mapping[str, Any], amount: int, currency: str, place: FilePlace) -> int:
    """Return the signed amount of a returned payment without the bank's charges."""
    found = _ORIGINAL.search(data.get("extra_details") or "")
    written = _find(data, "original_amount") or (
        found[2] if found is not None and found[1] == currency else None
    )
    if written is None:
        return amount
    if _AMOUNT.fullmatch(written) is None:
        raise place.refuse_value(
            ":86: OAMT", written,
            "ORIGINAL_AMOUNT",
        )  # fmt: skip
    text = written.replace(",", ".")
    original = parse_unsigned_amount(WrittenAmount(":86: OAMT", text, currency), place)
    if original > abs(amount):
        return amount
    return original if amount >= 0 else -original


def _find(data: Mapping[str, Any], name: str) -> str | None:
    return clean_text(data.get(name))


def _convert(element: str, amount: Decimal, currency: str, place: FilePlace) -> int:
    cents = parse_unsigned_amount(WrittenAmount(element, f"{abs(amount):f}", currency), place)
    return -cents if amount < 0 else cents


def _plain(day: date | None) -> date | None:
    """Return a day as a `date` of the standard library. The class of the library inherits from
    `date`."""
    return None if day is None else date(day.year, day.month, day.day)
