"""Messages show the merchant's logo, and never the internal names of its steps."""

from datetime import timedelta

import msgspec
import pytest

from dunwell.accounts.merchants.configuration import Brand, Logo
from dunwell.core.workflows.definition import Definition
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.definitions import DOCUMENT
from tests.support.harness import Harness, a_harness
from tests.support.merchants import CONFIGURATION

_NAME = "INTERNAL-NAME-OF-A-FEE"
_TEXTS = dict.fromkeys(
    ("de", "en"),
    "{{ outstanding }} {{ claim.referenceNumber }}\n\n{{ items }}\n\n{{ landing.url }}",
)


def _make_process() -> Definition:
    """Define a message, a fee, and a message that mentions the fee."""
    template = {"EMAIL": {"subject": dict.fromkeys(("de", "en"), "Hallo"), "body": _TEXTS}}
    mail = {"name": "Mail", "kind": "COMMUNICATION", "channel": "EMAIL", "template": "t"}
    steps = [
        {"id": 1, **mail},
        {"id": 2, "name": "Wait", "kind": "WAIT", "days": 3},
        {"id": 3, "name": _NAME, "kind": "FEE", "type": "DUNNING_FEE", "value": "250"},
        {"id": 4, **mail},
    ]
    document = {**DOCUMENT, "steps": steps, "templates": {"t": template}}
    return msgspec.convert(document, Definition)


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    brand = Brand(Logo("image/svg+xml", b"<svg/>", b"\x89PNG"))
    branded = msgspec.structs.replace(CONFIGURATION, brand=brand)
    return await a_harness(resources, clock, _make_process(), configuration=branded)


async def test_a_message_names_a_fee_by_its_type_and_not_by_its_step(harness: Harness) -> None:
    await harness.create()
    await harness.run()
    harness.clock.advance(timedelta(days=7))
    await harness.run()
    message = harness.channels[0].sent[-1]
    assert "Mahngebühr " in message.body_text
    assert _NAME not in message.body_text + (message.body_html or "")


async def test_an_email_embeds_the_logo_that_it_shows(harness: Harness) -> None:
    await harness.create()
    await harness.run()
    [message] = harness.channels[0].sent
    assert message.logo is not None
    assert (message.logo.content_type, message.logo.content) == ("image/png", b"\x89PNG")
    assert f'src="cid:{message.logo.content_id}"' in (message.body_html or "")
    assert 'alt="Nordwind"' in (message.body_html or "")
