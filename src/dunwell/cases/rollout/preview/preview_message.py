"""Preview a message as a debtor would get it, in any version, channel and language.

Nothing is sent or stored. Links and codes are masked or lead nowhere. The facts are loaded in a
transaction, which ends before the message is rendered and printed.
"""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.configuration import Channel
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.preview.sample_contact import (
    SAMPLE_ID,
    SampleCase,
    SampleRecipient,
    build_recipient,
    build_sample,
)
from dunwell.cases.rollout.trials.trial_messages import (
    SAMPLE_PAY_BY_DELAY,
    TrialMessage,
    TrialWriter,
    prepare_trial_writer,
)
from dunwell.contact.escalation.contacts.render_leased import compute_pay_by
from dunwell.contact.escalation.due_claim import list_usable_channels
from dunwell.contact.escalation.schedule import ContactPlanned
from dunwell.contact.escalation.store import load_claims
from dunwell.contact.messages.contact import RenderedContact
from dunwell.contact.messages.letters.printer import (
    LetterPrinter,
    ScriptMissing,
    Unprintable,
    describe_missing_scripts,
)
from dunwell.contact.messages.templates.sms_parts import SmsParts, count_parts
from dunwell.contact.sending.channel import Permanent
from dunwell.contact.sending.logo import embed_logo, find_logo
from dunwell.core.claims.access import get_claim
from dunwell.core.workflows.definition import ContactStep, Definition
from dunwell.core.workflows.texts import list_channels
from dunwell.platform.children.process import run_in_thread
from dunwell.platform.errors import Fault, NotFound, ValidationError
from dunwell.platform.resources import Resources
from dunwell.platform.text.shape import suggest_known


@dataclass(frozen=True, slots=True)
class WantedMessage:
    """The message to show."""

    template: str
    channel: Channel
    # None means the claim's language, or else the merchant's, or else the definition's first.
    language: str | None = None
    # None means a sample claim.
    claim_id: int | None = None
    # The kind of sample claim.
    case: SampleCase = "USUAL"


@dataclass(frozen=True, slots=True)
class MessagePreview:
    recipient: str
    language: str
    subject: str | None
    text: str
    html: str | None
    # The parts of an SMS.
    parts: SmsParts | None
    # The letter, and its number of pages.
    pdf: bytes | None
    pages: int | None = None
    # In cents of the merchant's currency. None if the delivery provider has no price for it.
    cost: Decimal | None = None


@dataclass(frozen=True, slots=True)
class PreparedMessage:
    """Everything that a message is rendered from, so that no transaction is needed."""

    writer: TrialWriter
    recipient: SampleRecipient
    message: TrialMessage

    async def write(self) -> RenderedContact:
        """Render the message. Raises ValidationError if the channel cannot carry it."""
        rendered = await run_in_thread(self.writer.write, self.recipient, self.message)
        if isinstance(rendered, Permanent):
            raise ValidationError([Fault("/channel", rendered.reason, "TOO_LONG")])
        return rendered


async def render_preview(
    prepared: PreparedMessage, *, printer: LetterPrinter | None
) -> MessagePreview:
    """Render the preview, outside any transaction. Without a printer, a letter is not printed.

    Raises ValidationError if the channel cannot carry the message or a letter cannot be printed.
    """
    rendered = await prepared.write()
    content, sheet = rendered.content, rendered.sheet
    html = content.body_html
    pdf = await print_letter(printer, sheet) if sheet and printer else None
    pages = await printer.count_pages(pdf) if pdf and printer else None
    channel = prepared.message.channel
    return MessagePreview(
        recipient=content.recipient,
        language=content.language,
        subject=content.subject,
        text=content.body_text,
        html=html and embed_logo(html, find_logo(prepared.writer.merchant, html)),
        parts=count_parts(content.body_text) if channel == "SMS" else None,
        pdf=pdf,
        pages=pages,
        cost=prepared.writer.price(rendered, pages),
    )


