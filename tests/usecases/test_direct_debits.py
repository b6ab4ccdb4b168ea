"""Direct debits of a payment plan: mandate, notification, release, file, and the bank's results."""

import hashlib
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

import pytest

from dunwell.cases.direct_debit.debit_results import (
    DebitOutcome,
    DebitResult,
    RecordedResult,
    record_debit_result,
)
from dunwell.cases.direct_debit.debit_values import (
    CancelReason,
    CollectionState,
    Mandate,
    MandateEndReason,
    MandateState,
)
from dunwell.cases.direct_debit.files.release_debits import (
    confirm_debit_file,
    dissolve_debit_file,
)
from dunwell.cases.direct_debit.files.store import DebitFileState
from dunwell.cases.direct_debit.mandates import (
    list_mandates,
    open_account,
    revoke_mandate,
)
from dunwell.cases.direct_debit.plan_collections import plan_collections
from dunwell.cases.modalities.modality import ModalityEndReason
from dunwell.cases.modalities.sweep_modalities import sweep_modalities
from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState, NotFound, ValidationError
from dunwell.platform.resources import Resources
from tests.support.debit_plans import (
    CLERK,
    DAY,
    NOTICE,
    SECOND,
    Debits,
    deliver_first,
    find_texts,
    start,
)
from tests.support.direct_debits import CREDITOR_ID, DEBTOR_IBAN
from tests.support.disputes import dispute
from tests.support.modalities import DEBTOR, an_arrangement
from tests.support.notice_sending import send_due_notices
from tests.support.rows import insert_row


@pytest.fixture
async def debits(resources: Resources, clock: MovableClock) -> Debits:
    return await start(resources, clock)


async def test_a_mandate_is_stored_encrypted_and_confirmed(debits: Debits) -> None:
    mandate = await debits.sign("de02 1203 0000 0000 2020 51")
    harness = debits.arrangement.harness
    assert (mandate.state, mandate.creditor_id) == (MandateState.ACTIVE, CREDITOR_ID)
    assert (mandate.signed_on, mandate.expires_on) == (date(2026, 3, 2), date(2029, 3, 2))
    assert (mandate.actor_kind, mandate.actor_id) == ("DEBTOR", "session-1")
    assert mandate.account_shown == "DE •••• 2051"
    assert mandate.account_sealed is not None
    assert DEBTOR_IBAN.encode() not in mandate.account_sealed
    account = open_account(harness.resources.keys, harness.merchant.merchant_id, mandate)
    assert (account.holder, account.iban) == ("Jürgen Weiß", DEBTOR_IBAN)
    await send_due_notices(harness)
    rows = await harness.rows(
        "SELECT body_text FROM debtor_notices WHERE merchant_id = $1 AND subject LIKE '%mandat%'"
    )
    assert mandate.reference in rows[0]["body_text"]
    assert "I authorise Nordwind." in rows[0]["body_text"]
    assert [each["claim"]["mandate"]["state"] for each in await list_changes(debits)] == ["ACTIVE"]


async def list_changes(debits: Debits) -> list[dict[str, Any]]:
    harness = debits.arrangement.harness
    return [
        each for each in await harness.additions(debits.arrangement.claim_id)
        if each["type"] == "MANDATE_CHANGED"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "path", "code"),
    [
        ({"iban": "DE02120300000000202052"}, "/iban", "WRONG_IBAN"),
        ({"iban": "CH9300762011623852957"}, "/iban", "NOT_AVAILABLE"),
        ({"holder": " "}, "/holder", "REQUIRED"),
        ({"holder": "x" * 256}, "/holder", "WRONG_FORMAT"),
    ],
)
async def test_a_wrong_account_is_refused(
    debits: Debits, given: Mapping[str, str], path: str, code: str
) -> None:
    with pytest.raises(ValidationError) as refusal:
        await debits.sign(**given)
    assert [(each.path, each.code) for each in refusal.value.faults] == [(path, code)]


