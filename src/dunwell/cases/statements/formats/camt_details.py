"""Read the transactions of a camt entry: amounts, references, remittance information, the other
party, and why a payment was returned.

In version .02 the amounts are in AmtDtls and have no sign. From .04 on, a transaction has its own
Amt and CdtDbtInd; from .08 on, a party is inside Pty. Pure.
"""

from dataclasses import dataclass

from dunwell.cases.statements.formats.amounts import WrittenAmount, parse_unsigned_amount
from dunwell.cases.statements.formats.statement import (
    EntryDetail,
    FilePlace,
    normalize_bank_reference,
    normalize_iban,
)
from dunwell.cases.statements.formats.xml_document import (
    XmlElement,
    find_child,
    find_text,
    list_children,
    list_texts,
)

SIGNS = {"CRDT": 1, "DBIT": -1}
# SEPA prescribes this text if the payer gave no end-to-end id.
_NOT_PROVIDED = "NOTPROVIDED"


@dataclass(frozen=True, slots=True)
class EntryFacts:
    """What the transactions of an entry inherit from it."""

    place: FilePlace
    # Signed.
    amount_cents: int
    currency: str
    account_iban: str | None
    is_reversal: bool
    payment_information_id: str | None


@dataclass(frozen=True, slots=True)
class DetailAmounts:
    """Signed amounts. `amount_cents` is without the charges, and None if it is unknown."""

    amount_cents: int | None
    charges_cents: int


def parse_detail(
    element: XmlElement, facts: EntryFacts, *, is_only: bool
) -> tuple[EntryDetail, int]:
    """Return a transaction and its charges. `is_only` is true if the entry has no other
    transaction."""
    references = find_child(element, "Refs")
    reason = find_text(
        find_child(element, "RtrInf"), "Rsn/Cd", "Rsn/Prtry", "RtrRsn/Cd", "RtrRsn/Prtry"
    )
    is_return = facts.is_reversal or reason is not None
    amounts = _parse_amounts(element, facts, is_only=is_only, is_return=is_return)
    name, iban = _find_counterparty(element, facts, is_return=is_return)
    end_to_end_id = find_text(references, "EndToEndId")
    remittance = find_child(element, "RmtInf")
    detail = EntryDetail(
        amount_cents=amounts.amount_cents,
        end_to_end_id=None if end_to_end_id == _NOT_PROVIDED else end_to_end_id,
        mandate_id=find_text(references, "MndtId"),
        instruction_id=find_text(references, "InstrId"),
        transaction_id=find_text(references, "TxId"),
        bank_reference=normalize_bank_reference(find_text(references, "AcctSvcrRef")),
        payment_information_id=find_text(references, "PmtInfId") or facts.payment_information_id,
        structured_references=(
            *list_texts(remittance, "Strd/CdtrRefInf/Ref"),
            *list_texts(remittance, "Strd/CdtrRefInf/CdtrRef"),
            *list_texts(remittance, "Strd/RfrdDocInf/Nb"),
        ),
        remittance_lines=(
            *list_texts(remittance, "Ustrd"),
            *list_texts(remittance, "Strd/AddtlRmtInf"),
        ),
        additional_text=find_text(element, "AddtlTxInf"),
        counterparty_name=name,
        counterparty_iban=iban,
        return_reason=reason,
        transaction_code=find_transaction_code(element),
    )
    return detail, amounts.charges_cents


def find_only_child(
    element: XmlElement, path: str, name: str, place: FilePlace
) -> XmlElement | None:
    """Return the element with a value at a path, None if there is none. Raises BankFileRefused if
    there are several, or if it has elements inside: its value is not certain then."""
    found = [*list_children(element, path)]
    if len(found) > 1:
        raise place.refuse_value(name, found[1].text, "SEVERAL_VALUES")
    if found and found[0].has_children:
        raise place.refuse_value(name, found[0].text, "DIVIDED_VALUE")
    return found[0] if found else None


def parse_charges(element: XmlElement, currency: str, place: FilePlace) -> int:
    """Return the charges of an entry or transaction that are part of its amount, signed."""
    total = 0
    for charges in list_children(element, "Chrgs"):
        records = list(list_children(charges, "Rcrd")) or [charges]
        for record in records:
            if find_text(record, "ChrgInclInd") in ("false", "0"):
                continue
            cents = _parse_amount(record, ("Amt", "TtlChrgsAndTaxAmt"), currency, place)
            total += (cents or 0) * SIGNS.get(find_text(record, "CdtDbtInd") or "", -1)
    return total


def find_transaction_code(element: XmlElement) -> str | None:
    """Return the code of domain, family and subfamily, or else the bank's own code."""
    domain = find_child(element, "BkTxCd/Domn")
    codes = [find_text(domain, path) for path in ("Cd", "Fmly/Cd", "Fmly/SubFmlyCd")]
    return "-".join(filter(None, codes)) or find_text(element, "BkTxCd/Prtry/Cd")


def _parse_amounts(
    element: XmlElement, facts: EntryFacts, *, is_only: bool, is_return: bool
) -> DetailAmounts:
    """Return the amount and the charges of a transaction. `is_only` is true if it is the only
    transaction of the entry. The bank's charge on a return (`is_return`) is not part of the payment
    that is returned: the original amount is InstdAmt."""
    sign = 1 if facts.amount_cents >= 0 else -1
    sign = SIGNS.get(find_text(element, "CdtDbtInd") or "", sign)
    charges = parse_charges(element, facts.currency, facts.place)
    paths = ("Amt", "AmtDtls/TxAmt/Amt", "AmtDtls/CntrValAmt/Amt", "AmtDtls/InstdAmt/Amt")
    cents = _parse_amount(element, paths, facts.currency, facts.place)
    if cents is None:
        return DetailAmounts(facts.amount_cents - charges if is_only else None, charges)
    amount = sign * cents
    instructed = _parse_amount(element, ("AmtDtls/InstdAmt/Amt",), facts.currency, facts.place)
    if instructed is None:
        return DetailAmounts(amount, charges)
    original = sign * instructed
    if charges and original + charges == amount:
        return DetailAmounts(original, charges)
    if is_return and not charges and instructed < cents:
        return DetailAmounts(original, amount - original)
    return DetailAmounts(amount, charges)


def _parse_amount(
    element: XmlElement, paths: tuple[str, ...], currency: str, place: FilePlace
) -> int | None:
    """Return the first of these amounts that is in the currency, without a sign."""
    for path in paths:
        found = find_only_child(element, path, path, place)
        if found is not None and found.get("Ccy", currency) == currency:
            return parse_unsigned_amount(WrittenAmount(path, found.text, currency), place)
    return None


def _find_counterparty(
    element: XmlElement, facts: EntryFacts, *, is_return: bool
) -> tuple[str | None, str | None]:
    """Return the name and the IBAN of the other party. A return (`is_return`) keeps the roles of
    the original payment, so the other party has the role that the account itself has in a payment
    of this direction."""
    parties = find_child(element, "RltdPties")
    if parties is None:
        return None, None
    roles = ["Dbtr", "Cdtr"] if (facts.amount_cents >= 0) != is_return else ["Cdtr", "Dbtr"]
    for role in roles:
        name = find_text(
            parties, f"{role}/Nm", f"{role}/Pty/Nm", f"{role}/Agt/FinInstnId/Nm",
            f"Ultmt{role}/Nm", f"Ultmt{role}/Pty/Nm",
        )  # fmt: skip
        iban = normalize_iban(find_text(parties, f"{role}Acct/Id/IBAN"))
        if (name or iban) and (iban is None or iban != facts.account_iban):
            return name, iban
    return None, None
