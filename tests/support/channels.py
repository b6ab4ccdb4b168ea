"""A merchant that contacts debtors by e-mail, SMS and letter, and claims with files."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.configuration import Channel, ChannelSetup
from dunwell.core.files.storage import SealedFiles
from dunwell.core.files.upload import NewUpload
from dunwell.core.files.uploads import accept_upload
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.children import INSPECTOR
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import Harness, ScriptedChannel, a_harness
from tests.support.merchants import CONFIGURATION
from tests.support.uploads import prepare_upload

CHANNELS: tuple[Channel, ...] = ("EMAIL", "SMS", "LETTER")
ADDRESS = {"street": "Heidestraße 17", "postalCode": "51147", "city": "Köln", "country": "DE"}
REACHABLE: dict[str, Any] = {"mobileNumber": "+4915112345678", "address": ADDRESS}
_SMS = "{{ merchant.name }}: {{ outstanding }}. {{ landing.url }}{{ landing.code }}"
TEMPLATE: dict[str, Any] = {
    **DOCUMENT["templates"]["reminder"],
    "SMS": {"body": dict.fromkeys(("de", "en"), _SMS)},
    "LETTER": {
        "subject": {"de": "Brief {{ claim.referenceNumber }}", "en": "Letter"},
        "body": {"de": "Bitte zahlen Sie **{{ outstanding }}**.", "en": "{{ outstanding }}"},
    },
}


def three_channels() -> list[ScriptedChannel]:
    return [ScriptedChannel(channel=channel) for channel in CHANNELS]


async def a_harness_with_channels(
    resources: Resources,
    clock: MovableClock,
    channel: Channel,
    fallbacks: Sequence[Channel] = (),
    **given: Any,
) -> Harness:
    """Return such a merchant. `given` holds the attachments of the step, the template, and
    arguments of a_harness."""
    attachments, template = given.pop("attachments", "NONE"), given.pop("template", TEMPLATE)
    step = {
        **DOCUMENT["steps"][0], "channel": channel, "fallbacks": list(fallbacks),
        "attachments": attachments,
    }  # fmt: skip
    setups: Any = {name: ChannelSetup(adapter="outbox") for name in CHANNELS}
    configuration = msgspec.structs.replace(CONFIGURATION, channels=setups)
    definition = a_definition(
        steps=[step, *DOCUMENT["steps"][1:]], templates={"reminder": template}
    )
    given = {"configuration": configuration, "channels": three_channels()} | given
    return await a_harness(resources, clock, definition, **given)


async def upload(harness: Harness, name: str, content: bytes) -> UUID:
    """Upload a file for the merchant and return its ticket."""
    resources, merchant_id = harness.resources, harness.merchant.merchant_id
    storage = SealedFiles.open(resources)
    ticket_id = resources.ids.new(resources.clock.now())
    new = NewUpload(name, "file", content)
    prepared = await prepare_upload(storage, INSPECTOR, merchant_id, ticket_id, new)
    async with harness.work() as work:
        return await accept_upload(work, prepared)


async def sent_by(harness: Harness) -> dict[Channel, int]:
    return {each.channel: len(each.sent) for each in harness.channels if each.sent}
