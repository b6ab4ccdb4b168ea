"""Instalments that GoCardless collects: mandates, orders, results, and what can go wrong."""

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from dunwell.adapters.payments.gocardless.provider import GoCardlessProvider
from dunwell.cases.direct_debit.debit_values import (
    CancelReason,
    Collection,
    CollectionState,
    MandateEndReason,
    MandateState,
)
from dunwell.cases.direct_debit.mandates import revoke_mandate
from dunwell.cases.direct_debit.provider_records.store import make_named_mandates_due
from dunwell.cases.modalities.modality import ModalityEndReason
from dunwell.cases.modalities.sweep_modalities import sweep_modalities
from dunwell.cases.payments.provider import PaymentProviderKeyRejected
from dunwell.cases.payments.requests.check_payments import PaymentChecks
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState
from dunwell.platform.resources import Resources
from tests.support.fake_providers import FakeProviderProcess, a_fake
from tests.support.modalities import DEBTOR
from tests.support.provider_plans import (
    ACCOUNT,
    ProviderPlan,
    a_provider_plan,
    open_gocardless,
)

_PAYMENTS = (
    "SELECT provider_name, amount_cents, returned_cents FROM payments WHERE merchant_id = $1"
)
_PROVIDER_MANDATES = "SELECT state FROM provider_mandates WHERE merchant_id = $1"
_NOTICES = "SELECT occasion FROM debtor_occasions WHERE merchant_id = $1 ORDER BY occasion"
DUE = datetime(2026, 3, 16, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeProviderProcess]:
    with a_fake("gocardless") as process:
        yield process


@pytest.fixture
async def plan(
    resources: Resources, clock: MovableClock, fake: FakeProviderProcess
) -> AsyncIterator[ProviderPlan]:
    async with open_gocardless(fake) as provider:
        yield await a_provider_plan(resources, clock, fake, provider)


async def list_payments(plan: ProviderPlan) -> list[tuple[str, int, int]]:
    return [tuple(row) for row in await plan.arrangement.harness.rows(_PAYMENTS)]


async def list_requests(plan: ProviderPlan) -> list[tuple[str, bool]]:
    """Return the state of each payment request, and whether it is settled."""
    rows = await plan.arrangement.harness.rows(
        "SELECT state, settled_at IS NOT NULL FROM payment_requests WHERE merchant_id = $1"
    )
    return [tuple(row) for row in rows]


async def list_occasions(plan: ProviderPlan) -> list[str]:
    return [row["occasion"] for row in await plan.arrangement.harness.rows(_NOTICES)]


async def ordered(plan: ProviderPlan) -> Collection:
    """Return the first collection after it was ordered."""
    await plan.give()
    await plan.run()
    return await plan.first()


async def test_the_state_of_a_mandate_comes_from_the_provider(plan: ProviderPlan) -> None:
    checkout_id = await plan.open_page()
    await plan.check_mandates()
    assert await plan.mandates() == []
    plan.fake.act(checkout_id, "give")
    await plan.check_mandates()
    (mandate,) = await plan.mandates()
    assert (mandate.state, mandate.provider, mandate.provider_name) == (
        MandateState.ACTIVE, "bank", "GOCARDLESS",
    )  # fmt: skip
    assert (mandate.account_sealed, mandate.account_shown) == (None, "SPARKASSE KOELN •••• 11")
    assert (mandate.actor_kind, mandate.actor_id) == ("DEBTOR", "session-1")
    events = await plan.arrangement.harness.additions(plan.arrangement.claim_id)
    changed = events[-1]["claim"]["mandate"]
    assert (changed["state"], changed["providerName"]) == ("ACTIVE", "GOCARDLESS")
    # GoCardless notifies the debtor.
    assert "MANDATE" not in " ".join(await list_occasions(plan)).upper()


