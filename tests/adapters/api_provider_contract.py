"""Tests of every adapter that calls the API of a payment provider, on top of those of every
adapter, with a fake provider in a process of its own. Subclass `ApiProviderContract`.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from dunwell.adapters.payments.api_client import PaymentProviderUnusable
from dunwell.adapters.payments.gocardless.provider import GoCardlessProvider
from dunwell.adapters.payments.mollie.provider import MollieProvider
from dunwell.adapters.payments.stripe.provider import StripeProvider
from dunwell.cases.payments.provider import (
    CheckoutCancellation,
    CheckoutRequest,
    CheckoutState,
    CheckoutStatus,
    MoneyMovement,
    PaymentProviderRefused,
    PaymentProviderUnavailable,
)
from tests.adapters.provider_contract import ProviderContract, ProviderUnderTest
from tests.support.fake_providers import FakeProviderProcess

REQUEST = CheckoutRequest(
    merchant_id=7,
    request_id=UUID(int=0),
    amount_cents=10_240,
    currency="EUR",
    reference="INV-1001",
    description="Nordwind Schuhe GmbH, INV-1001",
    return_url="https://dunwell.example/claim/pay/1",
    notification_url="https://dunwell.example/callbacks/payments/shop",
    language="de",
)


PaymentAdapter = StripeProvider | MollieProvider | GoCardlessProvider


@dataclass(frozen=True)
class AccountUnderTest:
    """`build` returns an adapter with other secrets, by their keys in the installation file."""

    adapter: PaymentAdapter
    fake: FakeProviderProcess
    build: Callable[[Mapping[str, bytes]], PaymentAdapter]
    secrets: Mapping[str, bytes]
    # The secret that is the key of the API, and its permission to make refunds as `doctor` and as
    # the fake name it.
    key: str
    refund_permission: tuple[str, str]
    # An account cannot be used without these.
    required: tuple[str, ...]
    test_key: bytes

    async def open(self, **changes: Any) -> str:
        request = replace(REQUEST, request_id=uuid4(), **changes)
        return (await self.adapter.open_checkout(request)).checkout_id

    async def open_paid(self, **changes: Any) -> tuple[str, MoneyMovement]:
        """Open a checkout and pay it at once. Return its id and the PAID movement."""
        checkout_id = await self.open(**changes)
        self.fake.act(checkout_id, "pay")
        [paid] = (await self.adapter.fetch_checkout(checkout_id)).movements
        return checkout_id, paid

    async def list_movements(self, checkout_id: str) -> list[tuple[str, int]]:
        state = await self.adapter.fetch_checkout(checkout_id)
        return describe(state)


def describe(state: CheckoutState) -> list[tuple[str, int]]:
    return [(each.kind.value, each.amount_cents) for each in state.movements]


class BadAnswersContract:
    """What every adapter does with answers that are wrong, late or lost."""

    @pytest.mark.parametrize("mode", ["DOWN", "GARBAGE", "WRONG", "LONG", "RATE_LIMITED"])
    async def test_an_unusable_answer_is_reported_as_unavailable(
        self, account: AccountUnderTest, mode: str
    ) -> None:
        checkout_id, paid = await account.open_paid()
        account.fake.break_answers(mode)
        adapter = account.adapter
        calls = [
            account.open(),
            adapter.fetch_checkout(checkout_id),
            adapter.cancel_checkout(checkout_id),
            adapter.refund(checkout_id, paid, 1, uuid4()),
            adapter.list_payouts(datetime.now(UTC) - timedelta(days=1)),
        ]
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert {type(each) for each in outcomes} == {PaymentProviderUnavailable}, outcomes
        account.fake.repair()
        assert account.fake.count_money()[checkout_id] == 10_240

    async def test_an_answer_about_another_checkout_is_not_used(
        self, account: AccountUnderTest
    ) -> None:
        checkout_id, _ = await account.open_paid()
        account.fake.break_answers("OTHER", times=1)
        with pytest.raises(PaymentProviderUnavailable):
            await account.adapter.fetch_checkout(checkout_id)
        state = await account.adapter.fetch_checkout(checkout_id)
        assert state.status is CheckoutStatus.PAID

    @pytest.mark.parametrize("mode", ["DOWN", "LOST"])
    async def test_a_failed_request_is_repeated_with_its_key(
        self, account: AccountUnderTest, mode: str
    ) -> None:
        account.fake.break_answers(mode, times=2)
        await account.open()
        sent = account.fake.take_requests()
        assert [each["fault"] for each in sent][:3] == [mode, mode, ""]
        assert len({each["headers"]["idempotency-key"] for each in sent[:3]}) == 1
        assert len({each["path"] for each in sent[:3]}) == 1

    async def test_a_refund_whose_answer_is_lost_is_made_once(
        self, account: AccountUnderTest
    ) -> None:
        checkout_id, paid = await account.open_paid()
        key = uuid4()
        account.fake.break_answers("LOST")
        with pytest.raises(PaymentProviderUnavailable):
            await account.adapter.refund(checkout_id, paid, 6_000, key)
        account.fake.repair()
        await account.adapter.refund(checkout_id, paid, 6_000, key)
        with pytest.raises(PaymentProviderRefused):
            await account.adapter.refund(checkout_id, paid, 4_241, uuid4())


class ApiProviderContract(BadAnswersContract, ProviderContract):
    """The module of a subclass has a fixture `account`: the adapter with its fake provider, whose
    faults are switched off."""

    @pytest.fixture
    def provider(self, account: AccountUnderTest) -> ProviderUnderTest:
        pending: set[str] = set()

        async def decide(checkout_id: str, word: str) -> None:
            actions = {"pay": ["pay"], "fail": ["later", "bounce"], "pending": ["later"]}
            if checkout_id in pending:
                actions = {"pay": ["settle"], "fail": ["bounce"]}
            if word == "pending":
                pending.add(checkout_id)
            for action in actions.get(word, [{"chargeback": "dispute"}.get(word, word)]):
                account.fake.act(checkout_id, action)

        async def settle_refund(refund_id: str) -> None:
            account.fake.act(refund_id, "settle")

        account.fake.act("", "forget_keys")
        notify = account.fake.build_notification
        return ProviderUnderTest(account.adapter, decide, notify, settle_refund)

    async def test_a_new_checkout_has_a_page_and_an_end(self, account: AccountUnderTest) -> None:
        checkout = await account.adapter.open_checkout(replace(REQUEST, request_id=uuid4()))
        assert checkout.url.startswith(f"{account.fake.origin}/pay/{checkout.checkout_id}")
        assert checkout.ends_at is not None
        assert checkout.ends_at > datetime.now(UTC)
        state = await account.adapter.fetch_checkout(checkout.checkout_id)
        assert (state.status, describe(state)) == (CheckoutStatus.OPEN, [])

    async def test_a_slow_payment_is_pending_until_it_arrives_or_fails(
        self, account: AccountUnderTest
    ) -> None:
        settled, bounced = await account.open(), await account.open()
        for each in (settled, bounced):
            account.fake.act(each, "later")
            state = await account.adapter.fetch_checkout(each)
            assert (state.status, describe(state)) == (CheckoutStatus.PENDING, [])
        account.fake.act(settled, "settle")
        account.fake.act(bounced, "bounce")
        assert await account.list_movements(settled) == [("PAID", 10_240)]
        state = await account.adapter.fetch_checkout(bounced)
        assert (state.status, describe(state)) == (CheckoutStatus.FAILED, [])

    async def test_a_refund_moves_money_once_it_succeeded(self, account: AccountUnderTest) -> None:
        checkout_id = await account.open()
        account.fake.act(checkout_id, "later")
        account.fake.act(checkout_id, "settle")
        [paid] = (await account.adapter.fetch_checkout(checkout_id)).movements
        refund_id = await account.adapter.refund(checkout_id, paid, 240, key := uuid4())
        assert (await account.list_movements(checkout_id))[1:] == []
        account.fake.act(refund_id, "settle")
        state = await account.adapter.fetch_checkout(checkout_id)
        assert describe(state)[1:] == [("REFUNDED", 240)]
        account.fake.act(refund_id, "fail")
        state = await account.adapter.fetch_checkout(checkout_id)
        assert describe(state)[1:] == [("REFUNDED", 240), ("REFUND_FAILED", 240)]
        returned = {(each.movement_id, each.refund_key) for each in state.movements[1:]}
        assert returned == {(refund_id, key)}
        assert state.status is CheckoutStatus.PAID
        assert account.fake.count_money()[checkout_id] == 10_240

    async def test_a_refund_with_one_key_is_made_once(self, account: AccountUnderTest) -> None:
        checkout_id, paid = await account.open_paid()
        key = uuid4()
        refund_id = await account.adapter.refund(checkout_id, paid, 5_000, key)
        assert await account.adapter.refund(checkout_id, paid, 5_000, key) == refund_id
        # Providers forget a key after some time.
        account.fake.act(checkout_id, "forget_keys")
        assert await account.adapter.refund(checkout_id, paid, 5_000, key) == refund_id
        other_id = await account.adapter.refund(checkout_id, paid, 5_000, uuid4())
        assert other_id != refund_id
        with pytest.raises(PaymentProviderRefused, match="The payment provider refused: "):
            await account.adapter.refund(checkout_id, paid, 241, uuid4())

    async def test_a_chargeback_and_its_reversal_have_one_id(
        self, account: AccountUnderTest
    ) -> None:
        checkout_id, _ = await account.open_paid()
        disputed = account.fake.act(checkout_id, "dispute")
        state = await account.adapter.fetch_checkout(checkout_id)
        assert describe(state)[1:] == [("CHARGED_BACK", 10_240)]
        assert state.status is CheckoutStatus.PAID
        account.fake.act(disputed.get("_dispute", checkout_id), "win")
        state = await account.adapter.fetch_checkout(checkout_id)
        assert describe(state)[1:] == [("CHARGED_BACK", 10_240), ("CHARGEBACK_REVERSED", 10_240)]
        assert len({each.movement_id for each in state.movements[1:]}) == 1
        assert account.fake.count_money()[checkout_id] == 10_240

    async def test_only_a_checkout_that_was_not_paid_can_be_cancelled(
        self, account: AccountUnderTest
    ) -> None:
        ids = [await account.open() for _ in range(3)]
        account.fake.act(ids[1], "pay")
        account.fake.act(ids[2], "later")
        outcomes = [await account.adapter.cancel_checkout(each) for each in ids]
        assert outcomes == [
            CheckoutCancellation.CANCELLED, CheckoutCancellation.ALREADY_PAID,
            CheckoutCancellation.CANNOT_CANCEL,
        ]  # fmt: skip
        state = await account.adapter.fetch_checkout(ids[0])
        assert state.status in (CheckoutStatus.CANCELLED, CheckoutStatus.EXPIRED)
        assert await account.adapter.cancel_checkout(ids[0]) is CheckoutCancellation.CANCELLED
        account.fake.act(ids[2], "bounce")
        assert await account.adapter.cancel_checkout(ids[2]) is CheckoutCancellation.CANCELLED

    @pytest.mark.parametrize("checkout_id", ["../refunds", "cs_1?x=1", "a/b", "a%2Fb", "a" * 256])
    async def test_a_value_that_cannot_be_an_id_is_not_sent(
        self, account: AccountUnderTest, checkout_id: str
    ) -> None:
        with pytest.raises(PaymentProviderUnavailable):
            await account.adapter.fetch_checkout(checkout_id)
        with pytest.raises(PaymentProviderUnavailable):
            await account.adapter.cancel_checkout(checkout_id)
        assert account.fake.take_requests() == []

    @pytest.mark.parametrize("currency", ["JPY", "KWD", "HUF"])
    async def test_a_currency_with_other_decimal_places_is_refused(
        self, account: AccountUnderTest, currency: str
    ) -> None:
        with pytest.raises(PaymentProviderRefused, match=currency):
            await account.open(currency=currency)
        assert account.fake.take_requests() == []

    async def test_a_missing_permission_is_named(self, account: AccountUnderTest) -> None:
        before = account.fake.count_money()
        assert await account.adapter.find_access_problems() == []
        assert account.fake.count_money() == before
        ours, theirs = account.refund_permission
        account.fake.call("permissions", missing=[theirs])
        assert await account.adapter.find_access_problems() == [
            f'The key lacks the permission "{ours}".'
        ]

    async def test_a_wrong_key_is_reported_and_makes_the_provider_unavailable(
        self, account: AccountUnderTest
    ) -> None:
        wrong = account.build({**account.secrets, account.key: b"nonsense"})
        problems = await wrong.find_access_problems()
        assert problems == ["The payment provider does not accept the key."]
        with pytest.raises(PaymentProviderUnavailable):
            await wrong.open_checkout(replace(REQUEST, request_id=uuid4()))
        await wrong.close()

    async def test_an_account_without_its_secrets_cannot_be_used(
        self, account: AccountUnderTest
    ) -> None:
        for key in account.required:
            others = {name: value for name, value in account.secrets.items() if name != key}
            with pytest.raises(PaymentProviderUnusable):
                account.build(others)

    async def test_a_test_key_moves_no_money(self, account: AccountUnderTest) -> None:
        assert account.adapter.moves_money
        assert not account.build({**account.secrets, account.key: account.test_key}).moves_money
