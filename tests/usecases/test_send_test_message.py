"""Test messages to oneself: their recipient, their limit, and that they count as no contact."""

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest

from dunwell.accounts.merchants.actor import Actor, Interface, Origin, build_user_actor
from dunwell.accounts.merchants.rights import ALL_RIGHTS, Role
from dunwell.accounts.users.user import UserRoles
from dunwell.cases.rollout.preview.preview_message import WantedMessage
from dunwell.cases.rollout.trials.send_trial import prepare_trial, record_trial, write_trial
from dunwell.contact.sending.channel import Message
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState, RateLimited, ValidationError
from dunwell.platform.resources import Resources
from tests.support.harness import ERP, Harness
from tests.support.texts import a_harness_with_prices, a_texts_definition
from tests.support.users import a_new_user, build_sign_in_services, join

_MAIL = WantedMessage("reminder", "EMAIL", "de")
_COUNTS = """
SELECT (SELECT count(*) FROM communications WHERE merchant_id = $1),
       (SELECT count(*) FROM contact_ledger WHERE merchant_id = $1),
       (SELECT count(*) FROM contact_guards WHERE merchant_id = $1),
       (SELECT count(*) FROM debtor_links WHERE merchant_id = $1),
       (SELECT count(*) FROM debtor_notices WHERE merchant_id = $1),
       (SELECT count(*) FROM events WHERE merchant_id = $1)
"""
_AUDIT = "SELECT subject, details FROM audit_log WHERE merchant_id = $1 AND action = $2"


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness_with_prices(resources, clock)


@pytest.fixture
async def user_id(resources: Resources, harness: Harness) -> UUID:
    roles = UserRoles(Role.OPERATOR)
    person = await join(
        build_sign_in_services(resources), a_new_user("paula@example.org", roles=roles)
    )
    return person.user_id


def acting(user_id: UUID) -> Actor:
    return build_user_actor(str(user_id), ALL_RIGHTS, Origin(Interface.PORTAL))


async def begin(harness: Harness, actor: Actor, wanted: WantedMessage = _MAIL) -> Message:
    async with harness.work(actor) as work:
        trial = await prepare_trial(work, harness.resources, a_texts_definition(), wanted)
    message = await write_trial(trial)
    async with harness.work(actor) as work:
        await record_trial(work, harness.resources, trial, "workflow:1")
    return message


async def test_a_test_message_goes_to_the_signed_in_user_for_any_claim(
    harness: Harness, user_id: UUID
) -> None:
    [claim_id] = await harness.create("RE-1", email="debtor@example.org")

    message = await begin(
        harness, acting(user_id), WantedMessage("reminder", "EMAIL", "de", claim_id)
    )

    assert message.recipient == "paula@example.org"
    assert message.subject == "[Test] Erinnerung RE-1"
    assert (message.claim_id, message.unsubscribe_url) == (0, None)
    assert "debtor@example.org" not in f"{message}"
    assert "__masked" not in message.body_text


async def test_a_test_message_leaves_only_an_audit_entry(harness: Harness, user_id: UUID) -> None:
    [before] = await harness.rows(_COUNTS)

    message = await begin(harness, acting(user_id))

    assert await harness.rows(_COUNTS) == [before]
    [row] = await harness.rows(_AUDIT, "text.send_trial")
    assert row["subject"] == "workflow:1"
    assert row["details"] == {
        "template": "reminder", "channel": "EMAIL", "trialId": str(message.communication_id),
    }  # fmt: skip


async def test_twenty_test_messages_are_allowed_in_an_hour(
    harness: Harness, clock: MovableClock, user_id: UUID
) -> None:
    first_at = clock.now()
    for _ in range(20):
        await begin(harness, acting(user_id))
        clock.advance(timedelta(seconds=10))

    clock.move_to(first_at + timedelta(hours=1) - timedelta(microseconds=1))
    with pytest.raises(RateLimited):
        await begin(harness, acting(user_id))
    clock.advance(timedelta(microseconds=1))
    await begin(harness, acting(user_id))

    assert len(await harness.rows(_AUDIT, "text.send_trial")) == 21


async def test_concurrent_test_messages_do_not_exceed_the_limit(
    harness: Harness, user_id: UUID
) -> None:
    async def one() -> bool:
        try:
            await begin(harness, acting(user_id))
        except RateLimited:
            return False
        return True

    done = await asyncio.gather(*(one() for _ in range(24)))

    assert sum(done) == 20


async def test_the_limit_on_test_messages_applies_per_user(
    resources: Resources, harness: Harness, user_id: UUID
) -> None:
    other = await join(
        build_sign_in_services(resources),
        a_new_user("ole@example.org", roles=UserRoles(Role.OPERATOR)),
    )
    for _ in range(20):
        await begin(harness, acting(user_id))

    message = await begin(harness, acting(other.user_id))

    assert message.recipient == "ole@example.org"


@pytest.mark.parametrize("channel", ["SMS", "LETTER"])
async def test_sms_and_letters_cannot_be_sent_as_test_messages(
    harness: Harness, user_id: UUID, channel: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        await begin(harness, acting(user_id), WantedMessage("reminder", channel, "de"))  # type: ignore[arg-type]
    assert [fault.code for fault in refused.value.faults] == ["NO_ADDRESS"]
    assert await harness.rows(_AUDIT, "text.send_trial") == []


async def test_a_credential_cannot_send_test_messages(harness: Harness) -> None:
    with pytest.raises(InvalidState):
        await begin(harness, ERP)
    assert await harness.rows(_AUDIT, "text.send_trial") == []
