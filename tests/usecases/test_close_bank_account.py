"""A closed bank account: nothing is imported or collected through it, and it can be reopened."""

from datetime import timedelta
from pathlib import Path

import pytest

from dunwell.accounts.installation.bank_connections import BankFolder
from dunwell.accounts.installation.current_installation import CurrentInstallation
from dunwell.adapters.bank_statements import StatementFetcher
from dunwell.cases.direct_debit.debit_values import CancelReason, CollectionState
from dunwell.cases.direct_debit.files.release_debits import find_obstacles
from dunwell.cases.direct_debit.store import load_collections
from dunwell.cases.statements.bank_accounts import (
    close_bank_account,
    list_bank_accounts,
    reopen_bank_account,
    save_bank_account,
)
from dunwell.cases.statements.imported_file import FileState
from dunwell.cases.statements.listing.list_statements import list_statements
from dunwell.cases.statements.matches.assign_transactions import (
    TransactionShare,
    assign_transactions,
)
from dunwell.cases.statements.store import StatementAccount
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState, NotFound, ValidationError
from dunwell.platform.resources import Resources
from tests.support.bank_files import IBAN
from tests.support.debit_plans import NOTICE, Debits, start
from tests.support.harness import Harness, a_harness
from tests.support.statements import ACCOUNT, StatementHarness, build_credit, build_file

_AUDIT = """
SELECT action, (before->>'isClosed')::boolean AS before, (after->>'isClosed')::boolean AS after
FROM audit_log
WHERE merchant_id = $1 AND action LIKE 'bankAccount.%'
ORDER BY audit_id
"""
_ANOTHER = "DE02120300000000202051"


async def close(harness: Harness, account: str = "main") -> None:
    async with harness.work() as work:
        await close_bank_account(work, account)


async def reopen(harness: Harness, account: str = "main") -> None:
    async with harness.work() as work:
        await reopen_bank_account(work, account)


@pytest.fixture
async def bank(resources: Resources, clock: MovableClock) -> StatementHarness:
    bank = StatementHarness(await a_harness(resources, clock))
    await bank.save()
    return bank


async def test_an_account_is_closed_and_reopened_once_each(bank: StatementHarness) -> None:
    harness = bank.harness
    for change in (close, reopen):
        await change(harness)
        with pytest.raises(InvalidState):
            await change(harness)
        with pytest.raises(NotFound):
            await change(harness, "other")
    rows = await harness.rows(_AUDIT)
    assert [tuple(each) for each in rows[1:]] == [
        ("bankAccount.close", False, True), ("bankAccount.reopen", True, False),
    ]  # fmt: skip


async def test_editing_a_closed_account_does_not_reopen_it(bank: StatementHarness) -> None:
    await close(bank.harness)
    async with bank.harness.work() as work:
        saved = await save_bank_account(work, StatementAccount("main", IBAN, "Another holder"))
        assert saved.closed_at is not None
        [stored] = await list_bank_accounts(work)
    assert stored == saved


async def test_nothing_is_imported_into_a_closed_account_and_its_statements_stay(
    bank: StatementHarness,
) -> None:
    """This holds for a file that waited when the account was closed, and for one that was given for
    another account."""
    harness = bank.harness
    await bank.save(StatementAccount("second", _ANOTHER, "Muster GmbH"))
    [claim_id] = await harness.create("INV-2026-1001")
    await bank.load(build_file(build_credit("40.00", "thanks", "B-1")))
    waiting = await bank.submit(build_file(build_credit("1.00", "x", "B-2")))
    await close(harness)
    with pytest.raises(InvalidState):
        await bank.submit(build_file())
    other = await bank.load(build_file(build_credit("2.00", "x", "B-3")), account="second")
    assert other.state is FileState.REFUSED
    [problem] = other.problems
    assert "belongs to the bank account main, which is closed" in str(problem)
    rows = await harness.rows("SELECT file_id, state FROM bank_files WHERE merchant_id = $1")
    assert {row["file_id"]: row["state"] for row in rows}[waiting.file_id] == "REFUSED"
    async with harness.work() as work:
        assert len(await list_statements(work, "main")) == 1
    [opened] = await bank.opened()
    async with harness.work() as work:
        share = TransactionShare(*opened.transaction.key, claim_id, 40_00)
        await assign_transactions(work, [share])
    assert (await bank.balance(claim_id))[1] == 62_40
    await reopen(harness)
    again = await bank.load(build_file(build_credit("1.00", "x", "B-2")))
    assert (again.state, again.new_count) == (FileState.DONE, 1)


async def test_a_connection_is_not_asked_for_files_of_a_closed_account(
    bank: StatementHarness, tmp_path: Path
) -> None:
    await bank.save(StatementAccount("main", IBAN, "Muster GmbH", connection="sparkasse"))
    (tmp_path / "november.xml").write_bytes(build_file(build_credit("1.00", "x", "B-1")))
    installation = CurrentInstallation(bank.harness.resources)
    installation.bank_connections = {"sparkasse": BankFolder(folder=str(tmp_path))}
    fetcher = StatementFetcher(bank.harness.resources, installation)
    await close(bank.harness)
    assert [await fetcher.run_once() for _ in range(3)] == [0, 0, 0]
    await reopen(bank.harness)
    assert [await fetcher.run_once() for _ in range(3)] == [0, 1, 0]


async def test_debits_of_a_closed_account_are_neither_released_nor_announced(
    resources: Resources, clock: MovableClock
) -> None:
    debits = await start(resources, clock)
    harness = debits.arrangement.harness
    await StatementHarness(harness).save(ACCOUNT)
    mandate = await debits.sign()
    await debits.plan_at()
    await debits.plan_at(NOTICE)
    [announced] = await debits.releasable()
    await close(harness)
    async with harness.work() as work:
        collections = await load_collections(work.tx, work.merchant_id, [announced])
        assert await find_obstacles(work, collections) == {announced: "ACCOUNT_CLOSED"}
    with pytest.raises(ValidationError):
        await debits.release(ids=[announced])
    await debits.plan_at(NOTICE + timedelta(days=1))
    assert await debits.states(mandate) == [
        CollectionState.CANCELLED, CollectionState.PLANNED, CollectionState.PLANNED,
    ]  # fmt: skip
    # The second instalment is due on 16 April, and its debtor would be notified six days before.
    await debits.plan_at(NOTICE + timedelta(days=31))
    second = (await debits.collections(mandate))[1]
    assert (second.cancel_reason, second.notified_at) == (CancelReason.HELD_BACK, None)
    await reopen(harness)
    await debits.plan_at(NOTICE + timedelta(days=61))
    assert (await debits.states(mandate))[2] is CollectionState.PRENOTIFIED


async def test_a_debit_is_released_if_the_account_is_reopened_in_time(
    resources: Resources, clock: MovableClock
) -> None:
    debits = await start(resources, clock)
    harness = debits.arrangement.harness
    await StatementHarness(harness).save(ACCOUNT)
    await debits.sign()
    await debits.plan_at()
    await debits.plan_at(NOTICE)
    await close(harness)
    await reopen(harness)
    assert (await debits.release()).debits == 1


async def test_no_mandate_can_be_given_for_a_closed_account(
    resources: Resources, clock: MovableClock
) -> None:
    debits: Debits = await start(resources, clock)
    harness = debits.arrangement.harness
    bank = StatementHarness(harness)
    await bank.save(StatementAccount("second", _ANOTHER, "Muster GmbH"))
    await bank.save()
    await close(harness)
    with pytest.raises(InvalidState):
        await debits.sign()
    await reopen(harness)
    await close(harness, "second")
    await debits.sign()
