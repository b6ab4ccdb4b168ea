"""Debtors who can pay by transfer are not dunned while the bank's newest statement is too old."""

from datetime import date, timedelta

import pytest

from dunwell.cases.statements.bank_accounts import close_bank_account
from dunwell.cases.statements.store import StatementAccount
from dunwell.contact.escalation.statement_age import StatementLimit
from dunwell.operations.claim_status.explain_claim import explain_claim
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.harness import Harness, a_harness
from tests.support.statements import StatementHarness
from tests.support.transfers import ACCOUNT as SHOWN_ACCOUNT
from tests.support.transfers import nordwind_with_account

_SET_LIMIT = """
UPDATE bank_accounts SET max_age_banking_days = $2, reported_until = $3 WHERE merchant_id = $1
"""


@pytest.mark.parametrize(
    ("today", "is_exceeded"),
    [
        # The statement reports until Thursday, 26 February 2026.
        (date(2026, 2, 27), False), (date(2026, 2, 28), False), (date(2026, 3, 1), False),
        (date(2026, 3, 2), True), (date(2026, 2, 26), False),
    ],
)  # fmt: skip
def test_only_banking_days_count(today: date, *, is_exceeded: bool) -> None:
    limit = StatementLimit("main", 1, date(2026, 2, 26))
    assert limit.is_exceeded(today) is is_exceeded


async def _prepare(
    resources: Resources, clock: MovableClock, days: int | None, reported_until: date | None
) -> tuple[Harness, int]:
    harness = await a_harness(
        resources, clock, a_definition(), configuration=nordwind_with_account()
    )
    bank = StatementHarness(harness)
    await bank.save(StatementAccount("main", SHOWN_ACCOUNT.iban, SHOWN_ACCOUNT.holder))
    async with harness.work() as work:
        await work.tx.execute(_SET_LIMIT, work.merchant_id, days, reported_until)
    (claim_id,) = await harness.create("INV-2026-1001")
    return harness, claim_id


async def test_an_old_statement_holds_contacts_and_the_explanation_says_so(
    resources: Resources, clock: MovableClock
) -> None:
    harness, claim_id = await _prepare(resources, clock, 1, date(2026, 2, 20))
    await harness.run()
    assert harness.channels[0].sent == []
    async with harness.work() as work:
        explained = await explain_claim(work, resources.keys, claim_id)
        assert explained.contact is not None
        assert "bank account main is older than 1 banking days" in str(explained.contact.reason)
        await work.tx.execute(_SET_LIMIT, work.merchant_id, 1, date(2026, 3, 2))
    clock.move_to(clock.now() + timedelta(minutes=59))
    await harness.run()
    assert harness.channels[0].sent == []
    clock.move_to(clock.now() + timedelta(minutes=1))
    await harness.run()
    assert len(harness.channels[0].sent) == 1


@pytest.mark.parametrize(
    ("days", "reported_until"), [(None, date(2020, 1, 2)), (1, None), (1, date(2026, 3, 2))]
)
async def test_without_a_limit_or_before_the_first_statement_nothing_is_held(
    resources: Resources, clock: MovableClock, days: int | None, reported_until: date | None
) -> None:
    harness, _ = await _prepare(resources, clock, days, reported_until)
    # Another merchant has the same account with a statement that is too old.
    other = StatementHarness(await a_harness(resources, clock, key="other"))
    await other.save(StatementAccount("main", SHOWN_ACCOUNT.iban, SHOWN_ACCOUNT.holder))
    async with other.harness.work() as work:
        await work.tx.execute(_SET_LIMIT, work.merchant_id, 1, date(2026, 2, 20))
    await harness.run()
    assert len(harness.channels[0].sent) == 1


async def test_the_limit_of_a_closed_account_holds_nothing(
    resources: Resources, clock: MovableClock
) -> None:
    harness, _ = await _prepare(resources, clock, 1, date(2026, 2, 20))
    async with harness.work() as work:
        await close_bank_account(work, "main")
    await harness.run()
    assert len(harness.channels[0].sent) == 1
