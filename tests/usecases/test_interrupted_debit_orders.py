"""Orders of debits at GoCardless that are interrupted, cancelled meanwhile, or arrive late: nothing
is ordered twice, and what is collected is booked. Late answers about mandates change nothing."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta

import pytest

from dunwell.adapters.payments.gocardless.provider import GoCardlessProvider
from dunwell.cases.direct_debit.debit_values import CancelReason, CollectionState
from dunwell.cases.direct_debit.mandates import revoke_mandate
from dunwell.cases.direct_debit.plan_collections import plan_collections
from dunwell.cases.direct_debit.provider_records.store import (
    ProviderDebit,
    finish_debit,
    lease_debits,
)
from dunwell.cases.direct_debit.providers.collect_debits import DebitOrders
from dunwell.cases.direct_debit.providers.settle_mandates import settle_mandate
from dunwell.cases.payments.mandate_provider import (
    CollectionRequest,
    ProviderMandate,
    find_mandate_provider,
)
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.disputes import dispute
from tests.support.fake_providers import FakeProviderProcess, a_fake
from tests.support.modalities import DEBTOR
from tests.support.provider_plans import (
    ACCOUNT,
    ProviderPlan,
    a_provider_plan,
    open_gocardless,
)

LEASE = timedelta(minutes=5)
_PROVIDER_MANDATES = "SELECT state, next_check_at FROM provider_mandates WHERE merchant_id = $1"


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeProviderProcess]:
    with a_fake("gocardless") as process:
        yield process


@pytest.fixture
async def plan(
    resources: Resources, clock: MovableClock, fake: FakeProviderProcess
) -> AsyncIterator[ProviderPlan]:
    async with open_gocardless(fake) as provider:
        plan = await a_provider_plan(resources, clock, fake, provider)
        await plan.give()
        while await plan_collections(resources):
            pass
        yield plan


async def lease(plan: ProviderPlan) -> ProviderDebit:
    """Lease the order of the first instalment for a worker that then hangs."""
    async with plan.arrangement.harness.work() as work:
        (debit,) = await lease_debits(work.tx, ACCOUNT, work.real_now, duration=LEASE, limit=9)
    return debit


async def go_on(plan: ProviderPlan, debit: ProviderDebit) -> None:
    """Let the worker that leased the order do the rest."""
    await DebitOrders(plan.resources, plan.providers)._order_or_cancel(debit)


async def revoke(plan: ProviderPlan) -> None:
    mandate = (await plan.mandates())[0]
    async with plan.arrangement.harness.work(DEBTOR) as work:
        await revoke_mandate(work, plan.arrangement.claim_id, mandate.mandate_id)


async def pay_elsewhere(plan: ProviderPlan) -> None:
    """Let the debtor pay the first instalment in another way, and let the plan notice it."""
    await plan.arrangement.harness.pay(plan.arrangement.claim_id, 3414)
    await make_mandates_due(plan)
    await plan_collections(plan.resources)


async def make_mandates_due(plan: ProviderPlan) -> None:
    await plan.arrangement.harness.rows(
        "UPDATE mandates SET check_at = signed_at WHERE merchant_id = $1 AND check_at IS NOT NULL"
    )


async def make_debits_due(plan: ProviderPlan) -> None:
    await plan.arrangement.harness.rows(
        "UPDATE provider_debits SET next_attempt_at = $2 WHERE merchant_id = $1",
        plan.resources.clock.now(),
    )


async def list_ordered(plan: ProviderPlan) -> list[str]:
    """Return the states of the payments that the provider has for the plan's mandates."""
    ids = {
        row["provider_mandate_id"] for row in await plan.arrangement.harness.rows(
            "SELECT provider_mandate_id FROM provider_mandates WHERE merchant_id = $1"
        )
    }  # fmt: skip
    rows = plan.fake.list_rows("payments")
    return [each["status"] for each in rows if each["links"].get("mandate") in ids]


async def list_paid_cents(plan: ProviderPlan) -> list[int]:
    rows = await plan.arrangement.harness.rows(
        "SELECT amount_cents FROM payments WHERE merchant_id = $1 AND provider_name = 'GOCARDLESS'"
    )
    return [row["amount_cents"] for row in rows]


@pytest.mark.parametrize(("after", "calls"), [(LEASE - timedelta(seconds=1), 0), (LEASE, 1)])
async def test_no_other_worker_takes_an_order_for_five_minutes(
    plan: ProviderPlan, clock: MovableClock, after: timedelta, calls: int
) -> None:
    plan.fake.break_answers("DOWN")
    assert await plan.order() == 1
    plan.fake.repair()
    clock.advance(after)
    assert await plan.order() == calls
    assert await list_ordered(plan) == ["pending_submission"] * calls


async def test_a_cancellation_waits_until_the_order_is_answered(plan: ProviderPlan) -> None:
    debit = await lease(plan)
    await revoke(plan)
    # The provider does not have the debit yet, so that it could not cancel it.
    assert await plan.order() == 0
    await go_on(plan, debit)
    assert await list_ordered(plan) == ["pending_submission"]
    assert await plan.order() == 1
    assert await list_ordered(plan) == ["cancelled"]
    assert (await plan.first()).cancel_reason is CancelReason.MANDATE_ENDED


async def test_a_cancellation_that_is_asked_for_during_a_call_is_still_done(
    plan: ProviderPlan,
) -> None:
    assert await plan.order() == 1
    await make_debits_due(plan)
    debit = await lease(plan)
    await revoke(plan)
    async with plan.arrangement.harness.work() as work:
        await finish_debit(work.tx, debit, work.real_now)
    assert await plan.order() == 1
    assert await list_ordered(plan) == ["cancelled"]
    assert await plan.order() == 0