async def prepare_message(
    work: Work, resources: Resources, definition: Definition, wanted: WantedMessage,
    *, contact_id: UUID = SAMPLE_ID,
) -> PreparedMessage:  # fmt: skip
    """Load what the message is rendered from. `contact_id` determines its link and codes.

    Raises NotFound (template, channel, claim); ValidationError (language, or the claim has no
    address for the channel); MerchantNotConfigured.
    """
    work.require(Right.CONFIGURE)
    _check_wanted(definition, wanted)
    writer = await prepare_trial_writer(work, resources, definition)
    today = writer.workflow.calendar.local_date(work.now)
    recipient = await get_recipient(work, definition, wanted.claim_id, wanted.case, today=today)
    _check_reachable(recipient, wanted)
    pay_by = await _find_pay_by(work, resources, writer=writer, wanted=wanted, recipient=recipient)
    message = TrialMessage(
        wanted.template,
        wanted.channel,
        today=today,
        pay_by=pay_by,
        language=wanted.language,
        contact_id=contact_id,
    )
    return PreparedMessage(writer, recipient, message)


async def get_recipient(
    work: Work, definition: Definition, claim_id: int | None, case: SampleCase, *, today: date
) -> SampleRecipient:
    """Return a claim of the merchant, or a sample claim, as the recipient. Raises NotFound."""
    work.require(Right.CONFIGURE)
    if claim_id is not None:
        return build_recipient(await get_claim(work, claim_id))
    currency = definition.settings.currency or work.merchant.configuration.currency
    return build_sample(currency, today, case)


async def print_letter(printer: LetterPrinter, sheet: bytes) -> bytes:
    """Return the letter as PDF. Raises ValidationError if it cannot be printed."""
    try:
        return await printer.print_sheet(sheet)
    except ScriptMissing as missing:
        raise ValidationError(
            [Fault("/channel", describe_missing_scripts(missing), "INVALID")]
        ) from None
    except Unprintable:
        message = "The letter takes too much time or memory to print; shorten it."
        raise ValidationError([Fault("/channel", message, "TOO_LONG")]) from None


async def _find_pay_by(
    work: Work,
    resources: Resources,
    writer: TrialWriter,
    wanted: WantedMessage,
    recipient: SampleRecipient,
) -> date | None:
    """Return the pay-by date as if the first step with this template ran now, or None if the
    message has none. Without such a step, return a sample date."""
    today = writer.workflow.calendar.local_date(work.now)
    steps = (each for each in writer.workflow.steps if isinstance(each, ContactStep))
    step = next((each for each in steps if each.template == wanted.template), None)
    if step is None:
        return today + SAMPLE_PAY_BY_DELAY
    facts = recipient.step_facts(today)
    if wanted.claim_id is not None:
        [claim] = await load_claims(work.tx, resources.keys, work.merchant, [wanted.claim_id])
        facts = claim.step_facts(today)
    planned = ContactPlanned(step, 0, wanted.channel)
    return compute_pay_by(writer.workflow, planned, facts, work.now)


def _check_wanted(definition: Definition, wanted: WantedMessage) -> None:
    template = definition.templates.get(wanted.template)
    if template is None:
        nearest = suggest_known(wanted.template, list(definition.templates))
        raise NotFound(f'There is no template "{wanted.template}". {nearest}')
    channels = list_channels(template)
    if wanted.channel not in channels:
        raise NotFound(
            f'"{wanted.template}" has no text for {wanted.channel}; it has {", ".join(channels)}.'
        )
    languages = definition.settings.languages
    if wanted.language is not None and wanted.language not in languages:
        message = f"The texts are in {', '.join(languages)}; choose one of them."
        raise ValidationError([Fault("/language", message, "UNKNOWN_LANGUAGE")])


def _check_reachable(recipient: SampleRecipient, wanted: WantedMessage) -> None:
    usable = list_usable_channels(
        [wanted.channel],
        email=recipient.email, mobile_number=recipient.mobile_number, address=recipient.address,
    )  # fmt: skip
    if not usable:
        message = f"The claim has no address for {wanted.channel}; choose another claim or channel."
        raise ValidationError([Fault("/claim", message, "NO_ADDRESS")])
