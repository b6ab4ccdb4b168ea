"""A debtor who requests messages, and a merchant whose channels deliver them."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.actor import build_debtor_actor
from dunwell.accounts.merchants.configuration import ChannelSetup
from dunwell.contact.notices.notice import (
    Addressee,
    NoticeChannel,
    NoticeLimitReached,
    RecipientUnreachable,
)
from dunwell.contact.notices.occasions.facts import CodeFacts, Facts
from dunwell.contact.notices.send_notice import send_notice
from dunwell.contact.notices.sender import NoticeSender
from dunwell.contact.sending.channel import ChannelAdapter
from dunwell.interfaces.landing.notifications.writer import NoticeWriter
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from dunwell.platform.text.translation import DEBTOR_CATALOGUES, load_languages
from tests.support.children import PRINTER
from tests.support.harness import Harness, a_harness
from tests.support.merchants import CONFIGURATION

DEBTOR = build_debtor_actor("session-1")
WITH_SMS = msgspec.structs.replace(
    CONFIGURATION,
    channels={
        "EMAIL": ChannelSetup(adapter="outbox", sender="claims@nordwind.example"),
        "SMS": ChannelSetup(adapter="outbox", sender="Nordwind"),
    },
)
ADDRESSES: dict[NoticeChannel, str] = {"EMAIL": "erika@example.org", "SMS": "+4915112345678"}
_NOTICES = "SELECT * FROM debtor_notices WHERE merchant_id = $1 ORDER BY notice_id"


@dataclass
class NoticeHarness:
    """A claim's debtor on the merchant's pages."""

    harness: Harness
    claim_id: int
    writer: NoticeWriter

    async def ask(
        self, facts: Facts | None = None, channel: NoticeChannel = "EMAIL", **given: Any
    ) -> UUID | NoticeLimitReached | RecipientUnreachable:
        """Request a message, by default a code. `given` holds recipient and language."""
        recipient = given.get("recipient", ADDRESSES[channel])
        addressee = Addressee(self.claim_id, channel, recipient, given.get("language", "de"))
        notice = self.writer.write(self.harness.merchant, addressee, facts or CodeFacts())
        resources = self.harness.resources
        async with self.harness.work(DEBTOR) as work:
            return await send_notice(work, resources.keys, notice)

    async def request(self, facts: Facts | None = None, **given: Any) -> UUID:
        """Request a message and return its id."""
        notice_id = await self.ask(facts, **given)
        assert isinstance(notice_id, UUID), notice_id
        return notice_id

    async def states(self) -> list[tuple[str, str | None]]:
        """Return each notice's state and failure, with the oldest first."""
        return [(row["state"], row["failure"]) for row in await self.rows()]

    async def rows(self) -> list[Any]:
        return list(await self.harness.rows(_NOTICES))

    async def run(self, *channels: ChannelAdapter) -> None:
        """Send what is due now, as a worker's loop would."""
        sender = NoticeSender(
            self.harness.resources, channels or self.harness.channels, printer=PRINTER
        )
        while await sender.run_once() or not sender.is_idle:
            pass


async def a_notice_harness(
    resources: Resources, clock: MovableClock, **given: Any
) -> NoticeHarness:
    """Return such a debtor. `given` is passed to a_harness."""
    harness = await a_harness(resources, clock, **{"configuration": WITH_SMS} | given)
    [claim_id] = await harness.create()
    writer = NoticeWriter(load_languages(DEBTOR_CATALOGUES), resources.settings.public_url)
    return NoticeHarness(harness, claim_id, writer)
