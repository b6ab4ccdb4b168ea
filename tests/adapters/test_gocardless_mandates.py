"""Mandates and collections of the adapter for GoCardless, with a fake GoCardless in its own
process."""

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import date
from uuid import uuid4

import pytest

from dunwell.adapters.payments.gocardless.provider import GoCardlessProvider
from dunwell.cases.payments.mandate_provider import (
    CollectionRequest,
    MandateRequest,
    ProviderMandate,
    ProviderMandateStatus,
    find_mandate_provider,
)
from dunwell.cases.payments.provider import (
    CheckoutCancellation,
    CheckoutState,
    CheckoutStatus,
    PaymentProviderRefused,
    PaymentProviderUnavailable,
)
from tests.adapters.api_provider_contract import describe
from tests.adapters.test_gocardless_provider import SECRETS, build
from tests.support.fake_providers import FakeProviderProcess, a_fake

REQUEST = MandateRequest(
    merchant_id=1,
    request_id=uuid4(),
    currency="EUR",
    description="Nordwind Schuhe GmbH, INV-1001",
    return_url="https://pay.example.org/claim/ab/modality/1/mandate",
    language="de",
)
DUE_ON = date(2026, 3, 16)


@pytest.fixture(scope="module")
def process() -> Iterator[FakeProviderProcess]:
    with a_fake("gocardless") as process:
        process.act("", "set_next_charge", on="2026-03-10")
        yield process


@pytest.fixture
async def adapter(process: FakeProviderProcess) -> AsyncIterator[GoCardlessProvider]:
    process.repair()
    process.take_requests()
    adapter = build(process, SECRETS)
    yield adapter
    await adapter.close()


async def give(adapter: GoCardlessProvider, fake: FakeProviderProcess) -> ProviderMandate:
    checkout = await adapter.open_mandate(replace(REQUEST, request_id=uuid4()))
    fake.act(checkout.checkout_id, "give")
    return await adapter.fetch_mandate_request(checkout.checkout_id)


def ask(mandate: ProviderMandate) -> CollectionRequest:
    assert mandate.mandate_id is not None
    return CollectionRequest(
        uuid4(), mandate.mandate_id, amount_cents=3414, currency="EUR", due_on=DUE_ON,
        description="Nordwind Schuhe GmbH, INV-1001",
    )  # fmt: skip


async def collect(
    adapter: GoCardlessProvider, fake: FakeProviderProcess, *actions: str
) -> tuple[str, CheckoutState]:
    """Collect a payment, let this happen to it, and return its id and state."""
    payment_id = await adapter.collect(ask(await give(adapter, fake)))
    for action in actions:
        fake.act(payment_id, action)
    return payment_id, await adapter.fetch_checkout(payment_id)


async def test_a_mandate_provider_is_found_by_the_name_of_its_account(
    adapter: GoCardlessProvider,
) -> None:
    assert find_mandate_provider({"bank": adapter}, "bank") is adapter
    assert find_mandate_provider({"bank": adapter}, "cards") is None


async def test_a_mandate_is_given_on_the_page_of_a_billing_request(
    adapter: GoCardlessProvider, process: FakeProviderProcess
) -> None:
    request = replace(REQUEST, request_id=uuid4())
    checkout = await adapter.open_mandate(request)
    first, second = process.take_requests()
    names = {"dunwell_request": str(request.request_id)}
    mandate = {
        "currency": "EUR", "scheme": "sepa_core", "description": REQUEST.description,
        "metadata": names,
    }  # fmt: skip
    assert json.loads(first["body"]) == {
        "billing_requests": {"mandate_request": mandate, "metadata": names}
    }
    assert first["headers"]["idempotency-key"] == str(request.request_id)
    assert json.loads(second["body"])["billing_request_flows"]["redirect_uri"] == REQUEST.return_url
    assert checkout.url.startswith(process.origin)
    again = await adapter.open_mandate(request)
    assert again.checkout_id == checkout.checkout_id
    open_state = await adapter.fetch_mandate_request(checkout.checkout_id)
    assert open_state == ProviderMandate(ProviderMandateStatus.OPEN)
    process.act(checkout.checkout_id, "give")
    given = await adapter.fetch_mandate_request(checkout.checkout_id)
    assert given.status is ProviderMandateStatus.ACTIVE
    assert given.reference is not None
    assert given.reference.startswith("GC-")
    assert (given.account_shown, given.next_collection_on) == (
        "SPARKASSE KOELN •••• 11", date(2026, 3, 10),
    )  # fmt: skip


async def test_a_debtor_who_leaves_the_page_gives_no_mandate(
    adapter: GoCardlessProvider, process: FakeProviderProcess
) -> None:
    checkout = await adapter.open_mandate(replace(REQUEST, request_id=uuid4()))
    process.act(checkout.checkout_id, "cancel")
    found = await adapter.fetch_mandate_request(checkout.checkout_id)
    assert found == ProviderMandate(ProviderMandateStatus.CANCELLED)


async def test_a_mandate_in_another_currency_is_refused(adapter: GoCardlessProvider) -> None:
    with pytest.raises(PaymentProviderRefused, match="EUR only"):
        await adapter.open_mandate(replace(REQUEST, currency="GBP"))


@pytest.mark.parametrize(
    ("action", "status"),
    [
        ("confirm", ProviderMandateStatus.ACTIVE),
        ("cancel", ProviderMandateStatus.CANCELLED),
        ("fail", ProviderMandateStatus.FAILED),
        ("expire", ProviderMandateStatus.EXPIRED),
    ],
)
async def test_each_status_of_a_mandate_is_distinguished(
    adapter: GoCardlessProvider, process: FakeProviderProcess, action: str,
    status: ProviderMandateStatus,
) -> None:  # fmt: skip
    mandate = await give(adapter, process)
    assert mandate.mandate_id is not None
    process.act(mandate.mandate_id, action)
    assert (await adapter.fetch_mandate(mandate.mandate_id)).status is status