async def test_a_notification_only_makes_the_worker_ask_at_once(plan: ProviderPlan) -> None:
    checkout_id = await plan.open_page()
    harness = plan.arrangement.harness
    for is_given in (False, True):
        if is_given:
            plan.fake.act(checkout_id, "give")
        # The notification may be forged, or arrive twice: GoCardless is asked.
        for ids in ([checkout_id, "BRQ-unknown"], [checkout_id]):
            async with harness.work() as work:
                await make_named_mandates_due(work.tx, ACCOUNT, ids, work.real_now)
        await plan.check_mandates(timedelta(0))
        assert len(await plan.mandates()) == is_given


async def test_repeated_clicks_open_pages_of_one_mandate(plan: ProviderPlan) -> None:
    assert await plan.open_page() == await plan.open_page()
    await plan.give()
    with pytest.raises(InvalidState, match="already given"):
        await plan.open_page()


async def test_a_debtor_who_left_the_page_can_begin_again(plan: ProviderPlan) -> None:
    first = await plan.open_page()
    plan.fake.act(first, "cancel")
    await plan.check_mandates()
    assert await plan.mandates() == []
    assert await plan.open_page() != first


async def test_an_unused_mandate_page_is_checked_for_thirty_days(plan: ProviderPlan) -> None:
    await plan.open_page()
    states = []
    for after in (timedelta(days=30, minutes=-1), timedelta(minutes=10)):
        await plan.check_mandates(after)
        rows = await plan.arrangement.harness.rows(
            "SELECT state FROM provider_mandates WHERE merchant_id = $1"
        )
        states.append(rows[0]["state"])
    assert states == ["OPEN", "ENDED"]


async def test_a_mandate_for_a_plan_that_has_ended_is_cancelled_at_the_provider(
    plan: ProviderPlan,
) -> None:
    checkout_id = await plan.open_page()
    await plan.arrangement.withdraw(plan.modality.modality_id)
    plan.fake.act(checkout_id, "give")
    await plan.check_mandates()
    await plan.check_mandates()
    assert await plan.mandates() == []
    requests = [each["path"] for each in plan.fake.take_requests()]
    assert any(each.endswith("/actions/cancel") for each in requests)


async def test_a_debit_is_ordered_two_weeks_before_its_day_with_its_key(plan: ProviderPlan) -> None:
    await plan.give()
    plan.fake.take_requests()
    await plan.run()
    first, *others = await plan.collections()
    assert (first.state, str(first.collected_on)) == (CollectionState.DELIVERED, "2026-03-16")
    assert {each.state for each in others} == {CollectionState.PLANNED}
    orders = [
        each for each in plan.fake.take_requests()
        if (each["method"], each["path"]) == ("POST", "/payments")
    ]  # fmt: skip
    assert [each["headers"]["idempotency-key"] for each in orders] == [str(first.collection_id)]
    # GoCardless announces the debit; nobody else does.
    assert [each for each in await list_occasions(plan) if "debit" in each.lower()] == []


async def test_a_debit_gets_the_later_day_on_which_the_provider_collects(
    plan: ProviderPlan,
) -> None:
    await plan.give()
    plan.fake.act("", "set_next_charge", on="2026-03-19")
    await plan.run()
    first = await plan.first()
    assert str(first.collected_on) == "2026-03-19"
    assert str((await plan.look()).schedule[0].awaited_on) == "2026-04-02"


@pytest.mark.parametrize("times", [1, 2, 3, 6])
async def test_an_order_whose_answer_is_lost_is_repeated_and_ordered_once(
    plan: ProviderPlan, clock: MovableClock, times: int
) -> None:
    await plan.give()
    plan.fake.break_answers("LOST", times=times)
    for _ in range(4):
        await plan.run()
        clock.advance(timedelta(minutes=6))
    plan.fake.repair()
    await plan.run()
    assert (await plan.first()).state is CollectionState.DELIVERED
    await plan.act("submit", "settle")
    assert sum(plan.fake.count_money().get(each, 0) for each in [await plan.payment_id()]) == 3414
    rows = await plan.arrangement.harness.rows(
        "SELECT count(*) AS number FROM payment_requests WHERE merchant_id = $1 "
        "AND provider_reference IS NOT NULL"
    )
    assert rows[0]["number"] == 1
    assert await list_payments(plan) == [("GOCARDLESS", 3414, 0)]


