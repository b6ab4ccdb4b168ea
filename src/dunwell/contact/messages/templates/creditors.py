"""The sender of a merchant's messages: its legal identity, the operator and its role, and the
sender address. Pure."""

from collections.abc import Sequence

from dunwell.accounts.installation.installation_file import Operator
from dunwell.accounts.merchants.configuration import Channel
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.messages.templates.facts import CreditorFacts
from dunwell.contact.messages.templates.formatting import render_line
from dunwell.platform.errors import MerchantNotConfigured
from dunwell.platform.text.translation import Language


def choose_sender(merchant: Merchant, channel: Channel, creditor: CreditorFacts) -> str:
    """Return the sender that the merchant has configured for the channel, or else the creditor's
    e-mail address (for e-mails) or name."""
    configured = merchant.configuration.channels[channel].sender
    return configured or (creditor.email if channel == "EMAIL" else creditor.name)


def build_creditor(merchant: Merchant, operator: Operator | None = None) -> CreditorFacts:
    """Return the facts about the creditor. Raises MerchantNotConfigured.

    `operator` is the operator of the installation, if the message is to name it.
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


def list_operator(creditor: CreditorFacts, language: Language) -> list[str]:
    """Return the operator's role and identity as lines. Return only the role if the operator is the
    creditor; return no lines if no operator is named."""
    operator = creditor.operator
    if operator is None:
        return []
    role = _render_role(operator, creditor.legal_name, language)
    if is_creditor(operator, creditor.legal_name):
        return [render_line(role)]
    legal, contact = operator.legal, operator.contact
    entries = [
        (language.translate("Represented by:"), ", ".join(legal.representatives)),
        (language.translate("Register:"), legal.register),
        (language.translate("Supervisory authority:"), legal.supervisory_authority),
        (language.translate("VAT ID:"), legal.vat_id),
        (language.translate("E-mail:"), contact.email),
        (language.translate("Phone:"), contact.phone),
    ]
    lines = [role, join_lines(f"{legal.name}\n{legal.address}")]
    lines += [f"{label} {text}" for label, text in entries if text]
    if operator.registration is not None:
        registration = language.translate(
            "Registered debt collector, number %(number)s. Supervisory authority: %(authority)s",
            number=operator.registration.number,
            authority=join_lines(operator.registration.authority),
        )
        lines.append(registration)
    return _clean(lines)


def render_operator_line(creditor: CreditorFacts, language: Language) -> str:
    """Return the lines of the operator on one line, for print."""
    return " \u00b7 ".join(list_operator(creditor, language))


def is_creditor(operator: Operator, creditor: str) -> bool:
    """Return whether the creditor operates the service itself; legal names are compared."""
    return not operator.is_agency and render_line(operator.legal.name) == render_line(creditor)


def join_lines(text: str) -> str:
    """Return the lines of an address on one line."""
    return ", ".join(line.strip() for line in text.splitlines() if line.strip())


def _render_role(operator: Operator, creditor: str, language: Language) -> str:
    name = operator.legal.name
    if operator.is_agency:
        return language.translate(
            "%(operator)s collects this claim for %(creditor)s.", operator=name, creditor=creditor
        )
    if is_creditor(operator, creditor):
        return language.translate("%(creditor)s contacts you directly.", creditor=creditor)
    return language.translate(
        "%(creditor)s contacts you directly. %(operator)s runs this service on its behalf.",
        operator=name, creditor=creditor,
    )  # fmt: skip


def _clean(lines: Sequence[str]) -> list[str]:
    return [render_line(line) for line in lines]
