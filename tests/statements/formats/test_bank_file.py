"""The content decides the format, and no file can harm the reader."""

import io
import struct
import time
import zipfile

import pytest

from dunwell.cases.statements.formats import bank_file
from dunwell.cases.statements.formats.bank_file import BankFileFormat, parse_bank_file
from dunwell.cases.statements.formats.statement import BankFileRefused, FilePlace
from tests.statements.formats.test_mt940 import STATEMENT
from tests.support.bank_files import build_camt, build_entry, build_zip, find_refusal

CAMT = build_camt(build_entry())


@pytest.mark.parametrize("name", ["bank.xml", "bank.sta", "bank.csv", "bank.zip", "bank.pdf", ""])
def test_the_name_does_not_decide_the_format(name: str) -> None:
    found = [parse_bank_file(name, content)[0].format for content in (CAMT, STATEMENT.encode())]
    assert found == [BankFileFormat.CAMT, BankFileFormat.MT940]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "The file is empty."),
        (b" \n", "The file is empty."),
        (b"%PDF-1.7\n", "This is a PDF"),
        (b"\xd0\xcf\x11\xe0" + bytes(100), "This is a workbook of Excel."),
        (b"\x1f\x8b\x08" + bytes(100), "packed with gzip"),
        (b"hello", "is not camt.053, camt.054, camt.052 or MT940"),
        (bytes(100), "is not camt.053"),
        (b"<html><body/></html>", "The XML is html/body, which is not a statement."),
        (b"<Document><CstmrCdtTrfInitn/></Document>", "This is an order to pay (pain.001)"),
        (b"<Document><CstmrDrctDbtInitn/></Document>", "This is an order to collect (pain.008)"),
        (b"<Document><BkToCstmrStmt/></Document>", "The message contains no statement."),
        (CAMT[:-20], "The XML is damaged ("),
        (CAMT.replace(b"UTF-8", b"EBCDIC-US"), "The encoding ebcdic-us is not supported."),
        (b"\xff\xfe<\0a\0>", "The file is damaged."),
    ],
)  # fmt: skip
def test_an_unknown_container_is_refused_with_a_reason(content: bytes, reason: str) -> None:
    refusal = find_refusal(content, "file.bin")
    assert refusal.message.startswith("file.bin: ")
    assert reason in refusal.message
    assert refusal.details["file"] == "file.bin"


def test_entities_and_document_types_are_refused() -> None:
    for attack in (
        b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        b'<!DOCTYPE a SYSTEM "http://127.0.0.1/a.dtd">',
        b'<!DOCTYPE a [<!ENTITY a "aa"><!ENTITY b "&a;&a;&a;">]>',
    ):
        content = CAMT.replace(b"?><Document", b"?>" + attack + b"<Document")
        assert "document type declaration" in find_refusal(content).message
        wide = content.replace(b"UTF-8", b"UTF-16").decode().encode("utf-16")
        assert "document type declaration" in find_refusal(wide).message
    assert "Entity 'x' not defined" in find_refusal(CAMT.replace(b"B-1", b"&x;")).message


def test_depth_elements_and_size_are_limited() -> None:
    assert "Excessive depth" in find_refusal(b"<a>" * 300 + b"</a>" * 300).message
    assert "too many elements" in find_refusal(b"<a>" + b"<a/>" * 1_500_000 + b"</a>").message
    attributes = b" ".join(b"a%d=''" % number for number in range(1_000_001))
    assert "too many elements" in find_refusal(b"<a " + attributes + b"/>").message
    assert "at most 25,000,000 bytes" in find_refusal(b"<a>" + b" " * 25_000_000).message


def test_comments_and_instructions_do_not_divide_a_value() -> None:
    content = CAMT.replace(b">119.00<", b">1<!-- 0 -->1<?x y?>9<![CDATA[.00]]><")
    (file,) = parse_bank_file("bank.xml", content)
    assert file.statements[0].entries[0].amount_cents == 11900


