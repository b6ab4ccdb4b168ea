"""What is wrong in a file of a bank, by code: why it was refused, why a statement is held, and what
did not prevent reading it. Pure.
"""

from collections.abc import Iterable

from dunwell.cases.statements.formats.coded_text import CodedText, Fact, Texts, load_text
from dunwell.platform.text.translation import LazyText

# Where in a file: the parts of a refusal.
_PLACES: Texts = {
    "FILE": LazyText("%(file)s"),
    "STATEMENT": LazyText("%(file)s, statement %(statement)s"),
    "ENTRY": LazyText("%(file)s, statement %(statement)s, entry %(entry)s"),
    "TRANSACTION": LazyText("%(file)s, entry %(entry)s"),
    "COLUMN": LazyText('column "%(column)s"'),
    "COLUMN_NUMBER": LazyText("column %(column)s"),
    "EITHER_COLUMN": LazyText("%(first)s or %(second)s"),
    "REFUSED": LazyText("%(place)s: %(reason)s"),
    "VALUE_MISSING": LazyText(
        "%(place)s: %(element)s is missing. %(reason)s Nothing from this file was imported."
    ),
    "VALUE_WRONG": LazyText(
        '%(place)s: %(element)s is "%(value)s". %(reason)s Nothing from this file was imported.'
    ),
}
_CONTAINERS: Texts = {
    "TOO_MANY_BYTES": LazyText("A file has at most %(limit)s bytes. Import shorter periods."),
    "EMPTY_FILE": LazyText("The file is empty. Fetch it from the bank again."),
    "PDF": LazyText(
        "This is a PDF, which cannot be read reliably. Export the statement from the bank as "
        "camt.053 or CSV."
    ),
    "EXCEL": LazyText(
        "This is a workbook of Excel. Export the statement from the bank as camt.053 or CSV."
    ),
    "WORKBOOK": LazyText(
        "This is a workbook of Excel or another program. Export the statement from the bank as "
        "camt.053 or CSV."
    ),
    "GZIP": LazyText("The file is packed with gzip. Unpack it, or pack it as ZIP."),
    "SEVEN_ZIP": LazyText("The file is packed as 7z. Unpack it, or pack it as ZIP."),
    "UNKNOWN_FORMAT": LazyText(
        "The file is not camt.053, camt.054, camt.052 or MT940. If it is CSV, save a mapping for "
        "the account first, and choose the account when you import it."
    ),
    "ORDER_TO_PAY": LazyText(
        "This is an order to pay (pain.001), not a statement. Export the statement from the bank "
        "as camt.053 or CSV."
    ),
    "ORDER_TO_COLLECT": LazyText(
        "This is an order to collect (pain.008), not a statement. Export the statement from the "
        "bank as camt.053 or CSV."
    ),
    "OTHER_XML": LazyText(
        "The XML is %(names)s, which is not a statement. Export the statement from the bank as "
        "camt.053 or CSV."
    ),
    "TOO_MANY_ARCHIVES": LazyText(
        "An archive inside an archive must not contain further archives. Unpack them."
    ),
    "TOO_MANY_FILES": LazyText("An archive has at most %(limit)s files. Divide it."),
    "DAMAGED_ARCHIVE": LazyText("The ZIP archive is damaged. Fetch it from the bank again."),
    "EMPTY_ARCHIVE": LazyText("The archive is empty. Fetch it from the bank again."),
    "HAS_PASSWORD": LazyText(
        "The file is protected by a password. Unpack it and import its files."
    ),
    "UNUSUAL_PACKING": LazyText(
        "The file is packed in an unusual way. Pack it as a standard ZIP file."
    ),
    "DAMAGED_MEMBER": LazyText("The file is damaged. Fetch the archive again."),
    "TOO_LARGE_UNPACKED": LazyText(
        "The file is too large when it is unpacked. Import shorter periods, one file at a time."
    ),
    "DAMAGED_FILE": LazyText("The file is damaged. Ask the bank for it again."),
    "INTERNAL": LazyText("The file cannot be imported. Ask the operator to check the log."),
}
_XML: Texts = {
    "DOCUMENT_TYPE": LazyText(
        "The XML has a document type declaration, which no message of a bank has. It may be an "
        "attack. Ask the bank for the file again."
    ),
    "TOO_MANY_ELEMENTS": LazyText("The XML has too many elements. Ask the bank for files by day."),
    "DAMAGED_XML": LazyText("The XML is damaged (%(why)s). Ask the bank for it again."),
    "UNKNOWN_ENCODING": LazyText(
        "The encoding %(encoding)s is not supported. Ask the bank for files in UTF-8."
    ),
    "OTHER_ENCODING": LazyText("The file is not %(encoding)s; it was read as Windows-1252."),
    "NO_STATEMENT": LazyText(
        "The message contains no statement. Ask the bank for a corrected file."
    ),
    "NO_ORDER": LazyText(
        "Without it, it is not known which payment file this is about. Ask the bank for a "
        "corrected file."
    ),
}
_VALUES: Texts = {
    "XML_AMOUNT": LazyText(
        "An amount consists of digits without a minus sign, with a point before the decimals. Ask "
        "the bank for a corrected file."
    ),
    "MT940_AMOUNT": LazyText(
        "An amount has at most 15 digits, and a comma before the decimals. Ask the bank for a "
        "corrected file."
    ),
    "ORIGINAL_AMOUNT": LazyText(
        "An amount consists of digits, with a comma before the decimals. Ask the bank for a "
        "corrected file."
    ),
    "COMMA_AMOUNT": LazyText(
        "The mapping expects an amount with a decimal comma. Correct the mapping or the file."
    ),
    "POINT_AMOUNT": LazyText(
        "The mapping expects an amount with a decimal point. Correct the mapping or the file."
    ),
    "TOO_MANY_DECIMALS": LazyText(
        "%(currency)s has %(digits)s decimals, and nothing is rounded. Ask the bank for a "
        "corrected file."
    ),
    "TOO_MANY_DIGITS": LazyText(
        "An amount has at most %(limit)s digits. Ask the bank for a corrected file."
    ),
    "CURRENCY_CODE": LazyText(
        "It has to be a currency code, such as EUR. Ask the bank for a corrected file."
    ),
    "CSV_CURRENCY": LazyText(
        "It has to be a currency code, such as EUR. Correct the mapping or the file."
    ),
    "NO_ACCOUNT": LazyText(
        "A statement has to name its account. Ask the bank for a corrected file."
    ),
    "SIGN": LazyText(
        "It has to be CRDT or DBIT; otherwise the sign is unknown. Ask the bank for a corrected "
        "file."
    ),
    "SEVERAL_VALUES": LazyText("It occurs more than once. Ask the bank for a corrected file."),
    "DIVIDED_VALUE": LazyText("It contains other elements. Ask the bank for a corrected file."),
    "NO_DAY": LazyText("A booked entry has to have a date. Ask the bank for a corrected file."),
    "CSV_DIRECTION": LazyText(
        "It has to be S or H, D or C, DBIT or CRDT, and the amount without a sign. Correct the "
        "mapping or the file."
    ),
    "ONE_AMOUNT": LazyText(
        "Exactly one of them has to have an amount. Correct the mapping or the file."
    ),
    "CSV_DATE": LazyText(
        "The mapping expects a date as %(format)s. Correct the mapping or the file."
    ),
    "MT940_FORM": LazyText("This is not valid MT940. Ask the bank for a corrected file."),
}
_CSV_AND_MT940: Texts = {
    "NO_HEADER": LazyText("The file has no header. Correct the skipped rows of the mapping."),
    "CSV_ENCODING": LazyText(
        "The file is not in the mapping's encoding, %(encoding)s. Choose another encoding in the "
        "mapping."
    ),
    "NO_TEXT": LazyText("The file is not a text file. Export it from the bank as CSV."),
    "TOO_MANY_ROWS": LazyText("The file has more than %(limit)s rows. Export shorter periods."),
    "DAMAGED_ROW": LazyText("Row %(row)s cannot be read as CSV (%(why)s). Export it again."),
    "TWO_COLUMNS": LazyText(
        'The file has two columns "%(column)s". Name it by its number in the mapping.'
    ),
    "NO_COLUMN": LazyText(
        'The file has no column "%(column)s". Correct the name, or the skipped rows, in the '
        "mapping."
    ),
    "LINES_BEFORE_START": LazyText(
        "There are statement lines (:61:) before the first statement (:20:). Ask the bank for a "
        "corrected file."
    ),
    "MT940_FIELD": LazyText("A field of MT940 cannot be read. Ask the bank for a corrected file."),
    "MT940_LINES": LazyText(
        "There are %(lines)s statement lines (:61:), of which only %(read)s can be read. Ask the "
        "bank for a corrected file."
    ),
}
_STATEMENTS: Texts = {
    "NO_BALANCE": LazyText(
        "The opening or closing balance is missing, so the sum of the entries was not checked."
    ),
    "NO_ID": LazyText("The statement has no Id."),
    "ENTRY_COUNT": LazyText("The summary counts %(counted)s entries; there are %(found)s."),
    "WRONG_IBAN": LazyText("The account's IBAN %(iban)s is not valid."),
    "BALANCE_CURRENCY": LazyText("The balance %(balance)s is not in the account's currency."),
    "NO_CURRENCY": LazyText(
        "Entry %(entry)s: Amt has no currency; the account's currency is used."
    ),
    "BATCH_COUNT": LazyText(
        "Entry %(entry)s: the batch counts %(counted)s transactions; there are %(found)s."
    ),
    "UNKNOWN_STATUS": LazyText(
        "Entry %(entry)s: the status %(code)s is unknown; the entry is shown and not booked."
    ),
    "NO_BOOKING_DATE": LazyText("Entry %(entry)s has no booking date; %(day)s is used."),
    "NOTIFIED_AMOUNT": LazyText(
        "The notification of entry %(entry)s is about %(notified)s, the entry about %(amount)s; "
        "its details were not used."
    ),
    "RESEMBLES": LazyText(
        "Entry %(entry)s of %(amount)s, booked on %(booked_on)s, has the same reference and "
        "amount as an entry of %(day)s. A user has to decide whether it is another payment."
    ),
    "OTHER_ACCOUNT": LazyText(
        "Statement %(statement)s belongs to account %(account)s, which is not an account of this "
        "merchant. It was not imported."
    ),
    "CLOSED_ACCOUNT": LazyText(
        "Statement %(statement)s belongs to the bank account %(account)s, which is closed. It was "
        "not imported."
    ),
    "OF_STATEMENT": LazyText("%(statement)s: %(problem)s"),
    "MATCHING_FAILED": LazyText(
        "This entry could not be matched because of an error. Assign it by hand, and ask the "
        "operator to check the log."
    ),
    "HELD": LazyText("%(statement)s is held: %(problem)s"),
}
# A statement with one of these is held until a person has looked at it.
_INVARIANTS: Texts = {
    "ENTRY_CURRENCY": LazyText(
        "Entry %(entry)s is in %(currency)s, but the account is in %(expected)s."
    ),
    "ENTRY_SUM": LazyText(
        "Entry %(entry)s is %(amount)s, but its transactions add up to %(transactions)s and its "
        "charges to %(charges)s."
    ),
    "BALANCES": LazyText(
        "The opening balance %(opening)s and the booked entries %(booked)s add up to %(total)s, "
        "but the closing balance is %(closing)s."
    ),
}
PROBLEM_TEXTS: Texts = (
    dict(_PLACES)
    | dict(_CONTAINERS)
    | dict(_XML)
    | dict(_VALUES)
    | dict(_CSV_AND_MT940)
    | dict(_STATEMENTS)
    | dict(_INVARIANTS)
)


def build_problem(code: str, /, **facts: Fact) -> CodedText:
    """Return the text of a problem. Raises KeyError."""
    return CodedText.build(PROBLEM_TEXTS, code, **facts)


def list_holding_problems(problems: Iterable[str]) -> list[str]:
    """Return the problems because of which a statement is held."""
    return [each for each in problems if isinstance(each, CodedText) and each.code in _INVARIANTS]


def load_problem(stored: object) -> str:
    """Return a problem that was stored (`dump_text`)."""
    return load_text(PROBLEM_TEXTS, stored)
