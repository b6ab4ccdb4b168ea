"""What all of a merchant's messages share: who writes, in which language, which facts. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from urllib.parse import urlsplit

from dunwell.errors import MerchantNotConfigured
from dunwell.kit.crypto import KeyRing
from dunwell.merchants.account import Merchant
from dunwell.merchants.configuration import Channel
from dunwell.messages.codes import CODE_MASK
from dunwell.messages.facts import CreditorFacts, LandingFacts, MessageFacts
from dunwell.messages.links import TOKEN_MASK
from dunwell.messages.store import PlannedContact
from dunwell.workflows.definition import Definition


@dataclass(frozen=True, slots=True)
class Letterhead:
    """Who writes, and where the debtor's page is."""

    merchant: Merchant
    public_url: str
    keys: KeyRing


def choose_language(definition: Definition, claims: str | None, merchant: Merchant) -> str:
    """The claim's language, the merchant's, or the definition's first (CONTRACT 6)."""
    offered: Sequence[str] = definition.settings.languages
    wanted = (claims, merchant.configuration.language)
    return next((each for each in wanted if each is not None and each in offered), offered[0])


def gather_facts(head: Letterhead, planned: PlannedContact, today: date) -> MessageFacts:
    """Only a letter has a code: it counts as a known fact, which a link alone does not."""
    return MessageFacts(
        claim=planned.claim,
        debtor=planned.debtor,
        creditor=find_creditor(head.merchant),
        today=today,
        landing=LandingFacts(
            url=f"{head.public_url}/q/{TOKEN_MASK}",
            code=CODE_MASK if planned.contact.channel == "LETTER" else None,
            domain=urlsplit(head.public_url).netloc,
        ),
    )


def find_sender(merchant: Merchant, channel: Channel, creditor: CreditorFacts) -> str:
    named = merchant.configuration.channels[channel].sender
    return named or (creditor.email if channel == "EMAIL" else creditor.name)


def find_creditor(merchant: Merchant) -> CreditorFacts:
    configuration = merchant.configuration
    legal, contact, bank = configuration.legal, configuration.contact, (
        configuration.payment.bank_account
    )  # fmt: skip
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
    )
