"""Mandates and debits at GoCardless are listed with those of the bank, also in the API."""

from collections.abc import AsyncIterator, Iterator

import pytest

from dunwell.cases.direct_debit.debit_values import CancelReason, CollectionState
from dunwell.cases.direct_debit.files.hold_back import hold_back_debit
from dunwell.cases.direct_debit.listing.list_debits import (
    CollectionFilter,
    count_debits_to_release,
    get_collection,
    get_mandate,
    list_all_mandates,
    list_collections,
    list_collections_of_mandate,
    list_debits_to_release,
    list_mandates_of_claim,
)
from dunwell.cases.direct_debit.mandates import revoke_mandate
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState, NotFound
from dunwell.platform.resources import Resources
from tests.support.api import a_client
from tests.support.application import an_application, connect
from tests.support.debit_plans import CLERK, Debits, configure, start
from tests.support.fake_providers import FakeProviderProcess, a_fake
from tests.support.harness import a_harness
from tests.support.provider_plans import (
    ACCOUNT,
    ProviderPlan,
    a_provider_plan,
    open_gocardless,
)

_MANDATE_IDS = "SELECT provider_mandate_id FROM provider_mandates WHERE merchant_id = $1"


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeProviderProcess]:
    with a_fake("gocardless") as process:
        yield process


@pytest.fixture
async def plan(
    resources: Resources, clock: MovableClock, fake: FakeProviderProcess
) -> AsyncIterator[ProviderPlan]:
    """A plan whose first debit is at the provider."""
    async with open_gocardless(fake) as provider:
        plan = await a_provider_plan(resources, clock, fake, provider)
        await plan.give()
        await plan.run()
        yield plan


async def _get_provider_mandate_id(plan: ProviderPlan) -> str:
    [row] = await plan.arrangement.harness.rows(_MANDATE_IDS)
    found: str = row["provider_mandate_id"]
    return found


async def test_lists_show_the_ids_and_states_of_the_provider(plan: ProviderPlan) -> None:
    harness, claim_id = plan.arrangement.harness, plan.arrangement.claim_id
    [mandate] = await plan.mandates()
    at_provider = CollectionFilter(CollectionState.DELIVERED)
    async with harness.work(CLERK) as work:
        [listed] = (await list_all_mandates(work, limit=9)).items
        [of_claim] = (await list_mandates_of_claim(work, claim_id, limit=9)).items
        every = (await list_collections(work, limit=9)).items
        [first] = (await list_collections(work, limit=9, wanted=at_provider)).items
        found = await get_collection(work, first.collection.collection_id)
        waiting = await list_debits_to_release(work, limit=9)
        count, _ = await count_debits_to_release(work)
    assert listed == of_claim
    assert (listed.mandate, listed.provider_mandate_id) == (
        mandate, await _get_provider_mandate_id(plan),
    )  # fmt: skip
    assert [each.collection.instalment for each in every] == [3, 2, 1]
    assert {each.provider_name for each in every} == {"GOCARDLESS"}
    assert (first.provider_payment_id, first.message_id) == (await plan.payment_id(), None)
    assert str(first.collection.collected_on) == "2026-03-16"
    assert found == first
    assert [each.provider_payment_id for each in every[:2]] == [None, None]
    # The provider collects, so nobody releases anything.
    assert (waiting, count.number) == ([], 0)


async def test_what_the_bank_collects_has_no_ids_of_a_provider(
    resources: Resources, clock: MovableClock
) -> None:
    debits: Debits = await start(resources, clock)
    await debits.sign()
    await debits.plan_at()
    async with debits.arrangement.harness.work(CLERK) as work:
        [listed] = (await list_all_mandates(work, limit=9)).items
        every = (await list_collections(work, limit=9)).items
    assert listed.provider_mandate_id is None
    assert {(each.provider_name, each.provider_payment_id) for each in every} == {(None, None)}


async def test_the_api_lists_them_with_the_provider(plan: ProviderPlan) -> None:
    harness, claim_id = plan.arrangement.harness, plan.arrangement.claim_id
    await plan.act("submit", "settle")
    async with connect(an_application(plan.resources).app) as http:
        client = await a_client(http, harness)
        [mandate] = (await client.get("/mandates")).json()["result"]["items"]
        path = f"/claims/{claim_id}/mandates"
        of_claim = await client.get(path)
        read = await client.get(f"{path}/{mandate['id']}")
        collected = await client.get("/collections", params={"state": "COLLECTED"})
        of_mandate = await client.get(f"{path}/{mandate['id']}/collections")
        found = {
            (path, name, value): len(
                (await client.get(path, params={name: value})).json()["result"]["items"]
            )
            for path in ("/mandates", "/collections")
            for name, value in (("account", ACCOUNT), ("account", "other"), ("byBank", "true"),
                                ("byBank", "false"))
        }  # fmt: skip
    assert list(found.values()) == [1, 0, 0, 1, 3, 0, 0, 3]
    assert of_claim.json()["result"]["items"] == [mandate]
    assert read.json()["result"] == mandate
    assert (mandate["providerName"], mandate["state"], mandate["text"]) == (
        "GOCARDLESS", "ACTIVE", "",
    )  # fmt: skip
    assert mandate["providerMandateId"] == await _get_provider_mandate_id(plan)
    [first] = collected.json()["result"]["items"]
    assert of_mandate.json()["result"]["items"][2] == first
    assert (first["providerName"], first["providerPaymentId"]) == (
        "GOCARDLESS", await plan.payment_id(),
    )  # fmt: skip
    assert first["paymentId"] is not None


async def test_another_merchant_does_not_see_them(
    plan: ProviderPlan, resources: Resources, clock: MovableClock
) -> None:
    claim_id = plan.arrangement.claim_id
    [mandate], first = await plan.mandates(), await plan.first()
    other = await a_harness(resources, clock, key="other", **configure())
    async with other.work(CLERK) as work:
        for refused in (
            get_mandate(work, claim_id, mandate.mandate_id),
            list_mandates_of_claim(work, claim_id, limit=9),
            list_collections_of_mandate(work, claim_id, mandate.mandate_id, limit=9),
            get_collection(work, first.collection_id),
            hold_back_debit(work, first.collection_id),
            revoke_mandate(work, claim_id, mandate.mandate_id),
        ):
            with pytest.raises(NotFound):
                await refused
        assert not (await list_all_mandates(work, limit=9)).items
        assert not (await list_collections(work, limit=9)).items


async def test_only_a_debit_that_is_not_ordered_can_be_held_back(plan: ProviderPlan) -> None:
    first, second, _ = await plan.collections()
    async with plan.arrangement.harness.work(CLERK) as work:
        with pytest.raises(InvalidState, match="no longer"):
            await hold_back_debit(work, first.collection_id)
    async with plan.arrangement.harness.work(CLERK) as work:
        await hold_back_debit(work, second.collection_id)
    await plan.arrangement.harness.rows(
        "UPDATE mandates SET check_at = signed_at WHERE merchant_id = $1"
    )
    await plan.run()
    _, held, third = await plan.collections()
    assert (held.state, held.cancel_reason) == (CollectionState.CANCELLED, CancelReason.HELD_BACK)
    assert third.state is CollectionState.PLANNED
