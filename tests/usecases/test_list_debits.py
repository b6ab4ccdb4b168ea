"""Lists of mandates, collections and files for the bank, and a debit that a user holds back."""

from datetime import UTC, date, datetime
from uuid import UUID

import pytest

from dunwell.cases.direct_debit.debit_values import (
    CancelReason,
    CollectionState,
    Mandate,
    MandateState,
)
from dunwell.cases.direct_debit.files.hold_back import hold_back_debit
from dunwell.cases.direct_debit.files.release_debits import confirm_debit_file
from dunwell.cases.direct_debit.files.store import DebitFileState
from dunwell.cases.direct_debit.listing.list_debits import (
    CollectionFilter,
    DebitFileFilter,
    MandateFilter,
    count_debits_to_release,
    get_collection,
    get_debit_file,
    get_mandate,
    list_all_mandates,
    list_collections,
    list_collections_of_mandate,
    list_debit_files,
    list_debits_to_release,
    list_mandates_of_claim,
)
from dunwell.cases.direct_debit.mandates import revoke_mandate
from dunwell.cases.modalities.sweep_modalities import sweep_modalities
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState, NotFound, ValidationError
from dunwell.platform.resources import Resources
from tests.support.debit_plans import CLERK, DAY, NOTICE, SECOND, Debits, start
from tests.support.disputes import dispute
from tests.support.harness import a_harness
from tests.support.modalities import DEBTOR, Arrangement
from tests.support.notice_sending import send_due_notices


@pytest.fixture
async def debits(resources: Resources, clock: MovableClock) -> Debits:
    return await start(resources, clock)


@pytest.fixture
async def mandate(debits: Debits) -> Mandate:
    """A mandate whose first debit waits for its release."""
    mandate = await debits.sign()
    await debits.plan_at()
    await debits.plan_at(NOTICE)
    return mandate


async def test_mandates_are_listed_by_state_and_time(debits: Debits) -> None:
    first = await debits.sign()
    async with debits.arrangement.harness.work(DEBTOR) as work:
        await revoke_mandate(work, first.claim_id, first.mandate_id)
    debits.arrangement.harness.clock.advance(DAY)
    second = await debits.sign()
    async with debits.arrangement.harness.work(CLERK) as work:
        page = await list_all_mandates(work, limit=1)
        rest = await list_all_mandates(work, limit=1, cursor=page.next_cursor)
        active = await list_all_mandates(work, limit=9, wanted=MandateFilter(MandateState.ACTIVE))
        late = MandateFilter(since=first.signed_at + DAY)
        of_day = await list_all_mandates(work, limit=9, wanted=late)
        of_claim = await list_mandates_of_claim(work, first.claim_id, limit=9)
    ids = [[each.mandate.mandate_id for each in one.items] for one in (page, rest, active, of_day)]
    assert ids == [[each.mandate_id] for each in (second, first, second, second)]
    assert {each.mandate.mandate_id for each in of_claim.items} == {
        first.mandate_id, second.mandate_id,
    }  # fmt: skip
    assert page.items[0].reference_number == "INV-1001"
    assert page.items[0].mandate == second


async def test_a_mandate_is_not_read_at_another_claim(debits: Debits, mandate: Mandate) -> None:
    harness = debits.arrangement.harness
    [other_id] = await harness.create("INV-2", email="second@example.org")
    async with harness.work(CLERK) as work:
        with pytest.raises(NotFound, match="no mandate"):
            await get_mandate(work, other_id, mandate.mandate_id)
        with pytest.raises(NotFound, match="no mandate"):
            await list_collections_of_mandate(work, other_id, mandate.mandate_id, limit=9)