async def order_without_an_answer(plan: ProviderPlan, debit: ProviderDebit) -> str:
    """Order a debit as a worker does that dies before the answer. Return the payment's id."""
    provider = find_mandate_provider(plan.providers, ACCOUNT)
    assert provider is not None
    return await provider.collect(
        CollectionRequest(
            debit.collection_id, debit.provider_mandate_id, amount_cents=debit.amount_cents,
            currency=debit.currency, due_on=debit.collected_on, description=debit.reference,
        )
    )  # fmt: skip


async def test_an_order_without_an_answer_is_found_after_its_mandate_has_ended(
    plan: ProviderPlan, clock: MovableClock
) -> None:
    debit = await lease(plan)
    payment_id = await order_without_an_answer(plan, debit)
    # The bank has the debit, so that the end of the mandate does not stop it.
    plan.fake.act(payment_id, "submit")
    plan.fake.act(debit.provider_mandate_id, "cancel")
    clock.advance(LEASE)
    assert await plan.order() == 1
    assert (await plan.first()).state is CollectionState.DELIVERED
    await plan.act("settle")
    assert (await plan.first()).state is CollectionState.COLLECTED
    assert await list_paid_cents(plan) == [3414]


async def test_an_order_that_arrives_after_its_cancellation_is_cancelled_as_well(
    plan: ProviderPlan, clock: MovableClock
) -> None:
    debit = await lease(plan)
    clock.advance(LEASE)
    await pay_elsewhere(plan)
    assert await plan.order() == 1
    assert (await plan.first()).cancel_reason is CancelReason.PAID
    await go_on(plan, debit)
    assert await list_ordered(plan) == ["pending_submission"]
    assert await plan.order() == 1
    assert await list_ordered(plan) == ["cancelled"]
    assert await list_paid_cents(plan) == []


async def test_an_order_that_arrives_after_its_cancellation_and_is_collected_is_booked(
    plan: ProviderPlan, clock: MovableClock
) -> None:
    debit = await lease(plan)
    clock.advance(LEASE)
    await pay_elsewhere(plan)
    await plan.order()
    await go_on(plan, debit)
    plan.fake.act(await plan.payment_id(), "submit")
    await plan.order()
    await plan.act("settle")
    assert await list_paid_cents(plan) == [3414]


async def test_money_of_a_cancelled_debit_is_booked_beside_the_debit_that_replaced_it(
    plan: ProviderPlan, clock: MovableClock
) -> None:
    debit = await lease(plan)
    clock.advance(LEASE)
    await revoke(plan)
    await plan.order()
    await go_on(plan, debit)
    plan.fake.act(await plan.payment_id(), "submit")
    plan.fake.act(await plan.open_page(), "give")
    await plan.check_mandates()
    while await plan_collections(plan.resources):
        pass
    await plan.act("settle")
    assert await list_paid_cents(plan) == [3414]
    assert [each.state for each in await plan.collections() if each.instalment == 1] == [
        CollectionState.CANCELLED, CollectionState.RELEASED,
    ]  # fmt: skip
    # The instalment is paid, so the other debit is not made, and the first one counts.
    await make_mandates_due(plan)
    await plan.run()
    await plan.settle(await plan.first())
    assert [
        (each.state, each.cancel_reason) for each in await plan.collections()
        if each.instalment == 1
    ] == [
        (CollectionState.COLLECTED, None), (CollectionState.CANCELLED, CancelReason.PAID),
    ]  # fmt: skip
    assert await list_ordered(plan) == ["confirmed"]


async def test_a_disputed_claim_is_not_debited(plan: ProviderPlan) -> None:
    harness = plan.arrangement.harness
    assert await plan.order() == 1
    await dispute(harness, plan.arrangement.claim_id)
    await make_mandates_due(plan)
    # The second instalment could be ordered now.
    await harness.rows(
        "UPDATE instalments SET due_on = '2026-03-17' WHERE merchant_id = $1 AND number = 2"
    )
    await plan.run()
    assert await list_ordered(plan) == ["cancelled"]
    first, second, _ = await plan.collections()
    assert (first.state, first.cancel_reason) == (CollectionState.CANCELLED, CancelReason.DISPUTED)
    assert second.state is CollectionState.PLANNED


async def test_an_older_answer_about_a_mandate_does_not_replace_a_newer_one(
    plan: ProviderPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two checks ask for a mandate. The one that was answered first is recorded last."""
    (mandate,) = await plan.mandates()
    [row] = await plan.arrangement.harness.rows(_PROVIDER_MANDATES)
    merchant_id = plan.arrangement.harness.merchant.merchant_id
    provider = plan.providers[ACCOUNT]
    assert isinstance(provider, GoCardlessProvider)
    fetch = provider.fetch_mandate

    async def answer_late(mandate_id: str) -> ProviderMandate:
        answer = await fetch(mandate_id)
        monkeypatch.undo()
        await asyncio.to_thread(plan.fake.act, mandate_id, "cancel")
        await settle_mandate(plan.resources, plan.providers, merchant_id, mandate.mandate_id)
        return answer

    monkeypatch.setattr(provider, "fetch_mandate", answer_late)
    await settle_mandate(plan.resources, plan.providers, merchant_id, mandate.mandate_id)
    [after] = await plan.arrangement.harness.rows(_PROVIDER_MANDATES)
    assert (row["state"], after["state"], after["next_check_at"]) == ("ACTIVE", "ENDED", None)