async def test_a_plan_has_one_mandate_at_a_time(debits: Debits) -> None:
    first = await debits.sign()
    with pytest.raises(InvalidState, match="already given"):
        await debits.sign()
    async with debits.arrangement.harness.work(DEBTOR) as work:
        await revoke_mandate(work, debits.arrangement.claim_id, first.mandate_id)
    second = await debits.sign()
    assert first.reference.removesuffix("1") + "2" == second.reference
    async with debits.arrangement.harness.work(DEBTOR) as work:
        found = await list_mandates(work, debits.arrangement.claim_id)
    assert {each.state for each in found} == {MandateState.ACTIVE, MandateState.REVOKED}


async def test_a_merchant_without_settings_takes_no_mandate(
    resources: Resources, clock: MovableClock
) -> None:
    arrangement = await an_arrangement(resources, clock)
    debits = Debits(arrangement, (await arrangement.agree()).modality_id)
    with pytest.raises(InvalidState, match="cannot be paid by direct debit"):
        await debits.sign()


async def test_the_debtor_is_notified_in_time_before_each_debit(debits: Debits) -> None:
    mandate = await debits.sign()
    await debits.plan_at()
    assert await debits.states(mandate) == [CollectionState.PLANNED] * 3
    await debits.plan_at(NOTICE - DAY)
    assert await debits.states(mandate) == [CollectionState.PLANNED] * 3
    await debits.plan_at(NOTICE)
    first, second, _ = await debits.collections(mandate)
    assert (first.state, second.state) == (CollectionState.PRENOTIFIED, CollectionState.PLANNED)
    assert (first.collected_on, first.amount_cents) == (date(2026, 3, 16), 3414)
    rows = await debits.arrangement.harness.rows(
        "SELECT body_text FROM debtor_notices WHERE merchant_id = $1 AND subject LIKE '%abgebucht'"
    )
    (body,) = [row["body_text"] for row in rows]
    for part in ("34,14", "16. März 2026", mandate.reference, CREDITOR_ID, "2051"):
        assert part in body


async def test_a_mandate_that_is_given_late_leaves_the_debtor_the_promised_notice(
    debits: Debits,
) -> None:
    debits.arrangement.harness.clock.move_to(datetime(2026, 3, 14, 8, tzinfo=UTC))
    mandate = await debits.sign()
    await debits.plan_at()
    # Five days after Saturday the 14th, and not on the 16th.
    assert (await debits.collections(mandate))[0].collected_on == date(2026, 3, 19)


async def test_a_released_debit_is_in_exactly_one_file(debits: Debits) -> None:
    mandate = await debits.sign()
    await debits.plan_at()
    await debits.plan_at(NOTICE)
    ids = await debits.releasable()
    file = await debits.release()
    assert (file.state, file.debits, file.amount_cents) == (DebitFileState.RELEASED, 1, 3414)
    with pytest.raises(ValidationError) as refusal:
        await debits.release(ids=ids)
    assert [each.code for each in refusal.value.faults] == ["RELEASED"]
    assert await debits.releasable() == []
    content = await debits.download(file)
    assert find_texts(content, "SeqTp") == ["FRST"]
    assert find_texts(content, "MndtId") == [mandate.reference]
    assert find_texts(content, "IBAN") == ["DE89370400440532013000", DEBTOR_IBAN]
    assert find_texts(content, "Nm")[-1] == "Juergen Weiss"
    assert await debits.states(mandate) == [
        CollectionState.DELIVERED, CollectionState.PLANNED, CollectionState.PLANNED,
    ]  # fmt: skip
    assert await debits.download(file) == content
    rows = await debits.arrangement.harness.rows(
        "SELECT content_sealed, content_digest FROM debit_files WHERE merchant_id = $1"
    )
    assert DEBTOR_IBAN.encode() not in rows[0]["content_sealed"]
    assert rows[0]["content_digest"] == hashlib.sha256(content).digest()


async def test_a_debit_extends_its_mandate_and_no_other_merchants(debits: Debits) -> None:
    mandate = await debits.sign()
    harness = debits.arrangement.harness
    async with harness.work() as work:
        await insert_row(
            work.tx, "mandates", 1, merchant_id=77, mandate_id=mandate.mandate_id,
            expires_on=mandate.expires_on,
        )  # fmt: skip
    await debits.plan_at()
    await debits.plan_at(NOTICE)
    await debits.release()
    async with harness.work() as work:
        rows = await work.tx.fetch("SELECT merchant_id, expires_on FROM mandates")
    assert {row["merchant_id"]: row["expires_on"] for row in rows} == {
        harness.merchant.merchant_id: date(2029, 3, 16), 77: date(2029, 3, 2),
    }  # fmt: skip


