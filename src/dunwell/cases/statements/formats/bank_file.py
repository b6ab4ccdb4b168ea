"""Read any file of a bank. The content decides the format, never the name.

A ZIP archive is read within bounds, and so is an archive inside it. Each of its files is read or
refused by itself. Pure.
"""

import io
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from dunwell.cases.statements.formats.camt import list_messages, parse_camt
from dunwell.cases.statements.formats.csv_mapping import CsvMapping
from dunwell.cases.statements.formats.csv_statement import parse_csv
from dunwell.cases.statements.formats.payment_status import (
    PaymentStatusReport,
    list_status_messages,
    parse_status_reports,
)
from dunwell.cases.statements.formats.statement import (
    BankFileRefused,
    BankStatement,
    FilePlace,
    clean_text,
)
from dunwell.cases.statements.formats.swift_mt940 import is_mt940, parse_mt940
from dunwell.cases.statements.formats.xml_document import (
    XmlElement,
    parse_xml,
)
from dunwell.platform.text.shape import shorten
from dunwell.platform.text.translation import CountText

MAX_FILE_BYTES = 25_000_000
_MAX_MEMBERS = 200
_MAX_UNPACKED_BYTES = 100_000_000
# A file that repeats one entry 5,000 times is packed to about a fiftieth.
_MAX_RATIO = 250
_MAX_ARCHIVE_DEPTH = 2
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_IS_ENCRYPTED = 0x1
# Each file of an archive has one such signature. Those of an archive inside the archive are counted
# too, so the limit is higher than that of files.
_MEMBER_SIGNATURE, _MAX_SIGNATURES = b"PK\x01\x02", _MAX_MEMBERS * 10
_DAMAGES = (zipfile.BadZipFile, ValueError, OSError, NotImplementedError)
# What operating systems add to archives.
_IGNORED_FOLDER, _IGNORED_NAMES = "__MACOSX/", (".DS_Store", "Thumbs.db")
# The first bytes of files that people upload by mistake.
_OTHER_FILES = {
    b"%PDF": "PDF",
    b"\xd0\xcf\x11\xe0": "EXCEL",
    b"\x1f\x8b": "GZIP",
    b"7z\xbc\xaf": "SEVEN_ZIP",
}
_OTHER_MESSAGES = {
    "CstmrCdtTrfInitn": "ORDER_TO_PAY",
    "CstmrDrctDbtInitn": "ORDER_TO_COLLECT",
}


class BankFileFormat(StrEnum):
    CAMT = "CAMT"
    MT940 = "MT940"
    CSV = "CSV"
    # pain.002: the bank's report on the status of an order.
    PAYMENT_STATUS = "PAYMENT_STATUS"


@dataclass(frozen=True, slots=True)
class BankFile:
    """One file, or one file of an archive: its content, or why it was refused."""

    # The name of the file, after that of its archive: "november.zip/2026-11-27.xml".
    name: str
    format: BankFileFormat | None = None
    statements: tuple[BankStatement, ...] = ()
    status_reports: tuple[PaymentStatusReport, ...] = ()
    refusal: BankFileRefused | None = None


@dataclass(slots=True)
class _Budget:
    """What may still be unpacked of an archive and the archives inside it."""

    members: int = _MAX_MEMBERS
    bytes: int = _MAX_UNPACKED_BYTES


def parse_bank_file(
    name: str, content: bytes, mapping: CsvMapping | None = None
) -> tuple[BankFile, ...]:
    """Return the content of a file, or of each file of an archive. At least one is returned.

    `mapping` is that of the account for which the file is imported. Without a mapping, CSV is
    refused.
    """
    return tuple(_parse(FilePlace(_shorten_name(name)), content, mapping, (_Budget(), 1)))


def _parse(
    place: FilePlace, content: bytes, mapping: CsvMapping | None, limits: tuple[_Budget, int]
) -> Iterator[BankFile]:
    try:
        if len(content) > MAX_FILE_BYTES:
            raise place.refuse("TOO_MANY_BYTES", limit=CountText(MAX_FILE_BYTES))
        if content.startswith((b"PK\x03\x04", b"PK\x05\x06")):
            yield from _parse_archive(place, content, mapping, limits)
            return
        yield _parse_single(place, content, mapping)
    except BankFileRefused as refusal:
        yield BankFile(place.file, refusal=refusal)


def _parse_single(place: FilePlace, content: bytes, mapping: CsvMapping | None) -> BankFile:
    if not content.strip():
        raise place.refuse("EMPTY_FILE")
    for start, reason in _OTHER_FILES.items():
        if content.startswith(start):
            raise place.refuse(reason)
    if _is_xml(content):
        return _parse_xml_file(place, content)
    text = _decode(content)
    if is_mt940(text):
        return BankFile(place.file, BankFileFormat.MT940, parse_mt940(text, place))
    if mapping is None:
        raise place.refuse("UNKNOWN_FORMAT")
    return BankFile(place.file, BankFileFormat.CSV, (parse_csv(content, place, mapping),))


