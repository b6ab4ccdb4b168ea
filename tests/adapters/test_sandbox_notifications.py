"""The sandbox provider sends its notifications to a receiver."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from dunwell.adapters.payments.sandbox.checkout import NotificationDelivery
from dunwell.adapters.payments.sandbox.notification_sender import (
    CheckoutNotificationSender,
    open_notification_sender,
)
from dunwell.adapters.payments.sandbox.provider import SandboxProvider
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.adapters.provider_contract import ASKED
from tests.support.receiver import Receiver, a_receiver, answers, answers_in_turn
from tests.support.sandbox_provider import decide


@pytest.fixture
async def sender(resources: Resources) -> AsyncIterator[CheckoutNotificationSender]:
    async with open_notification_sender(resources) as sender:
        yield sender


async def pay(resources: Resources, receiver: Receiver, delivery: NotificationDelivery) -> str:
    """Pay a checkout whose notifications go to the receiver, and return its reference."""
    asked = replace(ASKED, notification_url=receiver.url)
    checkout = await SandboxProvider(resources).open_checkout(asked)
    await decide(resources, checkout.checkout_id, "pay", delivery)
    return checkout.checkout_id


async def send_all(sender: CheckoutNotificationSender) -> int:
    """Run until nothing is due, and return the number of sent notifications."""
    sent = 0
    while done := await sender.run_once():
        sent += done
    return sent


async def test_an_immediate_notice_arrives_and_can_be_parsed(
    resources: Resources, sender: CheckoutNotificationSender
) -> None:
    async with a_receiver(answers(200)) as receiver:
        reference = await pay(resources, receiver, NotificationDelivery.AT_ONCE)
        assert await send_all(sender) == 1
    [received] = receiver.received
    named = SandboxProvider(resources).parse_notification(received.headers, received.body)
    assert named == [reference]


async def test_a_delayed_notice_waits_half_a_minute(
    resources: Resources, sender: CheckoutNotificationSender, clock: MovableClock
) -> None:
    async with a_receiver(answers(200)) as receiver:
        await pay(resources, receiver, NotificationDelivery.LATE)
        clock.advance(timedelta(seconds=29))
        assert await send_all(sender) == 0
        clock.advance(timedelta(seconds=1))
        assert await send_all(sender) == 1


@pytest.mark.parametrize(
    ("delivery", "count"), [(NotificationDelivery.TWICE, 2), (NotificationDelivery.NEVER, 0)]
)
async def test_two_or_no_notices_can_be_chosen(
    resources: Resources,
    sender: CheckoutNotificationSender,
    delivery: NotificationDelivery,
    count: int,
) -> None:
    async with a_receiver(answers(200)) as receiver:
        await pay(resources, receiver, delivery)
        assert await send_all(sender) == count
        assert len(receiver.received) == count


async def test_a_refused_notice_is_sent_again_every_half_minute(
    resources: Resources, sender: CheckoutNotificationSender, clock: MovableClock
) -> None:
    async with a_receiver(answers_in_turn(404, 503, 200)) as receiver:
        await pay(resources, receiver, NotificationDelivery.AT_ONCE)
        for count in (1, 2, 3):
            assert await send_all(sender) == 1
            assert len(receiver.received) == count
            clock.advance(timedelta(seconds=30, microseconds=-1))
            assert await send_all(sender) == 0
            clock.advance(timedelta(microseconds=1))
        assert await send_all(sender) == 0


async def test_a_refused_notice_is_abandoned_after_a_day(
    resources: Resources, sender: CheckoutNotificationSender, clock: MovableClock
) -> None:
    async with a_receiver(answers(500)) as receiver:
        await pay(resources, receiver, NotificationDelivery.AT_ONCE)
        sent = []
        for passed in (
            timedelta(days=1, microseconds=-1),
            timedelta(seconds=30),
            timedelta(days=1),
        ):
            clock.advance(passed)
            sent.append(await send_all(sender))
        assert sent == [1, 1, 0]


async def test_two_workers_send_a_notice_once(
    resources: Resources, sender: CheckoutNotificationSender
) -> None:
    async with a_receiver(answers(200)) as receiver:
        await pay(resources, receiver, NotificationDelivery.AT_ONCE)
        sent = await asyncio.gather(*(sender.run_once() for _ in range(5)))
        assert (sum(sent), len(receiver.received)) == (1, 1)
