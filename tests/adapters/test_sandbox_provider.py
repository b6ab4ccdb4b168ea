"""The sandbox provider as a payment provider."""

from datetime import timedelta

import pytest

from dunwell.adapters.payments.sandbox.checkout import (
    parse_checkout_reference,
    render_checkout_reference,
)
from dunwell.adapters.payments.sandbox.provider import SandboxProvider
from dunwell.cases.payments.provider import (
    CheckoutState,
    CheckoutStatus,
    NotificationRejected,
)
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.adapters.provider_contract import ASKED, ProviderContract, ProviderUnderTest
from tests.support.sandbox_provider import a_notification, decide

HOURS_24 = timedelta(hours=24)


class TestSandbox(ProviderContract):
    @pytest.fixture
    def provider(self, resources: Resources) -> ProviderUnderTest:
        return ProviderUnderTest(
            SandboxProvider(resources),
            lambda reference, word: decide(resources, reference, word),
            lambda reference: a_notification(resources, reference),
        )


async def test_an_open_checkout_expires_after_a_day_and_a_pending_one_does_not(
    resources: Resources, clock: MovableClock
) -> None:
    provider = SandboxProvider(resources)
    checkout = await provider.open_checkout(ASKED)
    clock.advance(HOURS_24 - timedelta(microseconds=1))
    assert await provider.fetch_checkout(checkout.checkout_id) == CheckoutState(CheckoutStatus.OPEN)
    clock.advance(timedelta(microseconds=1))
    assert await provider.fetch_checkout(checkout.checkout_id) == CheckoutState(
        CheckoutStatus.EXPIRED
    )
    await decide(resources, checkout.checkout_id, "pending")
    assert await provider.fetch_checkout(checkout.checkout_id) == CheckoutState(
        CheckoutStatus.PENDING
    )


@pytest.mark.parametrize(("seconds", "is_locked"), [(0, True), (300, True), (301, False)])
async def test_a_notice_is_valid_for_five_minutes(
    resources: Resources, clock: MovableClock, seconds: int, is_locked: bool
) -> None:
    provider = SandboxProvider(resources)
    checkout = await provider.open_checkout(ASKED)
    headers, body = a_notification(resources, checkout.checkout_id)
    clock.advance(timedelta(seconds=seconds))
    if is_locked:
        assert provider.parse_notification(headers, body) == [checkout.checkout_id]
    else:
        with pytest.raises(NotificationRejected):
            provider.parse_notification(headers, body)


def test_only_rendered_references_are_parsed() -> None:
    checkout_id = ASKED.request_id
    reference = render_checkout_reference(7, checkout_id)
    assert parse_checkout_reference(reference) == (7, checkout_id)
    for text in (
        reference.upper(), f" {reference}", f"{reference}\n", reference.replace("_7_", "_07_"),
        reference.replace("_7_", "_9999999999_"), reference[:-1], reference.replace("7", "\u0667"),
    ):  # fmt: skip
        assert parse_checkout_reference(text) is None
