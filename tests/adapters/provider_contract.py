"""Tests that every payment provider has to pass. Subclass `ProviderContract` and provide
`provider`:

class TestSandbox(ProviderContract):
    @pytest.fixture
    def provider(self, resources): ...
"""

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from uuid import UUID

import pytest

from dunwell.cases.payments.provider import (
    CheckoutCancellation,
    CheckoutRequest,
    CheckoutStatus,
    MovementKind,
    NotificationRejected,
    PaymentProvider,
    PaymentProviderRefused,
    PaymentProviderUnavailable,
)

ASKED = CheckoutRequest(
    merchant_id=7,
    request_id=UUID("0195f3a0-0000-7000-8000-000000000001"),
    amount_cents=10240,
    currency="EUR",
    reference="INV-1001",
    description="Nordwind Schuhe GmbH, INV-1001",
    return_url="http://127.0.0.1:8000/claim/pay/1",
    notification_url="http://127.0.0.1:8000/callbacks/payments/sandbox",
    language="de",
)
KEY, OTHER_KEY = UUID(int=1), UUID(int=2)
OTHER = replace(ASKED, request_id=UUID("0195f3a0-0000-7000-8000-000000000002"))

Headers = dict[str, str]


async def _refund_at_once(_refund_id: str) -> None:
    """The provider refunds without delay."""


@dataclass(frozen=True)
class ProviderUnderTest:
    """An adapter and its simulated provider. `decide` takes a checkout's id and one of pay, fail,
    cancel, pending and chargeback. `notify` returns the notification that the provider would send
    about it. `settle_refund` lets a refund reach the debtor."""

    adapter: PaymentProvider
    decide: Callable[[str, str], Awaitable[None]]
    notify: Callable[[str], tuple[Headers, bytes]]
    settle_refund: Callable[[str], Awaitable[None]] = _refund_at_once


async def check_unpaid(
    provider: ProviderUnderTest, checkout_id: str, *statuses: CheckoutStatus
) -> None:
    state = await provider.adapter.fetch_checkout(checkout_id)
    assert state.status in statuses
    assert [*state.movements] == []