async def test_a_collection_shows_its_mandate_file_and_announcement(
    debits: Debits, mandate: Mandate
) -> None:
    claim_id, harness = mandate.claim_id, debits.arrangement.harness
    file = await debits.release()
    async with harness.work(CLERK) as work:
        page = await list_collections_of_mandate(work, claim_id, mandate.mandate_id, limit=2)
        rest = await list_collections_of_mandate(
            work, claim_id, mandate.mandate_id, limit=2, cursor=page.next_cursor
        )
        planned = CollectionFilter(CollectionState.PLANNED, collected_to=date(2026, 4, 16))
        [found] = (await list_collections(work, limit=9, wanted=planned)).items
        late = CollectionFilter(collected_from=date(2026, 4, 17))
        [last] = (await list_collections(work, limit=9, wanted=late)).items
        details = await get_debit_file(work, file.file_id)
    assert [each.collection.instalment for each in (*page.items, *rest.items)] == [3, 2, 1]
    assert [found.collection.instalment, last.collection.instalment] == [2, 3]
    assert (found.notice_state, found.message_id) == (None, None)
    [first] = details.debits
    assert first.listed == rest.items[0]
    assert first.obstacle is None
    assert (first.listed.notice_state, first.listed.notice_channel) == ("ACCEPTED", "EMAIL")
    assert first.listed.mandate_reference == mandate.reference
    assert first.listed.account_shown == "DE •••• 2051"
    assert first.listed.message_id == file.message_id
    assert details.file == file


async def test_a_debit_that_cannot_be_released_is_listed_with_its_reason(
    debits: Debits, mandate: Mandate
) -> None:
    async with debits.arrangement.harness.work(CLERK) as work:
        [waiting] = await list_debits_to_release(work, limit=9)
        count, oldest_at = await count_debits_to_release(work)
    assert (waiting.listed.collection.instalment, waiting.obstacle) == (1, None)
    assert (count.number, count.is_more, oldest_at) == (1, False, NOTICE)
    await dispute(debits.arrangement.harness, mandate.claim_id)
    async with debits.arrangement.harness.work(CLERK) as work:
        [waiting] = await list_debits_to_release(work, limit=9)
    assert waiting.obstacle == CancelReason.DISPUTED


async def test_files_are_listed_by_what_staff_has_to_do(
    resources: Resources, clock: MovableClock
) -> None:
    debits = await start(resources, clock, second_release=True)
    await debits.sign()
    await debits.plan_at()
    await debits.plan_at(NOTICE)
    proposed = await debits.release(CLERK)

    async def count(wanted: DebitFileFilter) -> int:
        async with debits.arrangement.harness.work(CLERK) as work:
            return len((await list_debit_files(work, limit=9, wanted=wanted)).items)

    of_second = DebitFileFilter(DebitFileState.PROPOSED)
    to_deliver = DebitFileFilter(needs_delivery=True)
    assert [await count(of_second), await count(to_deliver)] == [1, 0]
    async with debits.arrangement.harness.work(SECOND) as work:
        await confirm_debit_file(work, debits.arrangement.harness.resources.keys, proposed.file_id)
    assert [await count(of_second), await count(to_deliver)] == [0, 1]
    await debits.download(proposed)
    assert [await count(of_second), await count(to_deliver)] == [0, 0]
    assert await count(DebitFileFilter(needs_delivery=False)) == 1


async def test_a_debit_that_is_held_back_is_not_made_and_the_debtor_is_reminded(
    debits: Debits, mandate: Mandate
) -> None:
    [collection_id] = await debits.releasable()
    for _ in range(2):
        async with debits.arrangement.harness.work(CLERK) as work:
            await hold_back_debit(work, collection_id)
    assert await debits.releasable() == []
    first = (await debits.collections(mandate))[0]
    assert (first.state, first.cancel_reason) == (
        CollectionState.CANCELLED, CancelReason.HELD_BACK,
    )  # fmt: skip
    with pytest.raises(ValidationError):
        await debits.release(ids=[collection_id])
    # Three days before the instalment is due, as without a mandate.
    await debits.plan_at(datetime(2026, 3, 13, 9, tzinfo=UTC))
    await sweep_modalities(debits.arrangement.harness.resources)
    await send_due_notices(debits.arrangement.harness)
    notices = await debits.arrangement.harness.rows(
        "SELECT kind FROM debtor_notices WHERE merchant_id = $1 AND kind = 'REMINDER'"
    )
    assert len(notices) == 1
    actions = await debits.arrangement.harness.rows(
        "SELECT action FROM audit_log WHERE merchant_id = $1 AND action = 'debit.cancel'"
    )
    assert len(actions) == 1


