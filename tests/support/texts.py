"""A workflow with texts in three channels, some of them missing or invalid, and delivery providers
with prices."""

from datetime import datetime
from typing import Any

import msgspec

from dunwell.accounts.installation.installation_file import Installation
from dunwell.accounts.installation.store import InstallationRevision, save_installation
from dunwell.accounts.merchants.configuration import ChannelSetup, Configuration
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.drafts.edit_draft import save_draft
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import Connection
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.harness import Harness, ScriptedDeliveryProvider, a_harness
from tests.support.merchants import CONFIGURATION

# German is complete; in English the letter is missing, and the SMS does not name its sender.
TEXTS: dict[str, Any] = {
    "reminder": {
        "EMAIL": {
            "subject": {
                "de": "Erinnerung {{ claim.referenceNumber }}",
                "en": "Reminder {{ claim.referenceNumber }}",
            },
            "body": {
                "de": "{{ snippet.greeting }},\n\nbitte zahlen Sie **{{ outstanding }}**.\n\n"
                "{{ landing.url }}\n\n{{ snippet.signature }}",
                "en": "{{ snippet.greeting }},\n\nPlease pay **{{ outstanding }}**:\n\n"
                "{{ landing.url }}\n\n{{ snippet.signature }}",
            },
        },
        "SMS": {
            "body": {
                "de": "{{ merchant.name }}: {{ outstanding }} sind offen. {{ landing.url }}",
                "en": "{{ outstanding }} are open. {{ landing.url }}",
            }
        },
        "LETTER": {
            "subject": {"de": "Ihre Rechnung {{ claim.referenceNumber }}"},
            "body": {"de": "{{ snippet.greeting }},\n\n{{ items }}\n\n{{ snippet.signature }}"},
        },
    }
}
_STEPS: list[dict[str, Any]] = [
    {"kind": "COMMUNICATION", "name": "First reminder", "channel": "EMAIL", "fallbacks": ["SMS"]},
    {"kind": "WAIT", "name": "Wait five days", "businessDays": 5},
    {"kind": "FEE", "name": "Dunning fee", "type": "DUNNING_FEE", "value": "250"},
    {"kind": "COMMUNICATION", "name": "Last letter", "channel": "LETTER"},
    {"kind": "WAIT", "name": "Last wait", "days": 14},
]
_LINES: dict[str, Any] = {
    "post": {
        "adapter": "smtp", "channel": "EMAIL", "server": "127.0.0.1:25", "prices": {"*": 0.05},
    },
    "texts": {
        "adapter": "kannel", "channel": "SMS", "server": "http://127.0.0.1:13013",
        "credentials": {"user": "dunwell", "passwordFile": "password"},
        "prices": {"DE": 7.5, "AT": 8},
    },
    "letters": {
        "adapter": "folder", "channel": "LETTER", "folder": "/srv/letters", "prices": {"*": 85},
    },
}  # fmt: skip
_CHANNELS: dict[Any, ChannelSetup] = {
    "EMAIL": ChannelSetup(provider="post", sender="claims@nordwind.example"),
    "SMS": ChannelSetup(provider="texts", sender="Nordwind"),
    "LETTER": ChannelSetup(provider="letters"),
}


def a_texts_definition(**changes: Any) -> Definition:
    steps = [
        {**each, "id": number, **({"template": "reminder"} if "channel" in each else {})}
        for number, each in enumerate(_STEPS, 1)
    ]
    return a_definition(**{"templates": TEXTS, "steps": steps, **changes})


async def a_texts_harness(harness: Harness, definition: Definition | None = None) -> str:
    """Create the workflow, which has only a draft, and return its path below the merchant's."""
    async with harness.work() as work:
        saved = await save_draft(work, "Mahnungen", definition or a_texts_definition())
    return f"/workflows/{saved.workflow_id}"


def sending_by_providers(configuration: Configuration = CONFIGURATION) -> Configuration:
    return msgspec.structs.replace(configuration, channels=_CHANNELS)


async def apply_delivery_providers(tx: Connection, now: datetime) -> None:
    """Apply delivery providers, each with a price."""
    installation = msgspec.convert({"deliveryProviders": _LINES}, Installation)
    revision = InstallationRevision(1, installation)
    assert await save_installation(tx, revision, applied_at=now, applied_by="test")


async def a_harness_with_prices(
    resources: Resources,
    clock: MovableClock,
    provider: ScriptedDeliveryProvider | None = None,
    **given: Any,
) -> Harness:
    """Return a merchant that uses delivery providers on all three channels. `provider` sends
    the e-mails."""
    async with resources.database.transaction() as tx:
        await apply_delivery_providers(tx, clock.now())
    providers = {"post": provider or ScriptedDeliveryProvider()}
    configuration = sending_by_providers(given.pop("configuration", CONFIGURATION))
    return await a_harness(
        resources, clock, configuration=configuration, delivery_providers=providers, **given
    )
