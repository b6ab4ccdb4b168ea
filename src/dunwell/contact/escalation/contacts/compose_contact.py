"""Turn a planned contact into a message: choose the language, collect the facts, render the
template and add the addresses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from urllib.parse import urlsplit
from uuid import UUID

from dunwell.accounts.installation.delivery_providers import (
    DeliveryProvider,
    FolderProvider,
    SftpProvider,
)
from dunwell.accounts.installation.installation_file import Operator
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.escalation.due_claim import has_postal_address
from dunwell.contact.messages.claim_links import (
    CODE_MASK,
    TOKEN_MASK,
    derive_check_code,
    derive_code,
    derive_token,
    digest_check_code,
    digest_code,
    hash_token,
    render_code,
    unmask_check_code,
)
from dunwell.contact.messages.contact import Content, LeasedContact, PlannedContact, RenderedContact
from dunwell.contact.messages.letters.address import render_address
from dunwell.contact.messages.letters.rendering import LetterPost, render_letter
from dunwell.contact.messages.letters.sheet import DEFAULT_LAYOUT, Enclosure, Picture, encode_sheet
from dunwell.contact.messages.templates.creditors import build_creditor, choose_sender
from dunwell.contact.messages.templates.facts import CHECK_MASK, LandingFacts, MessageFacts
from dunwell.contact.messages.templates.placeholders import MessageTooLarge
from dunwell.contact.messages.templates.rendering import MAX_SMS_PARTS, render_email, render_sms
from dunwell.contact.sending.channel import Message, MessageFile, Permanent
from dunwell.contact.sending.logo import find_logo
from dunwell.contact.sending.references import build_reference
from dunwell.core.workflows.definition import ContactStep, Definition
from dunwell.core.workflows.versions.versions import Version
from dunwell.platform.crypto import KeyRing
from dunwell.platform.text.codes import find_timezone_country


@dataclass(frozen=True, slots=True)
class MessageSource:
    """The sender of a merchant's messages: the creditor, the operator and the address of the debtor
    pages."""

    merchant: Merchant
    public_url: str
    keys: KeyRing
    # The operator of the installation; None if the installation names none.
    operator: Operator | None = None
    # The name of the layout for letters, which depends on the merchant's print provider.
    layout: str = DEFAULT_LAYOUT


def choose_letter_layout(
    merchant: Merchant, providers: Mapping[str, DeliveryProvider] | None
) -> str:
    """Return the layout of the merchant's print provider.

    `providers` are the delivery providers of the installation file, by name.
    """
    setup = merchant.configuration.channels.get("LETTER")
    provider = (providers or {}).get(setup.provider) if setup and setup.provider else None
    if isinstance(provider, FolderProvider | SftpProvider):
        return provider.layout
    return DEFAULT_LAYOUT


def choose_language(definition: Definition, claim_language: str | None, merchant: Merchant) -> str:
    """Return the claim's language if the workflow offers it, otherwise the merchant's, otherwise
    the first language of the workflow."""
    offered: Sequence[str] = definition.settings.languages
    wanted = (claim_language, merchant.configuration.language)
    return next((each for each in wanted if each is not None and each in offered), offered[0])


def build_message_facts(
    source: MessageSource, planned: PlannedContact, today: date, pay_by: date | None
) -> MessageFacts:
    """Return the facts for the placeholders of the contact's template.

    Only a letter has a code. Entering the code counts as proof of a known fact; opening a link does
    not.
    """
    return MessageFacts(
        claim=planned.claim,
        debtor=planned.debtor,
        creditor=build_creditor(source.merchant, source.operator),
        today=today,
        landing=LandingFacts(
            url=f"{source.public_url}/q/{TOKEN_MASK}",
            code=CODE_MASK if planned.contact.channel == "LETTER" else None,
            domain=urlsplit(source.public_url).netloc,
        ),
        pay_by=pay_by,
    )


_MASKS = (TOKEN_MASK, CODE_MASK, CHECK_MASK)


@dataclass(frozen=True, slots=True)
class StepExecution:
    """One execution of a contact step: the version, the step, the local date, the pay-by date and
    the attachments."""

    version: Version
    step: ContactStep
    today: date
    pay_by: date | None = None
    attachment_ids: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class MessageFiles:
    """The files sent with a message. The document is the letter itself."""

    document: MessageFile | None = None
    attachments: tuple[MessageFile, ...] = ()


def render_contact(
    source: MessageSource,
    planned: PlannedContact,
    execution: StepExecution,
    enclosures: Sequence[Enclosure] = (),
) -> RenderedContact | Permanent:
    """Render the step's template for the channel of the contact.

    Return Permanent if the channel cannot carry the result. Raises LookupError if there is no
    template for the channel.
    """
    try:
        return _render(source, planned, execution, enclosures)
    except MessageTooLarge as error:
        return Permanent(str(error))


def _render(
    source: MessageSource,
    planned: PlannedContact,
    execution: StepExecution,
    enclosures: Sequence[Enclosure],
) -> RenderedContact | Permanent:
    """Render the contact. Raises LookupError, MessageTooLarge."""
    channel, definition = planned.contact.channel, execution.version.definition
    language = choose_language(definition, planned.language, source.merchant)
    facts = build_message_facts(source, planned, execution.today, execution.pay_by)
    sheet = None
    if channel == "EMAIL":
        content = _render_email(planned, execution, language, facts)
    elif channel == "SMS":
        text = _render_sms(planned, execution, language, facts)
        if isinstance(text, Permanent):
            return text
        content = text
    else:
        content, sheet = _render_letter(source, planned, execution, (language, facts, enclosures))
    used_masks = _list_masks(content)
    contact_id = planned.contact.communication_id
    return RenderedContact(
        planned=planned,
        version_id=execution.version.version_id,
        content=content,
        link_hash=hash_token(derive_token(source.keys, contact_id))
        if TOKEN_MASK in used_masks
        else None,
        code_digest=digest_code(source.keys, derive_code(source.keys, contact_id))
        if CODE_MASK in used_masks
        else None,
        check_digest=digest_check_code(source.keys, derive_check_code(source.keys, contact_id))
        if CHECK_MASK in used_masks
        else None,
        sheet=unmask_contact(source.keys, contact_id, sheet.decode()).encode() if sheet else None,
    )


def _render_email(
    planned: PlannedContact, execution: StepExecution, language: str, facts: MessageFacts
) -> Content:
    definition, recipient = execution.version.definition, planned.contact.email
    template = definition.templates[execution.step.template].email
    if template is None or recipient is None:
        raise LookupError(f"template {execution.step.template} cannot be sent by EMAIL")
    rendered = render_email(template, definition.snippets, language, facts)
    return Content(
        recipient=recipient,
        language=language,
        subject=rendered.subject,
        body_text=rendered.body_text,
        body_html=rendered.body_html,
        attachment_ids=execution.attachment_ids,
    )


def _render_sms(
    planned: PlannedContact, execution: StepExecution, language: str, facts: MessageFacts
) -> Content | Permanent:
    definition, recipient = execution.version.definition, planned.contact.mobile_number
    template = definition.templates[execution.step.template].sms
    if template is None or recipient is None:
        raise LookupError(f"template {execution.step.template} cannot be sent by SMS")
    text, parts = render_sms(template, definition.snippets, language, facts)
    if parts.count > MAX_SMS_PARTS:
        return Permanent(f"The text takes {parts.count} parts; an SMS has at most {MAX_SMS_PARTS}.")
    return Content(
        recipient=recipient, language=language, subject=None, body_text=text, body_html=None
    )


def _render_letter(
    source: MessageSource,
    planned: PlannedContact,
    execution: StepExecution,
    rendering: tuple[str, MessageFacts, Sequence[Enclosure]],
) -> tuple[Content, bytes]:
    """Return the content and the encoded sheet to be printed.

    `rendering` has the language, the facts and the enclosures.
    """
    language, facts, enclosures = rendering
    definition, address = execution.version.definition, planned.contact.address
    template = definition.templates[execution.step.template].letter
    if template is None or address is None or not has_postal_address(address):
        raise LookupError(f"template {execution.step.template} cannot be sent by LETTER")
    configuration = source.merchant.configuration
    home_country = find_timezone_country(configuration.timezone)
    lines = render_address(planned.debtor, address, home_country, configuration.language)
    brand = configuration.brand
    logo = Picture(brand.logo.content_type, brand.logo.content) if brand.logo else None
    code_page_address = f"{urlsplit(source.public_url).netloc}/q"
    post = LetterPost(
        address=lines, code_page_address=code_page_address, color=brand.color, logo=logo,
        enclosures=enclosures, layout=source.layout,
    )  # fmt: skip
    rendered = render_letter(
        template, definition.snippets, language=language, facts=facts, post=post
    )
    content = Content(
        recipient="\n".join(lines),
        language=language,
        subject=rendered.subject,
        body_text=rendered.body_text,
        body_html=None,
        attachment_ids=execution.attachment_ids,
    )
    return content, encode_sheet(rendered.sheet)


def build_message(
    source: MessageSource,
    contact: LeasedContact,
    content: Content,
    created_at: datetime,
    files: MessageFiles | None = None,
) -> Message:
    """Return the complete message for the channel, with the link token and the codes filled in."""
    creditor = build_creditor(source.merchant, source.operator)
    files = files or MessageFiles()
    html = content.body_html

    def unmask(text: str) -> str:
        return unmask_contact(source.keys, contact.communication_id, text, content.key_version)

    return Message(
        communication_id=contact.communication_id,
        merchant_id=source.merchant.merchant_id,
        claim_id=contact.claim_id,
        channel=contact.channel,
        recipient=content.recipient,
        sender=choose_sender(source.merchant, contact.channel, creditor),
        sender_name=creditor.legal_name,
        reply_to=creditor.email if contact.channel == "EMAIL" else None,
        language=content.language,
        subject=unmask(content.subject) if content.subject else None,
        body_text=unmask(content.body_text),
        body_html=unmask(html) if html else None,
        created_at=created_at,
        document=files.document,
        attachments=files.attachments,
        logo=find_logo(source.merchant, html),
        is_sandbox=source.merchant.is_sandbox,
        country=_find_country(source, contact),
        unsubscribe_url=_find_unsubscribe_url(source, contact),
    )


def _find_country(source: MessageSource, contact: LeasedContact) -> str | None:
    """Return the destination country of a letter: that of the address, or the merchant's own
    country if the address names none. Return None for other channels."""
    if contact.channel != "LETTER" or contact.address is None:
        return None
    country: str | None = contact.address.get("country")
    return country or find_timezone_country(source.merchant.configuration.timezone)


def _find_unsubscribe_url(source: MessageSource, contact: LeasedContact) -> str | None:
    """Return the address at which one click unsubscribes the recipient of an e-mail."""
    if contact.channel != "EMAIL":
        return None
    reference = build_reference(source.keys, source.merchant.merchant_id, contact.communication_id)
    return f"{source.public_url}/u/{reference}"


def unmask_contact(
    keys: KeyRing, communication_id: UUID, text: str, key_version: int | None = None
) -> str:
    """Replace the masks in stored content by the link token and the codes.

    `key_version` is the version of the secret key that was used when the message was handed over.
    """
    if TOKEN_MASK in text:
        text = text.replace(TOKEN_MASK, derive_token(keys, communication_id, key_version))
    if CODE_MASK in text:
        text = text.replace(
            CODE_MASK, render_code(derive_code(keys, communication_id, key_version))
        )
    return unmask_check_code(keys, communication_id, text, key_version)


def _list_masks(content: Content) -> set[str]:
    texts = (content.subject or "", content.body_text, content.body_html or "")
    return {mask for mask in _MASKS if any(mask in text for text in texts)}
