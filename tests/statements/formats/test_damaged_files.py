"""No damage to a file makes the reader fail in any other way than with a refusal."""

import zipfile

from hypothesis import given
from hypothesis import strategies as st

from dunwell.cases.statements.formats.bank_file import parse_bank_file
from dunwell.cases.statements.formats.entry_keys import compute_entry_keys
from dunwell.cases.statements.formats.invariants import find_broken_invariants
from tests.statements.formats.test_camt_details import FULL, RETURN
from tests.statements.formats.test_csv import FILE, GERMAN
from tests.statements.formats.test_mt940 import STATEMENT
from tests.statements.formats.test_payment_status import TRANSACTION, build, build_batch
from tests.support.bank_files import build_balance, build_camt, build_detail, build_entry, build_zip

CAMT = build_camt(
    build_entry(details=FULL, more='<Chrgs><Amt Ccy="EUR">1.00</Amt></Chrgs>'),
    build_entry("53.50", kind="DBIT", details=build_detail("50.00", kind="DBIT", more=RETURN)),
    balances=build_balance("OPBD", "1.00") + build_balance("CLBD", "66.50"),
)
FILES = {
    "camt": CAMT,
    "mt940": STATEMENT.encode(),
    "csv": FILE.encode(),
    "status": build(batches=build_batch(TRANSACTION)),
    "zip": build_zip({"a.xml": CAMT, "b.sta": STATEMENT.encode()}),
    "stored": build_zip({"a.zip": build_zip({"a.xml": CAMT})}, zipfile.ZIP_STORED),
}
PIECES = st.one_of(
    st.binary(max_size=4),
    st.sampled_from([
        b"", b"<", b">", b"&amp;", b"0", b"-", b",", b".", b"\n", b":61:", b";", b'"', b"\0",
        b"</Amt>", b"<Amt>", b"EUR", b"9" * 30, b"<Ntry>", b"</Ntry>", b"?", b"PK\x03\x04",
    ]),
)  # fmt: skip
DAMAGES = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 12), PIECES), min_size=1, max_size=4)


@given(st.sampled_from(sorted(FILES)), DAMAGES)
def test_a_damaged_file_is_read_or_refused(
    kind: str, damages: list[tuple[float, int, bytes]]
) -> None:
    content = FILES[kind]
    for where, length, piece in damages:
        start = int(where * len(content))
        content = content[:start] + piece + content[start + length :]
    files = parse_bank_file("bank", content, GERMAN)
    assert files
    for file in files:
        for statement in file.statements:
            keys = [key for key in compute_entry_keys(statement) if key is not None]
            assert len(set(keys)) == len(keys)
            find_broken_invariants(statement)
        assert (file.refusal is None) == bool(file.statements or file.status_reports)


@given(st.sampled_from(["camt", "mt940", "csv"]), st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(kind: str, content: bytes) -> None:
    start = FILES[kind][: len(FILES[kind]) // 2]
    for each in (content, start + content):
        assert parse_bank_file("bank", each, GERMAN)
        assert parse_bank_file("bank", each)
