"""Render messages of a definition without sending them, and list the placeholders that its texts
may use."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from uuid import UUID

from dunwell.accounts.installation.delivery_providers import DeliveryProvider
from dunwell.accounts.installation.store import load_installation
from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.configuration import CHANNELS, Channel
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.preview.sample_contact import SAMPLE_ID, SampleRecipient, build_sample
from dunwell.contact.escalation.contacts.compose_contact import (
    MessageSource,
    StepExecution,
    build_message_facts,
    choose_letter_layout,
    render_contact,
)
from dunwell.contact.escalation.prepared_workflow import PreparedWorkflow, prepare_workflow
from dunwell.contact.messages.claim_links import CODE_MASK, TOKEN_MASK
from dunwell.contact.messages.contact import RenderedContact
from dunwell.contact.messages.templates.formatting import MessageValues
from dunwell.contact.messages.templates.placeholders import (
    GREETING,
    GREETING_PLACEHOLDER,
    ITEMS,
    LANDING_CODE,
    PLACEHOLDER_NAMES,
    SNIPPET_PREFIX,
)
from dunwell.contact.messages.templates.sms_parts import count_parts
from dunwell.contact.sending.channel import Permanent
from dunwell.contact.sending.report import PricedMessage, compute_number_country, compute_price
from dunwell.core.workflows.definition import ContactStep, Definition
from dunwell.core.workflows.texts import TextPlace
from dunwell.core.workflows.versions.versions import Version
from dunwell.platform.resources import Resources
from dunwell.platform.text.codes import find_timezone_country


@dataclass(frozen=True, slots=True)
class TrialMessage:
    """A message to render: its template, and the day in the workflow's time zone on which it would
    be sent. `pay_by` is None if the message has no pay-by date. `contact_id` determines its link
    and codes."""

    template: str
    channel: Channel
    today: date
    pay_by: date | None
    language: str | None = None
    contact_id: UUID = SAMPLE_ID


@dataclass(frozen=True, slots=True)
class TrialWriter:
    """Everything that is needed to render a definition's messages."""

    source: MessageSource
    definition: Definition
    workflow: PreparedWorkflow
    providers: Mapping[str, DeliveryProvider]

    @property
    def merchant(self) -> Merchant:
        return self.source.merchant

    def write(
        self, recipient: SampleRecipient, message: TrialMessage
    ) -> RenderedContact | Permanent:
        """Render the message. Return Permanent if the channel cannot carry it.

        Raises LookupError (the text or the address does not exist) and MerchantNotConfigured.
        """
        version = Version(
            workflow_id=SAMPLE_ID, version_id=SAMPLE_ID, major=1, minor=0,
            definition=self.definition,
        )  # fmt: skip
        step = ContactStep(1, "Trial", channel=message.channel, template=message.template)
        recipient = replace(recipient, language=message.language or recipient.language)
        planned = recipient.plan(message.channel, message.contact_id)
        return render_contact(
            self.source, planned, StepExecution(version, step, message.today, message.pay_by)
        )

    def price(self, rendered: RenderedContact, pages: int | None = None) -> Decimal | None:
        """Return the price in cents of the merchant's currency. Return None if the delivery
        provider has no price, or for a letter with an unknown number of pages. Each page counts as
        a sheet."""
        contact = rendered.planned.contact
        setup = self.merchant.configuration.channels.get(contact.channel)
        provider = self.providers.get(setup.provider or "") if setup else None
        if provider is None:
            return None
        if contact.channel == "EMAIL":
            return compute_price(provider, PricedMessage(1))
        if contact.channel == "SMS":
            parts = count_parts(rendered.content.body_text).count
            return compute_price(
                provider, PricedMessage(parts, compute_number_country(rendered.content.recipient))
            )
        if pages is None:
            return None
        country = (contact.address or {}).get("country")
        home_country = find_timezone_country(self.merchant.configuration.timezone)
        return compute_price(
            provider, PricedMessage(pages, *filter(None, [country or home_country]))
        )


async def prepare_trial_writer(
    work: Work, resources: Resources, definition: Definition
) -> TrialWriter:
    work.require(Right.CONFIGURE)
    installation = (await load_installation(work.tx)).installation
    providers = installation.delivery_providers or {}
    source = MessageSource(
        work.merchant,
        resources.settings.public_url,
        keys=resources.keys,
        operator=installation.operator,
        layout=choose_letter_layout(work.merchant, providers),
    )
    workflow = prepare_workflow(definition, work.merchant.configuration)
    return TrialWriter(source, definition, workflow, providers)


# The delay until the pay-by date of a sample, where no workflow step decides it.
SAMPLE_PAY_BY_DELAY = timedelta(days=13)
_HIDDEN = "…"


@dataclass(frozen=True, slots=True)
class PlaceholderExample:
    """A placeholder with an example. `name` is the text between the braces. `becomes` is the sample
    value, or the text of a snippet."""

    name: str
    becomes: str

    @property
    def is_snippet(self) -> bool:
        return self.name.startswith(SNIPPET_PREFIX)


def list_placeholders(
    work: Work, writer: TrialWriter, place: TextPlace
) -> list[PlaceholderExample]:
    """Return the placeholders that may be used at the place, snippets last. Raises
    MerchantNotConfigured."""
    work.require(Right.CONFIGURE)
    today = writer.workflow.calendar.local_date(work.now)
    sample = build_sample(work.merchant.configuration.currency, today)
    planned = sample.plan(place.channel or CHANNELS[0])
    values = MessageValues(
        build_message_facts(writer.source, planned, today, today + SAMPLE_PAY_BY_DELAY),
        place.language,
    )
    shown = [
        PlaceholderExample(name, _mask_secrets(values.text(name))) for name in _list_names(place)
    ]
    if place.group == "snippets":
        return shown
    snippets = writer.definition.snippets
    shown += [
        PlaceholderExample(f"{SNIPPET_PREFIX}{name}", texts.get(place.language, ""))
        for name, texts in snippets.items()
    ]
    if GREETING not in snippets:
        shown.append(PlaceholderExample(GREETING_PLACEHOLDER, values.text(GREETING_PLACEHOLDER)))
    return shown


def _list_names(place: TextPlace) -> Iterator[str]:
    """Yield the names. An SMS has no table of items, and only a letter has a code."""
    allowed_channels: dict[str, tuple[Channel | None, ...]] = {
        ITEMS: ("EMAIL", "LETTER", None), LANDING_CODE: ("LETTER",),
    }  # fmt: skip
    yield from (
        name
        for name in PLACEHOLDER_NAMES
        if place.channel in allowed_channels.get(name, (place.channel,))
    )


def _mask_secrets(text: str) -> str:
    """Replace the masks of links and codes by an ellipsis."""
    return text.replace(TOKEN_MASK, _HIDDEN).replace(CODE_MASK, _HIDDEN)