def _parse_xml_file(place: FilePlace, content: bytes) -> BankFile:
    document = parse_xml(content, place)
    messages = list_messages(document.root)
    if messages:
        statements = parse_camt(messages, place, document.problems)
        return BankFile(place.file, BankFileFormat.CAMT, statements)
    messages = list_status_messages(document.root)
    if messages:
        reports = parse_status_reports(messages, place)
        return BankFile(place.file, BankFileFormat.PAYMENT_STATUS, status_reports=reports)
    raise _refuse_other_message(document.root, place)


def _is_xml(content: bytes) -> bool:
    is_wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    start = content[:200].decode("utf-16" if is_wide else "utf-8", errors="replace")
    return start.lstrip("\N{ZERO WIDTH NO-BREAK SPACE} \t\r\n").startswith("<")


def _decode(content: bytes) -> str:
    """Decode a file that may be MT940. Old files are in the encoding of Windows, and the lines of
    some end with a carriage return alone."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("windows-1252", errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _refuse_other_message(root: XmlElement, place: FilePlace) -> BankFileRefused:
    names = root.list_names()
    for name in names:
        if name in _OTHER_MESSAGES:
            return place.refuse(_OTHER_MESSAGES[name])
    return place.refuse("OTHER_XML", names="/".join(shorten(name) for name in names[:2]))


def _parse_archive(
    place: FilePlace, content: bytes, mapping: CsvMapping | None, limits: tuple[_Budget, int]
) -> Iterator[BankFile]:
    budget, depth = limits
    if depth > _MAX_ARCHIVE_DEPTH:
        raise place.refuse("TOO_MANY_ARCHIVES")
    # An archive of very many empty files would take a lot of memory.
    if content.count(_MEMBER_SIGNATURE) > _MAX_SIGNATURES:
        raise place.refuse("TOO_MANY_FILES", limit=_MAX_MEMBERS)
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except _DAMAGES:
        raise place.refuse("DAMAGED_ARCHIVE") from None
    with archive:
        members = [each for each in archive.infolist() if not _is_ignored(each)]
        if any(each.filename == "[Content_Types].xml" for each in members):
            raise place.refuse("WORKBOOK")
        budget.members -= len(members)
        if budget.members < 0:
            raise place.refuse("TOO_MANY_FILES", limit=_MAX_MEMBERS)
        if not members:
            raise place.refuse("EMPTY_ARCHIVE")
        for member in members:
            here = FilePlace(f"{place.file}/{_shorten_name(member.filename)}")
            yield from _parse_member(here, archive, member, mapping, limits=limits)


def _parse_member(
    place: FilePlace, archive: zipfile.ZipFile, member: zipfile.ZipInfo,
    mapping: CsvMapping | None, *, limits: tuple[_Budget, int],
) -> Iterator[BankFile]:  # fmt: skip
    budget, depth = limits
    try:
        content = _unpack(place, archive, member, budget)
    except BankFileRefused as refusal:
        yield BankFile(place.file, refusal=refusal)
        return
    yield from _parse(place, content, mapping, (budget, depth + 1))


def _unpack(
    place: FilePlace, archive: zipfile.ZipFile, member: zipfile.ZipInfo, budget: _Budget
) -> bytes:
    """Return a member's bytes. The sizes that the archive states are not relied on."""
    if member.flag_bits & _IS_ENCRYPTED:
        raise place.refuse("HAS_PASSWORD")
    if member.compress_type not in _PACKINGS:
        raise place.refuse("UNUSUAL_PACKING")
    limit = min(MAX_FILE_BYTES, budget.bytes, max(member.compress_size, 1_000) * _MAX_RATIO)
    try:
        with archive.open(member) as stream:
            content = stream.read(limit + 1)
    except (*_DAMAGES, EOFError, RuntimeError, zlib.error):
        raise place.refuse("DAMAGED_MEMBER") from None
    if len(content) > limit:
        raise place.refuse("TOO_LARGE_UNPACKED")
    budget.bytes -= len(content)
    return content


def _shorten_name(name: str) -> str:
    return shorten(clean_text(name) or "?", 200)


def _is_ignored(member: zipfile.ZipInfo) -> bool:
    name = member.filename
    is_system_file = name.startswith(_IGNORED_FOLDER) or name.endswith(_IGNORED_NAMES)
    return member.is_dir() or is_system_file