async def test_a_debit_that_is_held_back_on_its_day_is_missed_from_then_on(
    debits: Debits, mandate: Mandate
) -> None:
    planned = (await debits.collections(mandate))[1]
    debits.arrangement.harness.clock.move_to(datetime(2026, 4, 20, 8, tzinfo=UTC))
    async with debits.arrangement.harness.work(CLERK) as work:
        await hold_back_debit(work, planned.collection_id)
    assert (await debits.look()).schedule[1].awaited_on == date(2026, 4, 20)


async def test_a_released_debit_cannot_be_held_back(debits: Debits, mandate: Mandate) -> None:
    [collection_id] = await debits.releasable()
    await debits.release()
    async with debits.arrangement.harness.work(CLERK) as work:
        with pytest.raises(InvalidState, match="no longer"):
            await hold_back_debit(work, collection_id)
    assert (await debits.states(mandate))[0] is CollectionState.RELEASED


async def test_a_proposal_loses_a_debit_that_is_held_back_and_ends_with_its_last(
    resources: Resources, clock: MovableClock
) -> None:
    debits = await start(resources, clock, second_release=True)
    harness = debits.arrangement.harness
    [claim_id] = await harness.create("INV-2", email="second@example.org")
    arrangement = Arrangement(harness, claim_id)
    for each in (debits, Debits(arrangement, (await arrangement.agree()).modality_id)):
        await each.sign()
    await debits.plan_at()
    await debits.plan_at(NOTICE)
    first, second = await debits.releasable()
    file = await debits.release()
    async with harness.work(CLERK) as work:
        await hold_back_debit(work, first)
        details = await get_debit_file(work, file.file_id)
        [listed] = (await list_debit_files(work, limit=9)).items
    assert [each.listed.collection.collection_id for each in details.debits] == [second]
    assert details.file == listed
    assert (listed.debits, listed.amount_cents) == (1, file.amount_cents // 2)
    async with harness.work(CLERK) as work:
        await hold_back_debit(work, second)
        with pytest.raises(NotFound):
            await get_debit_file(work, file.file_id)
    dissolved = await harness.rows(
        "SELECT action FROM audit_log WHERE merchant_id = $1 AND action = 'debitFile.dissolve'"
    )
    assert len(dissolved) == 1


async def test_another_merchants_debits_are_neither_read_nor_held_back(
    debits: Debits, mandate: Mandate, resources: Resources, clock: MovableClock
) -> None:
    [collection_id] = await debits.releasable()
    file = await debits.release()
    other = await a_harness(resources, clock, key="other")
    async with other.work(CLERK) as work:
        for refused in (
            get_mandate(work, mandate.claim_id, mandate.mandate_id),
            list_mandates_of_claim(work, mandate.claim_id, limit=9),
            list_collections_of_mandate(work, mandate.claim_id, mandate.mandate_id, limit=9),
            get_collection(work, collection_id), get_debit_file(work, file.file_id),
            hold_back_debit(work, collection_id), get_collection(work, UUID(int=9)),
        ):  # fmt: skip
            with pytest.raises(NotFound):
                await refused
        assert not (await list_all_mandates(work, limit=9)).items
        assert not (await list_collections(work, limit=9)).items
        assert not (await list_debit_files(work, limit=9)).items
        assert await list_debits_to_release(work, limit=9) == []
