"""What stops a debit that waits for its release, or that was released: a message that did not
reach the debtor, an open dispute, and a mandate that ends before the bank has the file."""

from collections.abc import Sequence

import pytest
from lxml import etree

from dunwell.accounts.merchants.actor import Interface, Origin, build_user_actor
from dunwell.accounts.merchants.rights import ALL_RIGHTS, Role
from dunwell.accounts.users.store import load_user, save_deactivation, save_new_user, save_roles
from dunwell.accounts.users.user import UserRoles
from dunwell.cases.direct_debit.debit_values import CancelReason, CollectionState, Mandate
from dunwell.cases.direct_debit.files.deliver_files import deliver_debit_files
from dunwell.cases.direct_debit.files.release_debits import (
    confirm_debit_file,
    download_debit_file,
    drop_ended_debits,
)
from dunwell.cases.direct_debit.mandates import SignedMandate, revoke_mandate, sign_mandate
from dunwell.contact.sending.channel import Permanent
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState, NotFound, ValidationError
from dunwell.platform.resources import Resources
from tests.support.debit_plans import (
    CLERK,
    NOTICE,
    SECOND,
    BankFolder,
    Debits,
    find_texts,
    start,
)
from tests.support.direct_debits import DEBTOR_IBAN
from tests.support.disputes import dispute, withdraw
from tests.support.modalities import DEBTOR, Arrangement
from tests.support.users import a_new_user


async def release_two(
    resources: Resources, clock: MovableClock, deliver_to: str | None
) -> tuple[Sequence[Debits], Sequence[Mandate]]:
    """Return two claims of one merchant whose first debits were released in one file."""
    first = await start(resources, clock, deliver_to=deliver_to)
    harness = first.arrangement.harness
    [claim_id] = await harness.create("INV-1002", email="other@example.org")
    other = Arrangement(harness, claim_id)
    second = Debits(other, (await other.agree()).modality_id)
    mandates = [await each.sign() for each in (first, second)]
    await first.plan_at()
    await first.plan_at(NOTICE)
    await first.release()
    return (first, second), mandates


async def revoke(debits: Debits, mandate: Mandate) -> None:
    async with debits.arrangement.harness.work(DEBTOR) as work:
        await revoke_mandate(work, debits.arrangement.claim_id, mandate.mandate_id)


async def deliver(resources: Resources, folder: BankFolder) -> None:
    await deliver_debit_files(resources, lambda _: folder)  # type: ignore[arg-type,return-value]


async def list_files(debits: Debits) -> list[tuple[str, int, int]]:
    rows = await debits.arrangement.harness.rows(
        "SELECT state, debits, amount_cents FROM debit_files WHERE merchant_id = $1"
    )
    return [tuple(row) for row in rows]


async def test_a_debtor_whose_message_was_refused_is_not_debited(
    resources: Resources, clock: MovableClock
) -> None:
    debits = await start(resources, clock)
    await debits.sign()
    await debits.plan_at()
    debits.arrangement.harness.channels[0].answers += [Permanent("unknown recipient")] * 9
    await debits.plan_at(NOTICE)
    with pytest.raises(ValidationError) as refusal:
        await debits.release()
    assert [each.code for each in refusal.value.faults] == [CancelReason.NOT_NOTIFIED]


async def test_a_claim_whose_dispute_was_withdrawn_is_debited_again(
    resources: Resources, clock: MovableClock
) -> None:
    debits = await start(resources, clock)
    harness = debits.arrangement.harness
    await debits.sign()
    await debits.plan_at()
    await debits.plan_at(NOTICE)
    opened = await dispute(harness, debits.arrangement.claim_id)
    with pytest.raises(ValidationError):
        await debits.release()
    await withdraw(harness, opened)
    assert (await debits.release()).debits == 1


async def test_a_debit_whose_mandate_was_revoked_is_not_delivered(
    resources: Resources, clock: MovableClock
) -> None:
    folder = BankFolder()
    (first, second), (revoked, kept) = await release_two(resources, clock, "bank")
    await revoke(first, revoked)
    await deliver(resources, folder)
    [content] = folder.files.values()
    left = (await second.collections(kept))[0]
    assert find_texts(content, "EndToEndId") == [left.end_to_end_id]
    assert find_texts(content, "NbOfTxs") == ["1", "1"]
    assert find_texts(content, "CtrlSum") == ["34.14", "34.14"]
    assert await list_files(first) == [("DELIVERED", 1, 3414)]
    dropped = (await first.collections(revoked))[0]
    assert (dropped.state, dropped.cancel_reason, dropped.file_id) == (
        CollectionState.CANCELLED, CancelReason.MANDATE_ENDED, None,
    )  # fmt: skip
    assert left.state is CollectionState.DELIVERED
    # The debtor is asked to pay the instalment by its day, as without a mandate.
    assert str((await first.look()).schedule[0].missed_after) == "2026-03-16"
    assert etree.fromstring(content) is not None


async def test_a_file_without_a_debit_that_is_left_is_not_delivered(
    resources: Resources, clock: MovableClock
) -> None:
    folder = BankFolder()
    debits, mandates = await release_two(resources, clock, "bank")
    for each, mandate in zip(debits, mandates, strict=True):
        await revoke(each, mandate)
    await deliver(resources, folder)
    assert folder.files == {}
    assert await list_files(debits[0]) == []


