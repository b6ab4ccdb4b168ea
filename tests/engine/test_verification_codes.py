"""Recipients can verify each e-mail and SMS by the short code in it, and by no other code."""

import re

import pytest

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import Installation
from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.messages.claim_links import derive_check_code, digest_check_code
from dunwell.contact.messages.templates.facts import CHECK_MASK
from dunwell.contact.notices.occasions.facts import CodeFacts, LinkFacts
from dunwell.interfaces.landing.sign_in.attempt_limits import WrongAttempt
from dunwell.interfaces.landing.sign_in.routes_authenticity import (
    ConfirmedMessage,
    TypedMessage,
    verify_message,
)
from dunwell.interfaces.landing.sign_in.visitor_limits import digest_visitor
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.channels import REACHABLE, a_harness_with_channels
from tests.support.harness import Harness
from tests.support.notices import NoticeHarness, a_notice_harness
from tests.support.operators import AGENCY

_KEPT = "SELECT body_text FROM communication_contents WHERE merchant_id = $1"
_CODES = "SELECT claim_id, code_digest, key_version FROM check_codes WHERE merchant_id = $1"
_COLLIDE = """
INSERT INTO check_codes
    (merchant_id, message_id, code_digest, claim_id, created_at, key_version)
SELECT merchant_id, gen_random_uuid(), code_digest, $2, created_at, key_version
FROM check_codes WHERE merchant_id = $1
"""


def _find_code(text: str) -> str:
    [code] = re.findall(r"\b[0-9A-Z]{4}-[0-9A-Z]{4}\b(?!-)", text)
    return str(code)


async def _check(harness: Harness, code: str, amount: str = "102,40") -> bool:
    resources = harness.resources
    visitor = digest_visitor(resources.keys, "192.0.2.1")
    typed = TypedMessage(code, amount, resources.settings.public_url)
    async with resources.database.transaction() as tx:
        found = await verify_message(
            tx, resources.keys, typed, visitor=visitor, now=resources.clock.now()
        )
    assert isinstance(found, ConfirmedMessage | WrongAttempt)
    return isinstance(found, ConfirmedMessage)


@pytest.mark.parametrize(("channel", "place"), [("EMAIL", 0), ("SMS", 1)])
async def test_a_contact_is_confirmed_by_its_code_and_the_stored_text_masks_it(
    resources: Resources, clock: MovableClock, channel: Channel, place: int
) -> None:
    harness = await a_harness_with_channels(resources, clock, channel)
    [claim_id] = await harness.create(**REACHABLE)
    await harness.run()
    [message] = harness.channels[place].sent

    code = _find_code(message.body_text)

    assert await _check(harness, code.lower().replace("-", " "))
    [kept] = await harness.rows(_KEPT)
    assert CHECK_MASK in kept["body_text"]
    assert code not in kept["body_text"]
    digest = digest_check_code(
        resources.keys, derive_check_code(resources.keys, message.communication_id)
    )
    rows = [tuple(row) for row in await harness.rows(_CODES)]
    assert rows == [(claim_id, digest, resources.keys.version)]


async def test_a_letter_has_no_short_verification_code(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_channels(resources, clock, "LETTER")
    await harness.create(**REACHABLE)
    await harness.run()
    assert await harness.rows(_CODES) == []


async def test_a_code_that_two_messages_share_confirms_both(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_channels(resources, clock, "EMAIL")
    await harness.create(**REACHABLE)
    items = [{"reference": "R", "type": "PRIMARY", "value": "777"}]
    await harness.run()
    [message] = harness.channels[0].sent
    [other_id] = await harness.create("INV-2", **REACHABLE | {"items": items})
    await harness.rows(_COLLIDE, other_id)
    code = _find_code(message.body_text)

    found = [await _check(harness, code, amount) for amount in ("102,40", "7,77", "7,78")]

    assert found == [True, True, False]


async def test_a_notice_is_confirmed_by_its_code(resources: Resources, clock: MovableClock) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    await _send(notice_harness, LinkFacts())
    [message] = notice_harness.harness.channels[0].sent
    assert await _check(notice_harness.harness, _find_code(message.body_text))


async def test_a_sign_in_code_message_has_no_verification_code(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    await _send(notice_harness, CodeFacts())
    [message] = notice_harness.harness.channels[0].sent
    assert "/real" not in message.body_text
    assert await notice_harness.harness.rows(_CODES) == []


async def test_contacts_name_the_collection_agency_that_runs_the_installation(
    resources: Resources, clock: MovableClock
) -> None:
    await apply_installation(resources, Installation(operator=AGENCY))
    harness = await a_harness_with_channels(resources, clock, "EMAIL")
    await harness.create(**REACHABLE)
    await harness.run()
    [message] = harness.channels[0].sent
    assert "Kontor Inkasso GmbH zieht diese Forderung für" in message.body_text
    assert "Aufsichtsbehörde: Bundesamt für Justiz, 53094 Bonn" in message.body_text


async def _send(notice_harness: NoticeHarness, facts: LinkFacts | CodeFacts) -> None:
    await notice_harness.request(facts)
    await notice_harness.run()
