"""From a planned contact to what is sent: choose the language, gather facts, render, address.

Pure but for the key that derives a link's token. What is kept bears the token's mask;
`make_message` puts the token in.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from urllib.parse import urlsplit

from dunwell.errors import MerchantNotConfigured
from dunwell.kit.crypto import KeyRing
from dunwell.merchants.account import Merchant
from dunwell.messages.channel import Message
from dunwell.messages.facts import CreditorFacts, LandingFacts, MessageFacts
from dunwell.messages.links import TOKEN_MASK, derive_token, hash_token, unmask
from dunwell.messages.rendering import render_email
from dunwell.messages.store import Contact, Content, PlannedContact, RenderedContact
from dunwell.workflows.definition import CommunicationStep, Definition
from dunwell.workflows.versions import Version


@dataclass(frozen=True, slots=True)
class Letterhead:
    """What all of a merchant's messages share: who writes, and where the debtor's page is."""

    merchant: Merchant
    public_url: str
    keys: KeyRing


def render_contact(
    head: Letterhead,
    planned: PlannedContact,
    version: Version,
    step: CommunicationStep,
    today: date,
) -> RenderedContact:
    """Render the step's template for the contact's channel. Raises LookupError without one."""
    contact = planned.contact
    template = version.definition.templates[step.template].email
    if contact.channel != "EMAIL" or template is None or contact.recipient is None:
        raise LookupError(f"template {step.template} cannot be sent by {contact.channel}")
    language = choose_language(version.definition, planned.language, head.merchant)
    facts = MessageFacts(
        claim=planned.claim,
        debtor=planned.debtor,
        creditor=_creditor(head.merchant),
        today=today,
        landing=LandingFacts(
            url=f"{head.public_url}/q/{TOKEN_MASK}", domain=urlsplit(head.public_url).netloc
        ),
    )
    rendered = render_email(template, version.definition.snippets, language, facts)
    content = Content(
        contact.recipient, language, rendered.subject, rendered.body_text, rendered.body_html
    )
    has_link = TOKEN_MASK in content.body_text or TOKEN_MASK in (content.body_html or "")
    token = derive_token(head.keys, contact.communication_id)
    return RenderedContact(
        planned, version.version_id, content, hash_token(token) if has_link else None
    )


def make_message(
    head: Letterhead, contact: Contact, content: Content, created_at: datetime
) -> Message:
    """The message as it leaves the house."""
    configuration = head.merchant.configuration
    creditor = _creditor(head.merchant)
    token = derive_token(head.keys, contact.communication_id)
    return Message(
        communication_id=contact.communication_id,
        merchant_id=head.merchant.merchant_id,
        claim_id=contact.claim_id,
        channel=contact.channel,
        recipient=content.recipient,
        sender=configuration.channels[contact.channel].sender or creditor.email,
        sender_name=creditor.legal_name,
        reply_to=creditor.email,
        language=content.language,
        subject=content.subject,
        body_text=unmask(content.body_text, token),
        body_html=unmask(content.body_html, token) if content.body_html else None,
        created_at=created_at,
    )


def choose_language(definition: Definition, claims: str | None, merchant: Merchant) -> str:
    """The claim's language, the merchant's, or the definition's first (CONTRACT 6)."""
    offered: Sequence[str] = definition.settings.languages
    wanted = (claims, merchant.configuration.language)
    return next((each for each in wanted if each is not None and each in offered), offered[0])


def _creditor(merchant: Merchant) -> CreditorFacts:
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
    )