class ProviderContract:
    @pytest.fixture
    @abstractmethod
    def provider(self) -> ProviderUnderTest:
        """Return the adapter, with a simulated provider if it needs one."""

    async def test_a_new_checkout_has_an_address_and_is_open(
        self, provider: ProviderUnderTest
    ) -> None:
        checkout = await provider.adapter.open_checkout(ASKED)
        assert checkout.url.startswith(("http://", "https://"))
        await check_unpaid(provider, checkout.checkout_id, CheckoutStatus.OPEN)

    async def test_concurrent_and_later_requests_with_one_key_get_one_checkout(
        self, provider: ProviderUnderTest
    ) -> None:
        first = await asyncio.gather(*(provider.adapter.open_checkout(ASKED) for _ in range(8)))
        # A retry may come from another page and in another language.
        again = await provider.adapter.open_checkout(
            replace(ASKED, language="en", return_url="http://x/")
        )
        assert len({*first, again}) == 1

    async def test_two_keys_get_two_checkouts(self, provider: ProviderUnderTest) -> None:
        one, two = [await provider.adapter.open_checkout(each) for each in (ASKED, OTHER)]
        assert one.checkout_id != two.checkout_id
        await provider.decide(one.checkout_id, "pay")
        await check_unpaid(provider, two.checkout_id, CheckoutStatus.OPEN)

    async def test_a_paid_checkout_has_the_paid_amount(self, provider: ProviderUnderTest) -> None:
        checkout = await provider.adapter.open_checkout(ASKED)
        await provider.decide(checkout.checkout_id, "pay")
        paid = await provider.adapter.fetch_checkout(checkout.checkout_id)
        assert paid.status is CheckoutStatus.PAID
        [movement] = paid.movements
        assert movement.kind is MovementKind.PAID
        assert (movement.amount_cents, movement.currency) == (10240, "EUR")
        assert movement.movement_id
        assert movement.moved_at.tzinfo is not None
        assert await provider.adapter.fetch_checkout(checkout.checkout_id) == paid

    # Some providers report a cancelled checkout as expired.
    @pytest.mark.parametrize(
        ("word", "statuses"),
        [
            ("fail", [CheckoutStatus.FAILED]),
            ("cancel", [CheckoutStatus.CANCELLED, CheckoutStatus.EXPIRED]),
            ("pending", [CheckoutStatus.PENDING]),
        ],
    )
    async def test_every_other_outcome_is_distinguished(
        self, provider: ProviderUnderTest, word: str, statuses: list[CheckoutStatus]
    ) -> None:
        checkout = await provider.adapter.open_checkout(ASKED)
        await provider.decide(checkout.checkout_id, word)
        await check_unpaid(provider, checkout.checkout_id, *statuses)

    async def test_a_pending_payment_can_succeed_or_fail(self, provider: ProviderUnderTest) -> None:
        for asked, word, status in (
            (ASKED, "pay", CheckoutStatus.PAID),
            (OTHER, "fail", CheckoutStatus.FAILED),
        ):
            checkout = await provider.adapter.open_checkout(asked)
            await provider.decide(checkout.checkout_id, "pending")
            await provider.decide(checkout.checkout_id, word)
            state = await provider.adapter.fetch_checkout(checkout.checkout_id)
            assert state.status is status

    @pytest.mark.parametrize("reference", ["", "x", "sbx_7_" + "0" * 32, "../7", "é\x00"])
    async def test_an_unknown_checkout_is_reported_as_unavailable(
        self, provider: ProviderUnderTest, reference: str
    ) -> None:
        with pytest.raises(PaymentProviderUnavailable):
            await provider.adapter.fetch_checkout(reference)

    async def test_an_open_checkout_can_be_cancelled_and_a_paid_one_cannot(
        self, provider: ProviderUnderTest
    ) -> None:
        one, two = [await provider.adapter.open_checkout(each) for each in (ASKED, OTHER)]
        for _ in range(2):
            cancellation = await provider.adapter.cancel_checkout(one.checkout_id)
            assert cancellation is CheckoutCancellation.CANCELLED
        ended = await provider.adapter.fetch_checkout(one.checkout_id)
        assert ended.status in (CheckoutStatus.CANCELLED, CheckoutStatus.EXPIRED)
        await provider.decide(two.checkout_id, "pay")
        cancellation = await provider.adapter.cancel_checkout(two.checkout_id)
        assert cancellation is CheckoutCancellation.ALREADY_PAID

    async def test_a_refund_is_a_movement_with_the_returned_id(
        self, provider: ProviderUnderTest
    ) -> None:
        checkout = await provider.adapter.open_checkout(ASKED)
        await provider.decide(checkout.checkout_id, "pay")
        [paid] = (await provider.adapter.fetch_checkout(checkout.checkout_id)).movements
        refund_ids = [
            await provider.adapter.refund(checkout.checkout_id, paid, cents, key)
            for cents, key in ((240, KEY), (240, KEY), (1000, OTHER_KEY))
        ]
        assert refund_ids[0] == refund_ids[1] != refund_ids[2]
        for refund_id in refund_ids[1:]:
            await provider.settle_refund(refund_id)
        state = await provider.adapter.fetch_checkout(checkout.checkout_id)
        refunded = {
            each.movement_id: each.amount_cents
            for each in state.movements
            if each.kind is MovementKind.REFUNDED
        }
        assert state.status is CheckoutStatus.PAID
        assert refunded == {refund_ids[0]: 240, refund_ids[2]: 1000}

    async def test_more_than_was_paid_is_not_refunded(self, provider: ProviderUnderTest) -> None:
        checkout = await provider.adapter.open_checkout(ASKED)
        await provider.decide(checkout.checkout_id, "pay")
        [paid] = (await provider.adapter.fetch_checkout(checkout.checkout_id)).movements
        with pytest.raises(PaymentProviderRefused):
            await provider.adapter.refund(checkout.checkout_id, paid, 10241, KEY)

    async def test_a_chargeback_is_a_movement_of_a_paid_checkout(
        self, provider: ProviderUnderTest
    ) -> None:
        checkout = await provider.adapter.open_checkout(ASKED)
        await provider.decide(checkout.checkout_id, "pay")
        await provider.decide(checkout.checkout_id, "chargeback")
        state = await provider.adapter.fetch_checkout(checkout.checkout_id)
        assert state.status is CheckoutStatus.PAID
        kinds = [(each.kind, each.amount_cents) for each in state.movements]
        assert kinds == [(MovementKind.PAID, 10240), (MovementKind.CHARGED_BACK, 10240)]

    async def test_a_notification_names_the_checkout(self, provider: ProviderUnderTest) -> None:
        checkout = await provider.adapter.open_checkout(ASKED)
        state = await provider.adapter.fetch_checkout(checkout.checkout_id)
        headers, body = provider.notify(checkout.checkout_id)
        named = provider.adapter.parse_notification(headers, body)
        assert set(named) & {checkout.checkout_id, *state.related_ids}

    async def test_a_changed_or_unsigned_notification_is_refused(
        self, provider: ProviderUnderTest
    ) -> None:
        checkout = await provider.adapter.open_checkout(ASKED)
        headers, body = provider.notify(checkout.checkout_id)
        flipped = body[:-2] + bytes([body[-2] ^ 1]) + body[-1:]
        for changed in (body + b" ", flipped, b"", b"\xff\xfe", b"{}"):
            with pytest.raises(NotificationRejected):
                provider.adapter.parse_notification(headers, changed)
        for name in headers:
            if name.lower() == "content-type":
                continue
            for value in ("", "1", "v1,AAAA", "é", "9" * 40):
                with pytest.raises(NotificationRejected):
                    provider.adapter.parse_notification({**headers, name: value}, body)
        with pytest.raises(NotificationRejected):
            provider.adapter.parse_notification({}, body)