async def test_the_database_refuses_a_second_order_of_an_instalment(plan: ProviderPlan) -> None:
    first = await ordered(plan)
    with pytest.raises(asyncpg.UniqueViolationError, match="debit_collections_once"):
        await plan.arrangement.harness.rows(
            "INSERT INTO debit_collections (merchant_id, collection_id, mandate_id, claim_id, "
            "modality_id, instalment, due_on, collected_on, amount_cents, currency, state, "
            "end_to_end_id, changed_at, provider) "
            "SELECT merchant_id, gen_random_uuid(), mandate_id, claim_id, modality_id, instalment, "
            "due_on, collected_on, amount_cents, currency, 'PLANNED', 'X', changed_at, provider "
            "FROM debit_collections WHERE merchant_id = $1 AND instalment = "
            f"{first.instalment}"
        )


async def test_a_collected_debit_is_booked_once(plan: ProviderPlan) -> None:
    first = await ordered(plan)
    await plan.settle(first)
    assert await list_requests(plan) == [("COLLECTING", False)]
    await plan.act("submit", "settle", "paid_out")
    for _ in range(3):
        await plan.settle(first)
    assert await list_requests(plan) == [("COMPLETED", True)]
    assert (await plan.first()).state is CollectionState.COLLECTED
    assert await list_payments(plan) == [("GOCARDLESS", 3414, 0)]
    assert (await plan.look()).schedule[0].is_paid


async def test_a_failed_debit_is_a_missed_instalment_with_seven_days_of_grace(
    plan: ProviderPlan, clock: MovableClock
) -> None:
    await ordered(plan)
    clock.move_to(DUE)
    await plan.act("submit")
    await plan.act("bounce", reason_code="AM04")
    first = await plan.first()
    assert (first.state, first.return_reason) == (CollectionState.RETURNED, "AM04")
    assert await list_payments(plan) == []
    found = []
    # Midnight in Berlin is at 23:00.
    for instant in (
        datetime(2026, 3, 23, 22, 59, tzinfo=UTC), datetime(2026, 3, 23, 23, tzinfo=UTC),
    ):  # fmt: skip
        clock.move_to(instant)
        await sweep_modalities(plan.resources)
        found.append((await plan.look()).ended_reason)
    assert found == [None, ModalityEndReason.BROKEN]


@pytest.mark.parametrize("action", ["bounce", "dispute"])
async def test_money_that_is_taken_back_late_is_a_missed_instalment(
    plan: ProviderPlan, clock: MovableClock, action: str
) -> None:
    await ordered(plan)
    clock.move_to(DUE)
    await plan.act("submit", "settle")
    clock.move_to(DUE + timedelta(days=20))
    await plan.act(action)
    first = await plan.first()
    assert first.state is CollectionState.RETURNED
    assert await list_payments(plan) == [("GOCARDLESS", 3414, 3414)]
    instalment = (await plan.look()).schedule[0]
    assert (instalment.is_paid, str(instalment.missed_after)) == (False, "2026-04-05")
    assert "payment_return" in await list_occasions(plan)


async def test_a_chargeback_that_is_cancelled_counts_again(plan: ProviderPlan) -> None:
    await ordered(plan)
    await plan.act("submit", "settle", "dispute", "win")
    first = await plan.first()
    assert (first.state, first.return_reason) == (CollectionState.COLLECTED, None)
    assert await list_payments(plan) == [("GOCARDLESS", 3414, 0)]


