"""Who a merchant's messages are from: its legal identity, the operator and its role, and what they
are sent as. Pure.
"""

from collections.abc import Sequence

from dunwell.accounts.installation.identity import Operator
from dunwell.accounts.merchants.configuration import Channel
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.messages.facts import CreditorFacts
from dunwell.contact.messages.formatting import render_line
from dunwell.contact.messages.wording import Wording
from dunwell.platform.errors import MerchantNotConfigured


def find_sender(merchant: Merchant, channel: Channel, creditor: CreditorFacts) -> str:
    named = merchant.configuration.channels[channel].sender
    return named or (creditor.email if channel == "EMAIL" else creditor.name)


def find_creditor(merchant: Merchant, operator: Operator | None = None) -> CreditorFacts:
    """operator: of the installation, where the reader is to know of it.

    Raises MerchantNotConfigured.
    """
    configuration = merchant.configuration
    legal, contact, brand = configuration.legal, configuration.contact, configuration.brand
    bank = configuration.payment.bank_account
    if legal is None or contact is None:
        raise MerchantNotConfigured("A message needs the creditor's legal name and contact.")
    return CreditorFacts(
        name=merchant.name,
        legal_name=legal.name,
        legal_address=legal.address,
        email=contact.email,
        phone=contact.phone,
        register=legal.register,
        supervisory_authority=legal.supervisory_authority,
        vat_id=legal.vat_id,
        representatives=legal.representatives,
        operator=operator,
        bank_iban=bank.iban if bank else None,
        bank_holder=bank.holder if bank else None,
        bank_bic=bank.bic if bank else None,
        color=configuration.brand.color,
        has_logo=brand.logo is not None and brand.logo.png is not None,
    )


def list_operator(creditor: CreditorFacts, wording: Wording) -> list[str]:
    """In which role the operator acts, then who it is, where it is somebody else; empty: nobody was
    named."""
    operator = creditor.operator
    if operator is None:
        return []
    role = _say_role(operator, creditor.legal_name, wording)
    if is_creditor(operator, creditor.legal_name):
        return [render_line(role)]
    legal, contact = operator.legal, operator.contact
    entries = [
        (wording.represented_by, ", ".join(legal.representatives)),
        (wording.register, legal.register),
        (wording.supervisory_authority, legal.supervisory_authority),
        (wording.vat_id, legal.vat_id),
        (wording.email, contact.email),
        (wording.phone, contact.phone),
    ]
    lines = [role, join_lines(f"{legal.name}\n{legal.address}")]
    lines += [label.format(text) for label, text in entries if text]
    if operator.registration is not None:
        number, authority = operator.registration.number, operator.registration.authority
        told = wording.registration.format(number=number, authority=join_lines(authority))
        lines.append(told)
    return _clean(lines)


def write_operator(creditor: CreditorFacts, wording: Wording) -> str:
    """The same on one line, for what is printed; empty: nobody was named."""
    return " \u00b7 ".join(list_operator(creditor, wording))


def is_creditor(operator: Operator, creditor: str) -> bool:
    """Whether the creditor runs its own service; by its legal name."""
    return not operator.is_agency and render_line(operator.legal.name) == render_line(creditor)


def join_lines(text: str) -> str:
    """An address on one line."""
    return ", ".join(line.strip() for line in text.splitlines() if line.strip())


def _say_role(operator: Operator, creditor: str, wording: Wording) -> str:
    if operator.is_agency:
        words = wording.agency
    else:
        words = wording.own_service if is_creditor(operator, creditor) else wording.own_service_by
    return words.format(operator=operator.legal.name, creditor=creditor)


def _clean(lines: Sequence[str]) -> list[str]:
    return [render_line(line) for line in lines]
