"""Show a message as a debtor would get it, of any version, in any channel and language.

Nothing is sent and nothing is stored. The link and the code in it are masked, or lead nowhere.
"""

from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal

from dunwell.claims.read_claim import read_claim
from dunwell.errors import Fault, NotFound, ValidationError
from dunwell.escalation.compose_contact import Occasion, render_contact
from dunwell.escalation.days_to_pay import foresee_pay_by
from dunwell.escalation.due_claim_store import load_claims
from dunwell.escalation.letterhead import Letterhead
from dunwell.escalation.process import make_process
from dunwell.escalation.schedule import ContactPlanned
from dunwell.installation.document import Installation
from dunwell.installation.store import load_installation
from dunwell.kit.crypto import KeyRing
from dunwell.kit.resources import Resources
from dunwell.kit.shape import render_nearest
from dunwell.merchants.account import Work
from dunwell.merchants.configuration import Channel
from dunwell.merchants.rights import Right
from dunwell.messages.contact import Content
from dunwell.messages.gsm import Parts, count_parts
from dunwell.messages.letters.printer import LetterPrinter, ScriptMissing, describe_missing
from dunwell.rollout.sample_contact import NOBODYS_ID, Reader, make_sample, read_reader
from dunwell.sending.channel import Permanent
from dunwell.sending.logo import find_logo, show_logo
from dunwell.sending.prices import Weight, find_country, price_of
from dunwell.workflows.definition import CommunicationStep, Definition
from dunwell.workflows.text_rules import channels_of
from dunwell.workflows.versions import Version

# From today to the day to pay by, where no step tells.
_MADE_UP = timedelta(days=13)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which message is to be shown."""

    template: str
    channel: Channel
    # None: the claim's, the merchant's, or the definition's first.
    language: str | None = None
    # None: a made-up one.
    claim_id: int | None = None


@dataclass(frozen=True, slots=True)
class MessagePreview:
    recipient: str
    language: str
    subject: str | None
    text: str
    html: str | None
    # How long an SMS is.
    parts: Parts | None
    # A letter's.
    pdf: bytes | None
    # In cents, where the line it would leave by has prices.
    cost: Decimal | None = None


async def preview_message(
    work: Work, resources: Resources, definition: Definition, wanted: Wanted,
    *, printer: LetterPrinter,
) -> MessagePreview:  # fmt: skip
    """Raises NotFound (template, channel, claim), ValidationError (language, or the claim has no
    address for the channel, or the text is too long) and MerchantNotConfigured."""
    work.need(Right.CONFIGURE)
    _check_wanted(definition, wanted)
    process = make_process(definition, work.merchant.configuration.timezone)
    today = process.calendar.local_date(work.now)
    if wanted.claim_id is None:
        currency = definition.settings.currency or work.merchant.configuration.currency
        reader = make_sample(currency, today)
    else:
        reader = read_reader(await read_claim(work, wanted.claim_id))
    _check_reachable(reader, wanted)
    pay_by = await _find_pay_by(work, resources.keys, definition, wanted, reader)
    reader = replace(reader, language=wanted.language or reader.language)
    step = CommunicationStep(1, "Preview", channel=wanted.channel, template=wanted.template)
    occasion = Occasion(
        Version(
            workflow_id=NOBODYS_ID, version_id=NOBODYS_ID, major=1, minor=0, definition=definition
        ),
        step,
        today,
        pay_by,
    )
    installation = (await load_installation(work.tx)).installation
    operator = installation.operator
    head = Letterhead(work.merchant, resources.settings.public_url, resources.keys, operator)
    rendered = render_contact(head, reader.plan(wanted.channel), occasion)
    if isinstance(rendered, Permanent):
        raise ValidationError([Fault("/channel", rendered.reason, "TOO_LONG")])
    content = rendered.content
    html = content.body_html
    return MessagePreview(
        recipient=content.recipient,
        language=content.language,
        subject=content.subject,
        text=content.body_text,
        html=html and show_logo(html, find_logo(work.merchant, html)),
        parts=count_parts(content.body_text) if wanted.channel == "SMS" else None,
        pdf=await _print(printer, rendered.sheet) if rendered.sheet else None,
        cost=_find_cost(work, installation, wanted.channel, content),
    )


def _find_cost(
    work: Work, installation: Installation, channel: Channel, content: Content
) -> Decimal | None:
    """A letter's sheets are known when it is printed, and are not priced here."""
    setup = work.merchant.configuration.channels.get(channel)
    line = (installation.lines or {}).get(setup.line or "") if setup else None
    if line is None or channel == "LETTER":
        return None
    if channel == "EMAIL":
        return price_of(line, Weight(1))
    parts = count_parts(content.body_text).count
    return price_of(line, Weight(parts, find_country(content.recipient)))


async def _print(printer: LetterPrinter, sheet: bytes) -> bytes:
    """Raises ValidationError where the letter would not be printed."""
    try:
        return await printer.print_sheet(sheet)
    except ScriptMissing as missing:
        raise ValidationError([Fault("/channel", describe_missing(missing), "INVALID")]) from None


async def _find_pay_by(
    work: Work, keys: KeyRing, definition: Definition, wanted: Wanted, reader: Reader
) -> date | None:
    """As if the first step with this template ran now; of one that no step uses, made up."""
    process = make_process(definition, work.merchant.configuration.timezone)
    today = process.calendar.local_date(work.now)
    steps = (each for each in definition.steps if isinstance(each, CommunicationStep))
    step = next((each for each in steps if each.template == wanted.template), None)
    if step is None:
        return today + _MADE_UP
    facts = reader.step_facts(today)
    if wanted.claim_id is not None:
        [claim] = await load_claims(work.tx, keys, work.merchant, [wanted.claim_id])
        facts = claim.step_facts(today)
    return foresee_pay_by(process, ContactPlanned(step, 0, wanted.channel), facts, work.now)


def _check_wanted(definition: Definition, wanted: Wanted) -> None:
    template = definition.templates.get(wanted.template)
    if template is None:
        nearest = render_nearest(wanted.template, list(definition.templates))
        raise NotFound(f'There is no template "{wanted.template}". {nearest}')
    channels = channels_of(template)
    if wanted.channel not in channels:
        raise NotFound(
            f'"{wanted.template}" has no text for {wanted.channel}; it has {", ".join(channels)}.'
        )
    languages = definition.settings.languages
    if wanted.language is not None and wanted.language not in languages:
        message = f"The texts are in {', '.join(languages)}; choose one of them."
        raise ValidationError([Fault("/language", message, "UNKNOWN_LANGUAGE")])


def _check_reachable(reader: Reader, wanted: Wanted) -> None:
    addresses = {
        "EMAIL": reader.email,
        "SMS": reader.mobile_number,
        "LETTER": reader.address and reader.address.get("street") and reader.address.get("city"),
    }
    if not addresses[wanted.channel]:
        message = f"The claim has no address for {wanted.channel}; take another claim or channel."
        raise ValidationError([Fault("/claim", message, "NO_ADDRESS")])