async def test_the_constraint_allows_one_collection_of_an_instalment(debits: Debits) -> None:
    await deliver_first(debits)
    with pytest.raises(Exception, match="debit_collections_once"):
        async with debits.arrangement.harness.work() as work:
            await work.tx.execute(
                "UPDATE debit_collections SET instalment = 1 WHERE instalment = 2"
            )


async def test_a_debit_that_is_not_releasable_is_refused_with_its_reason(debits: Debits) -> None:
    mandate = await debits.sign()
    await debits.plan_at()
    planned = (await debits.collections(mandate))[0]
    with pytest.raises(ValidationError) as refusal:
        await debits.release(ids=[planned.collection_id])
    assert [each.code for each in refusal.value.faults] == ["PLANNED"]
    with pytest.raises(NotFound):
        await debits.release(ids=[UUID(int=9)])
    await debits.plan_at(NOTICE)
    # The last banking day but one before Monday the 16th is over.
    debits.arrangement.harness.clock.move_to(datetime(2026, 3, 13, 8, tzinfo=UTC))
    with pytest.raises(ValidationError) as refusal:
        await debits.release()
    assert [each.code for each in refusal.value.faults] == [CancelReason.NOT_RELEASED]


async def test_a_debtor_who_was_not_reached_is_not_debited(debits: Debits) -> None:
    await debits.sign()
    await debits.plan_at()
    debits.arrangement.harness.clock.move_to(NOTICE)
    await plan_collections(debits.arrangement.harness.resources)
    with pytest.raises(ValidationError) as refusal:
        await debits.release()
    assert [each.code for each in refusal.value.faults] == [CancelReason.NOT_NOTIFIED]


async def test_a_disputed_claim_is_not_debited(debits: Debits) -> None:
    await debits.sign()
    await debits.plan_at()
    await debits.plan_at(NOTICE)
    await dispute(debits.arrangement.harness, debits.arrangement.claim_id)
    with pytest.raises(ValidationError) as refusal:
        await debits.release()
    assert [each.code for each in refusal.value.faults] == [CancelReason.DISPUTED]


async def test_an_instalment_that_was_paid_is_not_debited(debits: Debits) -> None:
    mandate = await debits.sign()
    await debits.plan_at()
    await debits.plan_at(NOTICE)
    await debits.arrangement.harness.pay(debits.arrangement.claim_id, 3414)
    with pytest.raises(ValidationError) as refusal:
        await debits.release()
    assert [each.code for each in refusal.value.faults] == [CancelReason.PAID]
    await debits.plan_at(NOTICE + DAY)
    assert (await debits.collections(mandate))[0].cancel_reason is CancelReason.PAID


async def test_a_debit_that_nobody_released_is_missed_by_no_fault_of_the_debtor(
    debits: Debits,
) -> None:
    mandate = await debits.sign()
    await debits.plan_at()
    await debits.plan_at(NOTICE)
    await debits.plan_at(datetime(2026, 3, 13, 8, tzinfo=UTC))
    first = (await debits.collections(mandate))[0]
    assert (first.state, first.cancel_reason) == (
        CollectionState.CANCELLED, CancelReason.NOT_RELEASED,
    )  # fmt: skip
    assert (await debits.look()).schedule[0].missed_after == date(2026, 3, 16)


async def test_revoking_cancels_what_is_not_released(debits: Debits) -> None:
    mandate, _ = await deliver_first(debits)
    async with debits.arrangement.harness.work(DEBTOR) as work:
        ended = await revoke_mandate(work, debits.arrangement.claim_id, mandate.mandate_id)
        again = await revoke_mandate(work, debits.arrangement.claim_id, mandate.mandate_id)
    assert ended == again
    assert ended.ended_reason is MandateEndReason.REVOKED
    assert await debits.states(mandate) == [
        CollectionState.DELIVERED, CollectionState.CANCELLED, CollectionState.CANCELLED,
    ]  # fmt: skip
    assert [each["claim"]["mandate"]["state"] for each in await list_changes(debits)] == [
        "ACTIVE", "REVOKED",
    ]  # fmt: skip


