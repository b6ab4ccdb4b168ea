"""Messages of a definition written before any is sent: as they would be, for a claim that is made
up or the merchant's own, at a price that its line names. Nothing is stored.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from uuid import UUID

from dunwell.accounts.installation.delivery_providers import Line
from dunwell.accounts.installation.store import load_installation
from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.configuration import Channel
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.sample_contact import NOBODYS_ID, Reader
from dunwell.contact.escalation.contacts.compose_contact import (
    Letterhead,
    Occasion,
    find_layout,
    render_contact,
)
from dunwell.contact.escalation.process import Process, build_process
from dunwell.contact.messages.contact import RenderedContact
from dunwell.contact.messages.gsm import count_parts
from dunwell.contact.sending.channel import Permanent
from dunwell.contact.sending.report import Weight, find_country, price_of
from dunwell.core.workflows.definition import CommunicationStep, Definition
from dunwell.core.workflows.versions.versions import Version
from dunwell.platform.resources import Resources
from dunwell.platform.text.codes import find_home


@dataclass(frozen=True, slots=True)
class Wish:
    """One message: its text, and on which day in the process's zone it would be sent. `pay_by`:
    None: there is no such day. `contact_id`: what its link and codes are made from."""

    template: str
    channel: Channel
    today: date
    pay_by: date | None
    language: str | None = None
    contact_id: UUID = NOBODYS_ID


@dataclass(frozen=True, slots=True)
class TrialWriter:
    """What a definition's messages are written with."""

    head: Letterhead
    definition: Definition
    process: Process
    lines: Mapping[str, Line]

    @property
    def merchant(self) -> Merchant:
        return self.head.merchant

    def write(self, reader: Reader, wish: Wish) -> RenderedContact | Permanent:
        """Permanent: the channel could not carry it. Raises LookupError (there is no such text, or
        no address for it) and MerchantNotConfigured."""
        version = Version(
            workflow_id=NOBODYS_ID, version_id=NOBODYS_ID, major=1, minor=0,
            definition=self.definition,
        )  # fmt: skip
        step = CommunicationStep(1, "Trial", channel=wish.channel, template=wish.template)
        reader = replace(reader, language=wish.language or reader.language)
        planned = reader.plan(wish.channel, wish.contact_id)
        return render_contact(self.head, planned, Occasion(version, step, wish.today, wish.pay_by))

    def price(self, rendered: RenderedContact, pages: int | None = None) -> Decimal | None:
        """In cents of the merchant's currency; None: its line names no price, or it is a letter of
        which nobody knows the pages. A page is a sheet."""
        contact = rendered.planned.contact
        setup = self.merchant.configuration.channels.get(contact.channel)
        line = self.lines.get(setup.line or "") if setup else None
        if line is None:
            return None
        if contact.channel == "EMAIL":
            return price_of(line, Weight(1))
        if contact.channel == "SMS":
            parts = count_parts(rendered.content.body_text).count
            return price_of(line, Weight(parts, find_country(rendered.content.recipient)))
        if pages is None:
            return None
        country = (contact.address or {}).get("country")
        home = find_home(self.merchant.configuration.timezone)
        return price_of(line, Weight(pages, *filter(None, [country or home])))


async def open_trial(work: Work, resources: Resources, definition: Definition) -> TrialWriter:
    work.need(Right.CONFIGURE)
    installation = (await load_installation(work.tx)).installation
    lines = installation.lines or {}
    head = Letterhead(
        work.merchant,
        resources.settings.public_url,
        keys=resources.keys,
        operator=installation.operator,
        layout=find_layout(work.merchant, lines),
    )
    process = build_process(definition, work.merchant.configuration)
    return TrialWriter(head, definition, process, lines)