async def test_lost_notifications_are_made_good_by_the_periodic_check(
    plan: ProviderPlan, clock: MovableClock
) -> None:
    await ordered(plan)
    plan.fake.act(await plan.payment_id(), "settle")
    clock.advance(timedelta(days=1))
    await PaymentChecks(plan.resources, plan.providers).run_batch(ACCOUNT, 20)
    assert (await plan.first()).state is CollectionState.COLLECTED
    plan.fake.act(await plan.payment_id(), "bounce")
    clock.advance(timedelta(days=8))
    await PaymentChecks(plan.resources, plan.providers).run_batch(ACCOUNT, 20)
    assert (await plan.first()).state is CollectionState.RETURNED


async def test_a_failed_debit_that_is_collected_again_is_found_without_a_notification(
    plan: ProviderPlan, clock: MovableClock
) -> None:
    await ordered(plan)
    await plan.act("submit", "bounce")
    assert (await plan.first()).state is CollectionState.RETURNED
    for _ in range(3):
        clock.advance(timedelta(days=8))
        await PaymentChecks(plan.resources, plan.providers).run_batch(ACCOUNT, 20)
    for action in ("retry", "settle"):
        plan.fake.act(await plan.payment_id(), action)
    clock.advance(timedelta(days=8))
    await PaymentChecks(plan.resources, plan.providers).run_batch(ACCOUNT, 20)
    assert (await plan.first()).state is CollectionState.COLLECTED
    assert await list_payments(plan) == [("GOCARDLESS", 3414, 0)]


@pytest.mark.parametrize(
    ("action", "reason", "state"),
    [
        ("cancel", MandateEndReason.REVOKED, MandateState.REVOKED),
        ("fail", MandateEndReason.RETURNED, MandateState.REVOKED),
        ("expire", MandateEndReason.UNUSED, MandateState.EXPIRED),
    ],
)
async def test_a_mandate_that_ends_at_the_provider_ends_here_with_its_debits(
    plan: ProviderPlan, action: str, reason: MandateEndReason, state: MandateState
) -> None:
    await ordered(plan)
    rows = await plan.arrangement.harness.rows(
        "SELECT provider_mandate_id FROM provider_mandates WHERE merchant_id = $1"
    )
    plan.fake.act(rows[0]["provider_mandate_id"], action)
    await plan.check_mandates()
    await plan.run()
    (mandate,) = await plan.mandates()
    assert (mandate.state, mandate.ended_reason) == (state, reason)
    collections = await plan.collections()
    assert {(each.state, each.cancel_reason) for each in collections} == {
        (CollectionState.CANCELLED, CancelReason.MANDATE_ENDED)
    }
    # The debtor is asked to pay the instalments, as without a mandate.
    assert str((await plan.look()).schedule[0].missed_after) == "2026-03-16"


async def test_a_mandate_that_is_revoked_here_is_cancelled_at_the_provider(
    plan: ProviderPlan,
) -> None:
    await ordered(plan)
    (mandate,) = await plan.mandates()
    async with plan.arrangement.harness.work(DEBTOR) as work:
        await revoke_mandate(work, plan.arrangement.claim_id, mandate.mandate_id)
    plan.fake.take_requests()
    for _ in range(2):
        await plan.run()
        await plan.check_mandates(timedelta(0))
    cancelled = [
        each["path"].split("/")[1] for each in plan.fake.take_requests()
        if each["path"].endswith("/actions/cancel")
    ]  # fmt: skip
    assert sorted(cancelled) == ["mandates", "payments"]
    assert {each.state for each in await plan.collections()} == {CollectionState.CANCELLED}


async def test_an_instalment_that_is_paid_in_another_way_is_not_collected(
    plan: ProviderPlan,
) -> None:
    await ordered(plan)
    await plan.arrangement.harness.pay(plan.arrangement.claim_id, 3414)
    (mandate,) = await plan.mandates()
    await plan.arrangement.harness.rows(
        "UPDATE mandates SET check_at = signed_at WHERE merchant_id = $1"
    )
    await plan.run()
    first = await plan.first()
    assert (first.state, first.cancel_reason) == (CollectionState.CANCELLED, CancelReason.PAID)
    assert mandate.state is MandateState.ACTIVE