async def test_a_second_user_releases_the_file(resources: Resources, clock: MovableClock) -> None:
    debits = await start(resources, clock, second_release=True)
    keys = resources.keys
    mandate = await debits.sign()
    await debits.plan_at()
    await debits.plan_at(NOTICE)
    proposed = await debits.release()
    assert proposed.state is DebitFileState.PROPOSED
    assert await debits.states(mandate) == [
        CollectionState.PRENOTIFIED, CollectionState.PLANNED, CollectionState.PLANNED,
    ]  # fmt: skip
    with pytest.raises(InvalidState, match="has not released"):
        await debits.download(proposed)
    with pytest.raises(InvalidState, match="Another user"):
        async with debits.arrangement.harness.work(CLERK) as work:
            await confirm_debit_file(work, keys, proposed.file_id)
    async with debits.arrangement.harness.work(SECOND) as work:
        released = await confirm_debit_file(work, keys, proposed.file_id)
    assert released.state is DebitFileState.RELEASED
    assert (await debits.collections(mandate))[0].state is CollectionState.RELEASED
    assert find_texts(await debits.download(released), "EndToEndId")
    with pytest.raises(InvalidState, match="released already"):
        async with debits.arrangement.harness.work(SECOND) as work:
            await confirm_debit_file(work, keys, proposed.file_id)


async def test_a_proposed_file_can_be_dissolved(resources: Resources, clock: MovableClock) -> None:
    debits = await start(resources, clock, second_release=True)
    await debits.sign()
    await debits.plan_at()
    await debits.plan_at(NOTICE)
    ids = await debits.releasable()
    proposed = await debits.release()
    assert await debits.releasable() == []
    async with debits.arrangement.harness.work(CLERK) as work:
        await dissolve_debit_file(work, proposed.file_id)
    assert await debits.releasable() == ids


async def test_a_collected_debit_is_a_payment(debits: Debits) -> None:
    mandate, first = await deliver_first(debits)
    debits.arrangement.harness.clock.move_to(datetime(2026, 3, 17, 8, tzinfo=UTC))
    assert await debits.record(first) is RecordedResult.RECORDED
    assert await debits.record(first) is RecordedResult.KNOWN
    assert (await debits.states(mandate))[0] is CollectionState.COLLECTED
    modality = await debits.look()
    assert [each.is_paid for each in modality.schedule] == [True, False, False]
    rows = await debits.arrangement.harness.rows(
        "SELECT provider_name, method, amount_cents FROM payments WHERE merchant_id = $1"
    )
    assert [tuple(row) for row in rows] == [("DIRECT_DEBIT", "DE •••• 2051", 3414)]
    completed = [
        each["claim"]["payment"] for each in
        await debits.arrangement.harness.events(debits.arrangement.claim_id)
        if each["type"] == "PAYMENT_COMPLETED"
    ]  # fmt: skip
    assert [each["providerName"] for each in completed] == ["DIRECT_DEBIT"]


async def test_a_returned_debit_gives_seven_days_from_the_return(debits: Debits) -> None:
    mandate, first = await deliver_first(debits)
    clock = debits.arrangement.harness.clock
    clock.move_to(datetime(2026, 3, 17, 8, tzinfo=UTC))
    await debits.record(first)
    # Weeks after the instalment was due.
    clock.move_to(datetime(2026, 4, 2, 8, tzinfo=UTC))
    returned = {"outcome": DebitOutcome.RETURNED, "reason_code": "AM04"}
    assert await debits.record(first, **returned) is RecordedResult.RECORDED
    assert await debits.record(first, **returned) is RecordedResult.KNOWN
    assert (await debits.collections(mandate))[0].return_reason == "AM04"
    # A lack of cover says nothing about the next debit.
    assert [each.state for each in await list_of_claim(debits)] == [MandateState.ACTIVE]
    await sweep_modalities(debits.arrangement.harness.resources)
    modality = await debits.look()
    assert modality.ended_at is None
    assert modality.schedule[0].missed_after == date(2026, 4, 2)
    # Berlin: the last of the seven days, and the first moment after it.
    clock.move_to(datetime(2026, 4, 9, 21, 59, tzinfo=UTC))
    await sweep_modalities(debits.arrangement.harness.resources)
    assert (await debits.look()).ended_reason is None
    clock.move_to(datetime(2026, 4, 9, 22, 0, tzinfo=UTC))
    await sweep_modalities(debits.arrangement.harness.resources)
    assert (await debits.look()).ended_reason is ModalityEndReason.BROKEN