async def test_a_mandate_can_be_cancelled_twice(
    adapter: GoCardlessProvider, process: FakeProviderProcess
) -> None:
    mandate = await give(adapter, process)
    assert mandate.mandate_id is not None
    for _ in range(2):
        await adapter.cancel_mandate(mandate.mandate_id)
    found = await adapter.fetch_mandate(mandate.mandate_id)
    assert found.status is ProviderMandateStatus.CANCELLED


@pytest.mark.parametrize("has_keys", [True, False])
async def test_a_collection_is_ordered_once_with_its_key(
    adapter: GoCardlessProvider, process: FakeProviderProcess, *, has_keys: bool
) -> None:
    request = ask(await give(adapter, process))
    process.take_requests()
    process.break_answers("LOST", times=6)
    with pytest.raises(PaymentProviderUnavailable):
        await adapter.collect(request)
    process.repair()
    payment_id = await adapter.collect(request)
    ordered = [each for each in process.take_requests() if each["method"] == "POST"]
    assert {each["headers"]["idempotency-key"] for each in ordered} <= {str(request.request_id)}
    if not has_keys:
        process.act("", "forget_keys")
    assert await adapter.collect(request) == payment_id
    assert await adapter.find_collection(request.mandate_id, request.request_id) == payment_id
    assert await adapter.find_collection(request.mandate_id, uuid4()) is None


async def test_the_order_of_a_collection_follows_the_api(
    adapter: GoCardlessProvider, process: FakeProviderProcess
) -> None:
    request = ask(await give(adapter, process))
    process.take_requests()
    await adapter.collect(request)
    [order] = [each for each in process.take_requests() if each["method"] == "POST"]
    assert json.loads(order["body"]) == {
        "payments": {
            "amount": 3414, "currency": "EUR", "charge_date": "2026-03-16",
            "description": REQUEST.description, "retry_if_possible": False,
            "metadata": {"dunwell_request": str(request.request_id)},
            "links": {"mandate": request.mandate_id},
        }
    }  # fmt: skip


async def test_a_collection_too_early_or_without_a_mandate_is_refused(
    adapter: GoCardlessProvider, process: FakeProviderProcess
) -> None:
    mandate = await give(adapter, process)
    with pytest.raises(PaymentProviderRefused, match="too early"):
        await adapter.collect(replace(ask(mandate), due_on=date(2026, 3, 9)))
    assert mandate.mandate_id is not None
    process.act(mandate.mandate_id, "cancel")
    with pytest.raises(PaymentProviderRefused, match="inactive"):
        await adapter.collect(ask(mandate))


@pytest.mark.parametrize(
    ("actions", "status", "movements"),
    [
        ((), CheckoutStatus.PENDING, []),
        (("submit",), CheckoutStatus.PENDING, []),
        (("submit", "settle"), CheckoutStatus.PAID, [("PAID", 3414)]),
        (("submit", "settle", "paid_out"), CheckoutStatus.PAID, [("PAID", 3414)]),
        (("submit", "bounce"), CheckoutStatus.FAILED, []),
        (
            ("submit", "settle", "bounce"),
            CheckoutStatus.PAID,
            [("PAID", 3414), ("CHARGED_BACK", 3414)],
        ),
        (
            ("submit", "settle", "dispute", "win"),
            CheckoutStatus.PAID,
            [("PAID", 3414), ("CHARGED_BACK", 3414), ("CHARGEBACK_REVERSED", 3414)],
        ),
        (("cancel",), CheckoutStatus.CANCELLED, []),
    ],
)
async def test_a_collection_has_a_status_and_movements_like_a_checkout(
    adapter: GoCardlessProvider, process: FakeProviderProcess, actions: tuple[str, ...],
    status: CheckoutStatus, movements: list[tuple[str, int]],
) -> None:  # fmt: skip
    payment_id, state = await collect(adapter, process, *actions)
    assert (state.status, describe(state)) == (status, movements)
    assert payment_id in state.related_ids


async def test_the_reason_of_a_failure_is_the_banks_code(
    adapter: GoCardlessProvider, process: FakeProviderProcess
) -> None:
    payment_id, state = await collect(adapter, process, "submit", "settle")
    assert state.failure_reason is None
    process.act(payment_id, "bounce", cause="insufficient_funds", reason_code="AM04")
    assert (await adapter.fetch_checkout(payment_id)).failure_reason == "AM04"


@pytest.mark.parametrize(
    ("actions", "outcome"),
    [
        ((), CheckoutCancellation.CANCELLED),
        (("cancel",), CheckoutCancellation.CANCELLED),
        (("submit",), CheckoutCancellation.CANNOT_CANCEL),
        (("submit", "settle"), CheckoutCancellation.ALREADY_PAID),
    ],
)
async def test_only_a_collection_that_the_bank_does_not_have_is_cancelled(
    adapter: GoCardlessProvider, process: FakeProviderProcess, actions: tuple[str, ...],
    outcome: CheckoutCancellation,
) -> None:  # fmt: skip
    payment_id, _ = await collect(adapter, process, *actions)
    assert await adapter.cancel_collection(payment_id) is outcome


async def test_a_notification_names_the_mandate(
    adapter: GoCardlessProvider, process: FakeProviderProcess
) -> None:
    mandate = await give(adapter, process)
    assert mandate.mandate_id is not None
    headers, body = process.build_notification(mandate.mandate_id)
    assert adapter.parse_notification(headers, body) == [mandate.mandate_id]