async def test_what_cannot_be_cancelled_any_more_is_booked_and_shown_as_a_surplus_or_part(
    plan: ProviderPlan,
) -> None:
    await ordered(plan)
    plan.fake.act(await plan.payment_id(), "submit")
    (mandate,) = await plan.mandates()
    async with plan.arrangement.harness.work(DEBTOR) as work:
        await revoke_mandate(work, plan.arrangement.claim_id, mandate.mandate_id)
    await plan.run()
    assert (await plan.first()).state is CollectionState.DELIVERED
    await plan.act("settle")
    assert (await plan.first()).state is CollectionState.COLLECTED
    assert await list_payments(plan) == [("GOCARDLESS", 3414, 0)]


async def test_a_new_mandate_does_not_collect_what_an_earlier_one_collects(
    plan: ProviderPlan,
) -> None:
    first = await ordered(plan)
    await plan.act("submit")
    (mandate,) = await plan.mandates()
    async with plan.arrangement.harness.work(DEBTOR) as work:
        await revoke_mandate(work, plan.arrangement.claim_id, mandate.mandate_id)
    await plan.run()
    plan.fake.act(await plan.open_page(), "give")
    await plan.check_mandates()
    await plan.run()
    found = [
        (each.instalment, each.state) for each in await plan.collections()
        if each.state is not CollectionState.CANCELLED
    ]  # fmt: skip
    assert found == [
        (first.instalment, CollectionState.DELIVERED), (2, CollectionState.PLANNED),
        (3, CollectionState.PLANNED),
    ]  # fmt: skip


async def test_a_closed_account_collects_nothing_more_and_its_mandates_end(
    plan: ProviderPlan,
) -> None:
    await plan.give()
    provider = plan.providers[ACCOUNT]
    assert isinstance(provider, GoCardlessProvider)
    provider.is_closed = True
    # The instalment is planned, and not ordered.
    await plan.run()
    first = await plan.first()
    assert (first.state, first.cancel_reason) == (
        CollectionState.CANCELLED, CancelReason.MANDATE_ENDED,
    )  # fmt: skip
    await plan.check_mandates()
    (mandate,) = await plan.mandates()
    assert mandate.ended_reason is MandateEndReason.ACCOUNT_CLOSED
    # The mandate is cancelled at the provider as well.
    await plan.check_mandates(timedelta(0))
    rows = await plan.arrangement.harness.rows(_PROVIDER_MANDATES)
    assert [row["state"] for row in rows] == ["ENDED"]
    with pytest.raises(InvalidState):
        await plan.open_page()


async def test_a_mandate_that_is_given_while_the_account_is_being_closed_is_cancelled(
    plan: ProviderPlan,
) -> None:
    checkout_id = await plan.open_page()
    provider = plan.providers[ACCOUNT]
    assert isinstance(provider, GoCardlessProvider)
    provider.is_closed = True
    plan.fake.act(checkout_id, "give")
    await plan.check_mandates()
    await plan.check_mandates(timedelta(0))
    assert await plan.mandates() == []
    rows = await plan.arrangement.harness.rows(_PROVIDER_MANDATES)
    assert [row["state"] for row in rows] == ["ENDED"]


async def test_mandates_of_a_closed_account_end_when_its_key_no_longer_works(
    plan: ProviderPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    await plan.give()
    provider = plan.providers[ACCOUNT]
    assert isinstance(provider, GoCardlessProvider)

    async def reject(*_: object) -> None:
        raise PaymentProviderKeyRejected("The payment provider does not accept the key.")

    monkeypatch.setattr(provider, "fetch_mandate", reject)
    await plan.check_mandates()
    assert (await plan.mandates())[0].state is MandateState.ACTIVE
    provider.is_closed = True
    await plan.check_mandates()
    (mandate,) = await plan.mandates()
    assert mandate.ended_reason is MandateEndReason.ACCOUNT_CLOSED
    rows = await plan.arrangement.harness.rows(_PROVIDER_MANDATES)
    assert [row["state"] for row in rows] == ["ENDED"]
