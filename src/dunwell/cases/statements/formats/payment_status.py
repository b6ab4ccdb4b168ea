"""Read pain.002: what the bank says about an order, its batches and its transactions.

The status of an order or batch applies to each of its parts that has no status of its own. A bank
reports the transactions that it rejects, and often nothing about the others. Pure.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from dunwell.cases.statements.formats.amounts import (
    WrittenAmount,
    check_currency,
    parse_iso_day,
    parse_unsigned_amount,
)
from dunwell.cases.statements.formats.statement import FilePlace, normalize_bank_reference
from dunwell.cases.statements.formats.xml_document import (
    XmlElement,
    find_child,
    find_text,
    list_children,
    list_texts,
)

# The message's element; version .02 names it after the message.
_MESSAGES = ("CstmrPmtStsRpt", "pain.002.001.02")
_REJECTED = frozenset({"RJCT", "CANC", "BLCK"})
_SETTLED = frozenset({"ACSC", "ACCC"})


class OrderOutcome(StrEnum):
    """What a status means for the money."""

    # The bank will not move the money.
    REJECTED = "REJECTED"
    # The bank has moved the money.
    SETTLED = "SETTLED"
    # Everything else, such as accepted, partly accepted, or a status that is unknown here.
    PENDING = "PENDING"


@dataclass(frozen=True, slots=True)
class StatusReason:
    # Such as "AC04", or the bank's own code.
    code: str | None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class TransactionStatus:
    """The status of one transaction of the order."""

    # The bank's code, such as "RJCT". None if the status of the batch applies.
    status: str | None
    end_to_end_id: str | None = None
    instruction_id: str | None = None
    mandate_id: str | None = None
    bank_reference: str | None = None
    # Positive; None if the bank does not repeat it.
    amount_cents: int | None = None
    currency: str | None = None
    reasons: tuple[StatusReason, ...] = ()


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """The status of one batch (payment information) of the order."""

    payment_information_id: str | None
    status: str | None = None
    reasons: tuple[StatusReason, ...] = ()
    transactions: tuple[TransactionStatus, ...] = ()


@dataclass(frozen=True, slots=True)
class PaymentStatusReport:
    """What the bank says about one order (pain.008 or pain.001)."""

    message_id: str | None
    created_on: date | None
    # The MsgId of the order, and its kind, such as "pain.008.001.08".
    original_message_id: str
    original_message_name: str | None
    # The status of the whole order. None if only batches or transactions have one.
    status: str | None
    reasons: tuple[StatusReason, ...] = ()
    batches: tuple[BatchStatus, ...] = ()

    def find_outcome(
        self, payment_information_id: str, end_to_end_id: str
    ) -> tuple[OrderOutcome, tuple[StatusReason, ...]]:
        """Return what the report means for one transaction of the order, and why.

        The status of the transaction applies, otherwise that of its batch, otherwise that of the
        order. If a transaction is reported several times, a rejection overrides every other status.
        """
        batches = [
            batch
            for batch in self.batches
            if batch.payment_information_id in (payment_information_id, None)
        ]
        transactions = [
            each
            for batch in batches
            for each in batch.transactions
            if each.end_to_end_id == end_to_end_id
        ]
        for level in (transactions, batches, [self]):
            stated = [each for each in level if each.status is not None]
            if stated:
                return _combine(stated)
        return OrderOutcome.PENDING, ()


def decide_outcome(status: str | None) -> OrderOutcome:
    """Return what a status code means for the money."""
    if status in _REJECTED:
        return OrderOutcome.REJECTED
    return OrderOutcome.SETTLED if status in _SETTLED else OrderOutcome.PENDING


def list_status_messages(root: XmlElement) -> Sequence[XmlElement]:
    """Return the pain.002 messages of a document."""
    return root.list_all(_MESSAGES)


def parse_status_reports(
    messages: Sequence[XmlElement], place: FilePlace
) -> tuple[PaymentStatusReport, ...]:
    """Return the reports of the messages that `list_status_messages` returned.

    Raises BankFileRefused if the order or an amount cannot be read.
    """
    return tuple(_parse_report(message, place) for message in messages)


def _combine(
    levels: Iterable[TransactionStatus | BatchStatus | PaymentStatusReport],
) -> tuple[OrderOutcome, tuple[StatusReason, ...]]:
    outcomes = [(decide_outcome(each.status), each.reasons) for each in levels]
    for outcome in (OrderOutcome.REJECTED, OrderOutcome.SETTLED):
        for found, reasons in outcomes:
            if found is outcome:
                return found, reasons
    return outcomes[-1]


def _parse_report(message: XmlElement, place: FilePlace) -> PaymentStatusReport:
    order = find_child(message, "OrgnlGrpInfAndSts")
    order_id = find_text(order, "OrgnlMsgId")
    if order_id is None:
        raise place.refuse_value(
            "OrgnlGrpInfAndSts/OrgnlMsgId", None,
            "NO_ORDER",
        )  # fmt: skip
    batches = [_parse_batch(each, place) for each in list_children(message, "OrgnlPmtInfAndSts")]
    # Version .02 has its transactions directly in the message.
    for each in list_children(message, "TxInfAndSts"):
        transaction = _parse_transaction(each, place)
        batches.append(BatchStatus(find_text(each, "OrgnlPmtInfId"), transactions=(transaction,)))
    return PaymentStatusReport(
        message_id=find_text(message, "GrpHdr/MsgId"),
        created_on=parse_iso_day(find_text(message, "GrpHdr/CreDtTm")),
        original_message_id=order_id,
        original_message_name=find_text(order, "OrgnlMsgNmId"),
        status=find_text(order, "GrpSts"),
        reasons=_parse_reasons(order),
        batches=tuple(batches),
    )


def _parse_batch(element: XmlElement, place: FilePlace) -> BatchStatus:
    return BatchStatus(
        payment_information_id=find_text(element, "OrgnlPmtInfId"),
        status=find_text(element, "PmtInfSts"),
        reasons=_parse_reasons(element),
        transactions=tuple(
            _parse_transaction(each, place) for each in list_children(element, "TxInfAndSts")
        ),
    )


def _parse_transaction(element: XmlElement, place: FilePlace) -> TransactionStatus:
    end_to_end_id = find_text(element, "OrgnlEndToEndId")
    place = FilePlace(place.file, entry=end_to_end_id)
    amount = find_child(element, "OrgnlTxRef/Amt/InstdAmt")
    currency = cents = None
    if amount is not None:
        currency = check_currency("OrgnlTxRef/Amt/InstdAmt/@Ccy", amount.get("Ccy"), place)
        written = WrittenAmount("OrgnlTxRef/Amt/InstdAmt", amount.text, currency)
        cents = parse_unsigned_amount(written, place)
    return TransactionStatus(
        status=find_text(element, "TxSts"),
        end_to_end_id=end_to_end_id,
        instruction_id=find_text(element, "OrgnlInstrId"),
        mandate_id=find_text(
            find_child(element, "OrgnlTxRef/MndtRltdInf"), "MndtId", "DrctDbtMndt/MndtId"
        ),
        bank_reference=normalize_bank_reference(find_text(element, "AcctSvcrRef")),
        amount_cents=cents,
        currency=currency,
        reasons=_parse_reasons(element),
    )


def _parse_reasons(element: XmlElement | None) -> tuple[StatusReason, ...]:
    return tuple(
        StatusReason(
            find_text(reason, "Rsn/Cd", "Rsn/Prtry", "StsRsn/Cd", "StsRsn/Prtry"),
            " ".join(list_texts(reason, "AddtlInf") or list_texts(reason, "AddtlStsRsnInf"))
            or None,
        )
        for reason in list_children(element, "StsRsnInf")
    )
