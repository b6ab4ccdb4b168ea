"""Who a merchant's messages are from: its legal identity, and what they are sent as. Pure."""

from dunwell.errors import MerchantNotConfigured
from dunwell.merchants.configuration import Channel
from dunwell.merchants.merchant import Merchant
from dunwell.messages.facts import CreditorFacts


def find_sender(merchant: Merchant, channel: Channel, creditor: CreditorFacts) -> str:
    named = merchant.configuration.channels[channel].sender
    return named or (creditor.email if channel == "EMAIL" else creditor.name)


def find_creditor(merchant: Merchant) -> CreditorFacts:
    """Raises MerchantNotConfigured."""
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
        bank_iban=bank.iban if bank else None,
        bank_holder=bank.holder if bank else None,
        bank_bic=bank.bic if bank else None,
        color=configuration.brand.color,
        has_logo=brand.logo is not None and brand.logo.png is not None,
    )