def test_an_archive_is_read_file_by_file() -> None:
    content = build_zip({
        "a.xml": CAMT, "b/readme.txt": b"hello", "c.sta": STATEMENT.encode(),
        "__MACOSX/a.xml": b"x", ".DS_Store": b"x", "d/": b"",
    })  # fmt: skip
    files = parse_bank_file("november.zip", content)
    assert [(file.name, file.format) for file in files] == [
        ("november.zip/a.xml", BankFileFormat.CAMT),
        ("november.zip/b/readme.txt", None),
        ("november.zip/c.sta", BankFileFormat.MT940),
    ]
    assert [len(file.statements) for file in files] == [1, 0, 1]
    assert files[1].refusal is not None
    assert files[1].refusal.message.startswith("november.zip/b/readme.txt: ")


def test_names_of_files_have_no_control_characters() -> None:
    (file,) = parse_bank_file("a\n\x1b[1m.zip", build_zip({"b\r\nc\x1b" + "d" * 300: b"hello"}))
    assert file.name == "a [1m.zip/b c" + "d" * 197 + "…"
    (file,) = parse_bank_file("", b"hello")
    assert file.name == "?"


def test_an_archive_in_an_archive_is_read_but_no_deeper() -> None:
    once = build_zip({"a.xml": CAMT})
    twice = build_zip({"once.zip": once, "b.xml": CAMT})
    files = parse_bank_file("twice.zip", twice)
    assert [file.name for file in files] == ["twice.zip/once.zip/a.xml", "twice.zip/b.xml"]
    assert all(file.refusal is None for file in files)
    refusal = find_refusal(build_zip({"twice.zip": build_zip({"once.zip": once})}), "thrice.zip")
    assert refusal.message.startswith("thrice.zip/twice.zip/once.zip: An archive inside an archive")


def test_an_archive_has_a_limited_number_of_files() -> None:
    names = {f"{number}.xml": b"" for number in range(201)}
    assert "at most 200 files" in find_refusal(build_zip(names)).message
    inner = build_zip({f"{number}.xml": CAMT for number in range(150)})
    files = parse_bank_file("a.zip", build_zip({"1.zip": inner, "2.zip": inner}))
    assert len(files) == 151
    assert files[-1].refusal is not None
    assert "at most 200 files" in files[-1].refusal.message
    many = build_zip({"a.zip": build_zip({f"{number}": b"" for number in range(2_001)})},
                     zipfile.ZIP_STORED)  # fmt: skip
    refusal = find_refusal(many)
    assert "at most 200 files" in refusal.message
    assert refusal.details["file"] == "bank.xml"  # Before any of the archives is opened.


def test_a_bomb_is_not_unpacked() -> None:
    began = time.process_time()
    bomb = build_zip({"bomb.xml": bytes(40_000_000)})
    assert "too large when it is unpacked" in find_refusal(bomb).message
    assert time.process_time() - began < 10


def test_the_sizes_that_an_archive_states_are_not_relied_on() -> None:
    content = bytearray(build_zip({"bomb.xml": bytes(1_000_000)}))
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", content, content.index(signature) + offset, 10)
    refusal = find_refusal(bytes(content))
    assert "damaged" in refusal.message or "too large" in refusal.message


def test_what_is_unpacked_of_one_archive_is_limited() -> None:
    budget = bank_file._Budget(bytes=len(CAMT) + 10)
    content = build_zip({"a.xml": CAMT, "b.xml": CAMT})
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        first, second = archive.infolist()
        place = FilePlace("a.zip")
        assert bank_file._unpack(place, archive, first, budget) == CAMT
        with pytest.raises(BankFileRefused, match="too large"):
            bank_file._unpack(place, archive, second, budget)


def test_damaged_protected_and_unusual_archives_are_refused() -> None:
    content = build_zip({"a.xml": CAMT})
    assert "The ZIP archive is damaged." in find_refusal(content[: len(content) // 2]).message
    broken = bytearray(content)
    broken[60] ^= 0xFF
    assert "The file is damaged." in find_refusal(bytes(broken)).message
    protected = bytearray(content)
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        protected[protected.index(signature) + offset] |= 1
    assert "protected by a password" in find_refusal(bytes(protected)).message
    unusual = build_zip({"a.xml": CAMT}, zipfile.ZIP_LZMA)
    assert "packed in an unusual way" in find_refusal(unusual).message
    assert "The archive is empty." in find_refusal(build_zip({})).message
    workbook = build_zip({"[Content_Types].xml": b"<a/>", "xl/workbook.xml": b"<a/>"})
    assert "a workbook of Excel" in find_refusal(workbook).message