async def list_of_claim(debits: Debits) -> list[Mandate]:
    async with debits.arrangement.harness.work() as work:
        return await list_mandates(work, debits.arrangement.claim_id)


async def test_a_rejected_debit_moves_no_money_and_ends_an_unusable_mandate(
    debits: Debits,
) -> None:
    mandate, first = await deliver_first(debits)
    result = {"outcome": DebitOutcome.RETURNED, "reason_code": "AC04"}
    assert await debits.record(first, **result) is RecordedResult.RECORDED
    assert await debits.states(mandate) == [
        CollectionState.RETURNED, CollectionState.CANCELLED, CollectionState.CANCELLED,
    ]  # fmt: skip
    rows = await debits.arrangement.harness.rows("SELECT FROM payments WHERE merchant_id = $1")
    assert rows == []
    (ended,) = await list_of_claim(debits)
    assert ended.ended_reason is MandateEndReason.RETURNED


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"outcome": DebitOutcome.RETURNED, "reason_code": "0000"}, RecordedResult.UNKNOWN_REASON),
        ({"outcome": DebitOutcome.RETURNED}, RecordedResult.UNKNOWN_REASON),
        ({"amount_cents": 3415}, RecordedResult.MISMATCH),
        ({"currency": "USD"}, RecordedResult.MISMATCH),
    ],
)
async def test_a_doubtful_result_changes_nothing(
    debits: Debits, changes: Mapping[str, Any], expected: RecordedResult
) -> None:
    mandate, first = await deliver_first(debits)
    assert await debits.record(first, **changes) is expected
    assert (await debits.states(mandate))[0] is CollectionState.DELIVERED


async def test_a_result_of_an_unknown_debit_is_reported(debits: Debits) -> None:
    async with debits.arrangement.harness.work() as work:
        result = DebitResult(DebitOutcome.COLLECTED, date(2026, 3, 16))
        found = await record_debit_result(work, "NOTPROVIDED", result)
    assert found is RecordedResult.UNKNOWN_DEBIT


async def test_sequence_types_follow_the_plan(debits: Debits) -> None:
    mandate, first = await deliver_first(debits)
    debits.arrangement.harness.clock.move_to(datetime(2026, 3, 17, 8, tzinfo=UTC))
    await debits.record(first)
    found = []
    for notice in (datetime(2026, 4, 10, 8, tzinfo=UTC), datetime(2026, 5, 10, 8, tzinfo=UTC)):
        await debits.plan_at(notice)
        content = await debits.download(await debits.release())
        found += find_texts(content, "SeqTp")
        current = [
            each for each in await debits.collections(mandate)
            if each.state is CollectionState.DELIVERED
        ]  # fmt: skip
        debits.arrangement.harness.clock.move_to(notice + 8 * DAY)
        assert await debits.record(current[0]) is RecordedResult.RECORDED
    assert found == ["RCUR", "FNAL"]
    assert await debits.status() is Status.COLLECTED
    await debits.plan_at(datetime(2026, 5, 20, 8, tzinfo=UTC))
    (ended,) = await list_of_claim(debits)
    assert (ended.state, ended.ended_reason) == (
        MandateState.EXPIRED, MandateEndReason.PLAN_ENDED,
    )  # fmt: skip


async def test_a_new_mandate_does_not_collect_an_instalment_that_was_returned(
    debits: Debits,
) -> None:
    old, first = await deliver_first(debits)
    result = {"outcome": DebitOutcome.RETURNED, "reason_code": "AC04"}
    assert await debits.record(first, **result) is RecordedResult.RECORDED
    new = await debits.sign("DE02500105170137075030")
    await debits.plan_at()
    assert [(each.instalment, each.state) for each in await debits.collections(new)] == [
        (2, CollectionState.PLANNED), (3, CollectionState.PLANNED),
    ]  # fmt: skip
    assert (await debits.states(old))[0] is CollectionState.RETURNED
