"""Write orders for the bank: pain.008.001.08 with SEPA core direct debits.

A batch has one sequence type and one collection date. No address is written: the scheme refuses
unstructured ones, and needs none for accounts in the European Economic Area. Texts use only the
characters that every bank accepts. Pure.
"""

import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final, TypeAlias

from lxml import etree

from dunwell.cases.direct_debit.debit_values import SequenceType

MESSAGE_NAME: Final = "pain.008.001.08"
CURRENCY: Final = "EUR"
_NAMESPACE = f"urn:iso:std:iso:20022:tech:xsd:{MESSAGE_NAME}"
_SCHEMA_INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"
_SCHEME, _INSTRUMENT = "SEPA", "CORE"
_MAX_NAME, _MAX_PURPOSE = 70, 140
_ALLOWED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-?:().,'+ ")
_SPELLINGS = {
    "ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss", "ẞ": "SS",
    "æ": "ae", "Æ": "Ae", "ø": "o", "Ø": "O", "œ": "oe", "Œ": "Oe", "ł": "l", "Ł": "L",
    "đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "þ": "th", "Þ": "Th", "&": "+",
    "\N{EN DASH}": "-", "\N{EM DASH}": "-", "\N{RIGHT SINGLE QUOTATION MARK}": "'", "_": "-",
    "€": "EUR", "@": "(at)",
}  # fmt: skip


# lxml has no type hints, and gives the class no other name.
_Element: TypeAlias = etree._Element  # noqa: SLF001


class ForbiddenText(ValueError):  # noqa: N818 - the suffix Error would add nothing
    """No letter or digit of a name is left in the characters that every bank accepts."""


@dataclass(frozen=True, slots=True)
class OrderAccount:
    """The account of the creditor or a debtor. `holder` is the name that the bank knows."""

    holder: str
    iban: str
    bic: str | None = None


@dataclass(frozen=True, slots=True)
class OrderedDebit:
    """One collection. The references have at most 35 of the allowed characters."""

    end_to_end_id: str
    amount_cents: int
    mandate_reference: str
    signed_on: date
    debtor: OrderAccount
    # What the debtor reads on the account statement.
    purpose: str


@dataclass(frozen=True, slots=True)
class OrderBatch:
    batch_id: str
    sequence_type: SequenceType
    collected_on: date
    debits: Sequence[OrderedDebit]


@dataclass(frozen=True, slots=True)
class DebitOrder:
    message_id: str
    # Local time of the creditor, as the message shows it.
    created_at: datetime
    creditor_id: str
    creditor: OrderAccount
    batches: Sequence[OrderBatch]


def render_order(order: DebitOrder) -> bytes:
    """Return the order as an XML document in UTF-8. Raises ForbiddenText if the name of an account
    holder cannot be written."""
    root = etree.Element(
        f"{{{_NAMESPACE}}}Document", nsmap={None: _NAMESPACE, "xsi": _SCHEMA_INSTANCE}
    )
    message = _add(root, "CstmrDrctDbtInitn")
    header = _add(message, "GrpHdr")
    _add(header, "MsgId", order.message_id)
    _add(header, "CreDtTm", order.created_at.replace(tzinfo=None, microsecond=0).isoformat())
    _add_sums(header, [debit for batch in order.batches for debit in batch.debits])
    _add(header, "InitgPty/Nm", spell_name(order.creditor.holder))
    for batch in order.batches:
        _add_batch(message, order, batch)
    content: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True)
    return content