async def test_a_debit_whose_mandate_was_revoked_is_not_downloaded(
    resources: Resources, clock: MovableClock
) -> None:
    (first, second), (revoked, kept) = await release_two(resources, clock, None)
    await revoke(first, revoked)
    rows = await first.arrangement.harness.rows(
        "SELECT file_id FROM debit_files WHERE merchant_id = $1"
    )
    async with first.arrangement.harness.work(CLERK) as work:
        file = await drop_ended_debits(work, resources.keys, rows[0]["file_id"])
    assert (file.debits, file.amount_cents) == (1, 3414)
    content = await first.download(file)
    assert find_texts(content, "MndtId") == [kept.reference]
    await revoke(second, kept)
    # What was downloaded stays as it is.
    assert await first.download(file) == content
    assert (await second.collections(kept))[0].state is CollectionState.DELIVERED


async def test_a_file_that_lost_all_debits_is_deleted_when_it_is_downloaded(
    resources: Resources, clock: MovableClock
) -> None:
    debits = await start(resources, clock)
    mandate = await debits.sign()
    await debits.plan_at()
    await debits.plan_at(NOTICE)
    file = await debits.release()
    await revoke(debits, mandate)
    async with debits.arrangement.harness.work(CLERK) as work:
        assert await download_debit_file(work, resources.keys, file.file_id) is None
    assert await list_files(debits) == []
    assert (await debits.collections(mandate))[0].cancel_reason is CancelReason.MANDATE_ENDED
    with pytest.raises(NotFound):
        await debits.download(file)


@pytest.mark.parametrize("change", ["role", "end"])
async def test_a_file_is_not_released_after_its_proposer_lost_the_right(
    resources: Resources, clock: MovableClock, change: str
) -> None:
    debits = await start(resources, clock, second_release=True)
    mandate = await debits.sign()
    await debits.plan_at()
    await debits.plan_at(NOTICE)
    merchant_id = debits.arrangement.harness.merchant.merchant_id
    user_id = resources.ids.new(clock.now())
    async with resources.database.transaction() as tx:
        new = a_new_user(roles=UserRoles(memberships={merchant_id: Role.OPERATOR}))
        await save_new_user(tx, user_id, new, clock.now())
    proposer = build_user_actor(str(user_id), ALL_RIGHTS, Origin(Interface.PORTAL))
    file = await debits.release(proposer)
    async with resources.database.transaction() as tx:
        user = await load_user(tx, user_id)
        assert user is not None
        if change == "end":
            await save_deactivation(tx, user_id, clock.now())
        else:
            less = UserRoles(memberships={merchant_id: Role.AUDITOR})
            await save_roles(tx, user_id, less, user.revision)
    with pytest.raises(InvalidState, match="may no longer release"):
        async with debits.arrangement.harness.work(SECOND) as work:
            await confirm_debit_file(work, resources.keys, file.file_id)
    assert (await debits.collections(mandate))[0].state is CollectionState.PRENOTIFIED


async def test_a_file_that_the_bank_may_have_keeps_its_debits(
    resources: Resources, clock: MovableClock
) -> None:
    folder = BankFolder(failures={"after": RuntimeError("killed")})
    (first, _), (revoked, _) = await release_two(resources, clock, "bank")
    with pytest.raises(RuntimeError):
        await deliver(resources, folder)
    await revoke(first, revoked)
    rows = await first.arrangement.harness.rows(
        "SELECT file_id FROM debit_files WHERE merchant_id = $1"
    )
    async with first.arrangement.harness.work(CLERK) as work:
        file = await drop_ended_debits(work, resources.keys, rows[0]["file_id"])
    assert file.debits == 2
    assert len(find_texts(await first.download(file), "EndToEndId")) == 2
    clock.move_to(clock.now().replace(hour=9))
    await deliver(resources, folder)
    assert await list_files(first) == [("DELIVERED", 2, 6828)]
    assert (await first.collections(revoked))[0].state is CollectionState.DELIVERED


async def test_a_second_user_does_not_release_what_can_no_longer_be_released(
    resources: Resources, clock: MovableClock
) -> None:
    debits = await start(resources, clock, second_release=True)
    harness = debits.arrangement.harness
    mandate = await debits.sign()
    await debits.plan_at()
    await debits.plan_at(NOTICE)
    file = await debits.release()
    await dispute(harness, debits.arrangement.claim_id)
    with pytest.raises(ValidationError) as refusal:
        async with harness.work(SECOND) as work:
            await confirm_debit_file(work, resources.keys, file.file_id)
    assert [each.code for each in refusal.value.faults] == [CancelReason.DISPUTED]
    assert (await debits.states(mandate))[0] is CollectionState.PRENOTIFIED


async def test_no_mandate_is_given_for_a_claim_that_has_ended_or_with_a_text_that_is_outdated(
    resources: Resources, clock: MovableClock
) -> None:
    debits = await start(resources, clock)
    harness, claim_id = debits.arrangement.harness, debits.arrangement.claim_id
    signed = SignedMandate(
        debits.modality_id, "Erika Muster", DEBTOR_IBAN, f"{claim_id}-00000000-1", "Yes", "en"
    )
    with pytest.raises(InvalidState, match="can no longer be given"):
        async with harness.work(DEBTOR) as work:
            await sign_mandate(work, resources.keys, claim_id, signed)
    await harness.rows(
        "UPDATE claims SET status = 'WITHDRAWN', due_at = NULL WHERE merchant_id = $1"
    )
    with pytest.raises(InvalidState, match="can no longer be given"):
        await debits.sign()
    assert await harness.rows("SELECT FROM mandates WHERE merchant_id = $1") == []


async def test_a_mandate_of_another_claim_is_not_revoked(
    resources: Resources, clock: MovableClock
) -> None:
    (first, _), (_, other) = await release_two(resources, clock, None)
    with pytest.raises(NotFound):
        await revoke(first, other)
    rows = await first.arrangement.harness.rows("SELECT state FROM mandates WHERE merchant_id = $1")
    assert [row["state"] for row in rows] == ["ACTIVE", "ACTIVE"]
