"""A payment status report (pain.002) says what became of an order."""

import pytest

from dunwell.cases.statements.formats.bank_file import BankFileFormat, parse_bank_file
from dunwell.cases.statements.formats.payment_status import (
    BatchStatus,
    OrderOutcome,
    PaymentStatusReport,
    StatusReason,
    TransactionStatus,
    decide_outcome,
)
from tests.support.bank_files import find_refusal

REASON = "<StsRsnInf><Rsn><Cd>AC04</Cd></Rsn><AddtlInf>closed</AddtlInf></StsRsnInf>"
TRANSACTION = f"""<TxInfAndSts><StsId>1</StsId><OrgnlInstrId>I-1</OrgnlInstrId>
 <OrgnlEndToEndId>E-1</OrgnlEndToEndId><TxSts>RJCT</TxSts>{REASON}<AcctSvcrRef>B-1</AcctSvcrRef>
 <OrgnlTxRef><Amt><InstdAmt Ccy="EUR">50.00</InstdAmt></Amt>
  <MndtRltdInf><MndtId>M-1</MndtId></MndtRltdInf></OrgnlTxRef></TxInfAndSts>"""
CLOSED = (StatusReason("AC04", "closed"),)


def build(order: str = "", batches: str = "", version: str = "10") -> bytes:
    return (
        f'<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.{version}"><CstmrPmtStsRpt>'
        "<GrpHdr><MsgId>R-1</MsgId><CreDtTm>2026-11-27T08:00:00</CreDtTm></GrpHdr>"
        "<OrgnlGrpInfAndSts><OrgnlMsgId>O-1</OrgnlMsgId><OrgnlMsgNmId>pain.008.001.08"
        f"</OrgnlMsgNmId>{order}</OrgnlGrpInfAndSts>{batches}</CstmrPmtStsRpt></Document>"
    ).encode()


def build_batch(inside: str, batch_id: str = "P-1") -> str:
    return (
        f"<OrgnlPmtInfAndSts><OrgnlPmtInfId>{batch_id}</OrgnlPmtInfId>{inside}</OrgnlPmtInfAndSts>"
    )


def parse(content: bytes) -> PaymentStatusReport:
    (file,) = parse_bank_file("status.xml", content)
    assert file.refusal is None, file.refusal
    assert (file.format, file.statements) == (BankFileFormat.PAYMENT_STATUS, ())
    (report,) = file.status_reports
    return report


def test_the_status_of_a_transaction_is_read_with_its_ids_and_reasons() -> None:
    report = parse(build(batches=build_batch("<PmtInfSts>PART</PmtInfSts>" + TRANSACTION)))
    assert (report.message_id, str(report.created_on)) == ("R-1", "2026-11-27")
    assert (report.original_message_id, report.original_message_name) == ("O-1", "pain.008.001.08")
    assert report.batches == (
        BatchStatus(
            "P-1",
            "PART",
            transactions=(
                TransactionStatus(
                    "RJCT", "E-1", "I-1", "M-1",
                    bank_reference="B-1", amount_cents=5000, currency="EUR", reasons=CLOSED,
                ),
            ),
        ),
    )  # fmt: skip


def test_newer_versions_name_the_mandate_one_level_deeper() -> None:
    deeper = TRANSACTION.replace(
        "<MndtId>M-1</MndtId>", "<DrctDbtMndt><MndtId>M-1</MndtId></DrctDbtMndt>"
    )
    report = parse(build(batches=build_batch(deeper), version="15"))
    assert report.batches[0].transactions[0].mandate_id == "M-1"


def test_version_02_has_its_transactions_directly_in_the_message() -> None:
    content = build(batches=TRANSACTION, version="02")
    content = content.replace(b"CstmrPmtStsRpt>", b"pain.002.001.02>")
    outcome = parse(content).find_outcome("P-1", "E-1")
    assert outcome == (OrderOutcome.REJECTED, CLOSED)


def test_the_most_exact_status_applies() -> None:
    rejected = f"<GrpSts>RJCT</GrpSts>{REASON}"
    assert parse(build(rejected)).find_outcome("P-1", "E-1") == (OrderOutcome.REJECTED, CLOSED)
    batches = build_batch(f"<PmtInfSts>RJCT</PmtInfSts>{REASON}")
    report = parse(build("<GrpSts>PART</GrpSts>", batches))
    assert report.find_outcome("P-1", "E-1") == (OrderOutcome.REJECTED, CLOSED)
    assert report.find_outcome("P-2", "E-1") == (OrderOutcome.PENDING, ())
    report = parse(build("<GrpSts>PART</GrpSts>", build_batch(TRANSACTION)))
    assert report.find_outcome("P-1", "E-1") == (OrderOutcome.REJECTED, CLOSED)
    assert report.find_outcome("P-1", "E-2") == (OrderOutcome.PENDING, ())
    assert report.find_outcome("P-2", "E-1") == (OrderOutcome.PENDING, ())


def test_a_rejection_is_final_where_a_transaction_is_reported_twice() -> None:
    accepted = TRANSACTION.replace("RJCT", "ACSP").replace(REASON, "")
    for both in (TRANSACTION + accepted, accepted + TRANSACTION):
        report = parse(build(batches=build_batch(both)))
        assert report.find_outcome("P-1", "E-1") == (OrderOutcome.REJECTED, CLOSED)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ("RJCT", OrderOutcome.REJECTED), ("CANC", OrderOutcome.REJECTED),
        ("ACSC", OrderOutcome.SETTLED), ("ACCC", OrderOutcome.SETTLED),
        ("ACCP", OrderOutcome.PENDING), ("ACSP", OrderOutcome.PENDING),
        ("PART", OrderOutcome.PENDING), ("XXXX", OrderOutcome.PENDING),
        (None, OrderOutcome.PENDING),
    ],
)  # fmt: skip
def test_an_unknown_status_is_pending(status: str | None, outcome: OrderOutcome) -> None:
    assert decide_outcome(status) is outcome


def test_a_report_without_the_order_is_refused() -> None:
    content = build().replace(b"<OrgnlMsgId>O-1</OrgnlMsgId>", b"")
    assert find_refusal(content).details["element"] == "OrgnlGrpInfAndSts/OrgnlMsgId"


def test_an_unreadable_amount_is_refused() -> None:
    content = build(batches=build_batch(TRANSACTION.replace("50.00", "50,00")))
    refusal = find_refusal(content)
    assert refusal.message.startswith(
        'bank.xml, entry E-1: OrgnlTxRef/Amt/InstdAmt is "50,00". '
    )  # fmt: skip
