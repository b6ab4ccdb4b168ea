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
    CheckoutCancelled,
    CheckoutFailed,
    CheckoutNoticeRejected,
    CheckoutOpen,
    CheckoutPending,
    CheckoutRequest,
    CheckoutSucceeded,
    PaymentProvider,
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
    notice_url="http://127.0.0.1:8000/callbacks/payments/sandbox",
    language="de",
)
OTHER = replace(ASKED, request_id=UUID("0195f3a0-0000-7000-8000-000000000002"))

Headers = dict[str, str]


@dataclass(frozen=True)
class ProviderUnderTest:
    """An adapter and its simulated provider. `decide` takes a checkout's reference and one of pay,
    fail, cancel and pending. `notify` returns the notice that the provider would send about it."""

    adapter: PaymentProvider
    decide: Callable[[str, str], Awaitable[None]]
    notify: Callable[[str], tuple[Headers, bytes]]


class ProviderContract:
    @pytest.fixture
    @abstractmethod
    def provider(self) -> ProviderUnderTest:
        """Return the adapter, with a simulated provider if it needs one."""

    async def test_a_new_checkout_has_an_address_and_is_open(
        self, provider: ProviderUnderTest
    ) -> None:
        checkout = await provider.adapter.start(ASKED)
        assert checkout.url.startswith(("http://", "https://"))
        assert await provider.adapter.fetch(7, checkout.provider_reference) == CheckoutOpen()

    async def test_concurrent_and_later_requests_with_one_key_get_one_checkout(
        self, provider: ProviderUnderTest
    ) -> None:
        first = await asyncio.gather(*(provider.adapter.start(ASKED) for _ in range(8)))
        # A retry may come from another page and in another language.
        again = await provider.adapter.start(replace(ASKED, language="en", return_url="http://x/"))
        assert len({*first, again}) == 1

    async def test_two_keys_get_two_checkouts(self, provider: ProviderUnderTest) -> None:
        one, two = [await provider.adapter.start(each) for each in (ASKED, OTHER)]
        assert one.provider_reference != two.provider_reference
        await provider.decide(one.provider_reference, "pay")
        assert await provider.adapter.fetch(7, two.provider_reference) == CheckoutOpen()

    async def test_a_paid_checkout_has_the_paid_amount(self, provider: ProviderUnderTest) -> None:
        checkout = await provider.adapter.start(ASKED)
        await provider.decide(checkout.provider_reference, "pay")
        paid = await provider.adapter.fetch(7, checkout.provider_reference)
        assert isinstance(paid, CheckoutSucceeded)
        assert (paid.amount_cents, paid.currency) == (10240, "EUR")
        assert paid.transaction_id
        assert paid.paid_at.tzinfo is not None
        assert await provider.adapter.fetch(7, checkout.provider_reference) == paid

    @pytest.mark.parametrize(
        ("word", "state"),
        [
            ("fail", CheckoutFailed()),
            ("cancel", CheckoutCancelled()),
            ("pending", CheckoutPending()),
        ],
    )
    async def test_every_other_outcome_is_distinguished(
        self, provider: ProviderUnderTest, word: str, state: object
    ) -> None:
        checkout = await provider.adapter.start(ASKED)
        await provider.decide(checkout.provider_reference, word)
        assert await provider.adapter.fetch(7, checkout.provider_reference) == state

    async def test_a_pending_payment_can_succeed_or_fail(self, provider: ProviderUnderTest) -> None:
        for asked, word, kind in (
            (ASKED, "pay", CheckoutSucceeded),
            (OTHER, "fail", CheckoutFailed),
        ):
            checkout = await provider.adapter.start(asked)
            await provider.decide(checkout.provider_reference, "pending")
            await provider.decide(checkout.provider_reference, word)
            state = await provider.adapter.fetch(7, checkout.provider_reference)
            assert isinstance(state, kind)

    @pytest.mark.parametrize("reference", ["", "x", "sbx_7_" + "0" * 32, "../7", "é\x00"])
    async def test_an_unknown_checkout_has_no_state(
        self, provider: ProviderUnderTest, reference: str
    ) -> None:
        with pytest.raises(PaymentProviderUnavailable):
            await provider.adapter.fetch(7, reference)

    async def test_another_merchants_checkout_has_no_state(
        self, provider: ProviderUnderTest
    ) -> None:
        checkout = await provider.adapter.start(ASKED)
        with pytest.raises(PaymentProviderUnavailable):
            await provider.adapter.fetch(8, checkout.provider_reference)

    async def test_a_notice_names_merchant_and_checkout(self, provider: ProviderUnderTest) -> None:
        checkout = await provider.adapter.start(ASKED)
        notice = provider.adapter.read_notice(*provider.notify(checkout.provider_reference))
        assert (notice.merchant_id, notice.provider_reference) == (7, checkout.provider_reference)

    async def test_a_changed_or_unsigned_notice_is_refused(
        self, provider: ProviderUnderTest
    ) -> None:
        checkout = await provider.adapter.start(ASKED)
        headers, body = provider.notify(checkout.provider_reference)
        for changed in (body + b" ", body.replace(b"7", b"8", 1), b"", b"\xff\xfe", b"{}"):
            with pytest.raises(CheckoutNoticeRejected):
                provider.adapter.read_notice(headers, changed)
        for name in headers:
            if name.lower() == "content-type":
                continue
            for value in ("", "1", "v1,AAAA", "é", "9" * 40):
                with pytest.raises(CheckoutNoticeRejected):
                    provider.adapter.read_notice({**headers, name: value}, body)
        with pytest.raises(CheckoutNoticeRejected):
            provider.adapter.read_notice({}, body)