def remove_debits(content: bytes, end_to_end_ids: Collection[str]) -> bytes:
    """Return an order without these debits, and without batches that lose their last one."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_blank_text=True)
    root = etree.fromstring(content, parser)
    message = root[0]
    for batch in message.findall(_name("PmtInf")):
        for debit in batch.findall(_name("DrctDbtTxInf")):
            if debit.findtext(_name("PmtId/EndToEndId")) in end_to_end_ids:
                batch.remove(debit)
        if batch.find(_name("DrctDbtTxInf")) is None:
            message.remove(batch)
    header = message[0]
    for element in (header, *message.findall(_name("PmtInf"))):
        scope = message if element is header else element
        amounts = [each.text for each in scope.iter(_name("InstdAmt"))]
        total_cents = sum(int(each.replace(".", "")) for each in amounts)
        element.find(_name("NbOfTxs")).text = str(len(amounts))
        element.find(_name("CtrlSum")).text = render_amount(total_cents)
    changed: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True)
    return changed


def _name(path: str) -> str:
    """Return a path with the namespace of the order."""
    return "/".join(f"{{{_NAMESPACE}}}{each}" for each in path.split("/"))


def spell_name(name: str) -> str:
    """Return a name in the characters that every bank accepts, at most 70. Raises ForbiddenText."""
    spelled = spell_text(name, _MAX_NAME)
    if not any(each.isalnum() for each in spelled):
        raise ForbiddenText(name)
    return spelled


def spell_text(text: str, max_length: int) -> str:
    """Return a text in the characters that every bank accepts, cut to `max_length` characters:
    letters lose their marks, and characters that have no spelling are left out."""
    spelled = "".join(_SPELLINGS.get(each, each) for each in unicodedata.normalize("NFC", text))
    plain = "".join(
        " " if each.isspace() else each
        for each in unicodedata.normalize("NFKD", spelled)
        if each in _ALLOWED or each.isspace()
    )
    return " ".join(plain.split())[:max_length].strip()


def render_amount(cents: int) -> str:
    """Return an amount of euros: 1205 is "12.05"."""
    return f"{cents // 100}.{cents % 100:02d}"


def _add_batch(message: _Element, order: DebitOrder, batch: OrderBatch) -> None:
    element = _add(message, "PmtInf")
    _add(element, "PmtInfId", batch.batch_id)
    _add(element, "PmtMtd", "DD")
    # Ask for one statement entry per debit, so that each payment is matched by itself.
    _add(element, "BtchBookg", "false")
    _add_sums(element, batch.debits)
    kind = _add(element, "PmtTpInf")
    _add(kind, "SvcLvl/Cd", _SCHEME)
    _add(kind, "LclInstrm/Cd", _INSTRUMENT)
    _add(kind, "SeqTp", batch.sequence_type)
    _add(element, "ReqdColltnDt", batch.collected_on.isoformat())
    _add(element, "Cdtr/Nm", spell_name(order.creditor.holder))
    _add(element, "CdtrAcct/Id/IBAN", order.creditor.iban)
    _add_bank(element, "CdtrAgt", order.creditor.bic)
    _add(element, "ChrgBr", "SLEV")
    scheme = _add(element, "CdtrSchmeId/Id/PrvtId/Othr")
    _add(scheme, "Id", order.creditor_id)
    _add(scheme, "SchmeNm/Prtry", _SCHEME)
    for debit in batch.debits:
        _add_debit(element, debit)


def _add_debit(batch: _Element, debit: OrderedDebit) -> None:
    element = _add(batch, "DrctDbtTxInf")
    _add(element, "PmtId/EndToEndId", debit.end_to_end_id)
    _add(element, "InstdAmt", render_amount(debit.amount_cents)).set("Ccy", CURRENCY)
    mandate = _add(element, "DrctDbtTx/MndtRltdInf")
    _add(mandate, "MndtId", debit.mandate_reference)
    _add(mandate, "DtOfSgntr", debit.signed_on.isoformat())
    _add_bank(element, "DbtrAgt", debit.debtor.bic)
    _add(element, "Dbtr/Nm", spell_name(debit.debtor.holder))
    _add(element, "DbtrAcct/Id/IBAN", debit.debtor.iban)
    _add(element, "RmtInf/Ustrd", spell_text(debit.purpose, _MAX_PURPOSE))


def _add_sums(element: _Element, debits: Sequence[OrderedDebit]) -> None:
    _add(element, "NbOfTxs", str(len(debits)))
    _add(element, "CtrlSum", render_amount(sum(each.amount_cents for each in debits)))


def _add_bank(element: _Element, name: str, bic: str | None) -> None:
    """Name a bank. Without a BIC the bank is found by the IBAN."""
    if bic is not None:
        _add(element, f"{name}/FinInstnId/BICFI", bic)
    else:
        _add(element, f"{name}/FinInstnId/Othr/Id", "NOTPROVIDED")


def _add(parent: _Element, path: str, text: str | None = None) -> _Element:
    """Add the elements of a path, and the text to the last of them."""
    element = parent
    for name in path.split("/"):
        element = etree.SubElement(element, f"{{{_NAMESPACE}}}{name}")
    element.text = text
    return element
