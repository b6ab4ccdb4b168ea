"""Banks that use a reference again, or move the day of booking: nothing is lost, and nothing that
may be the same payment is booked without a person. Notifications complete entries whichever comes
first."""

import pytest

from dunwell.cases.statements.formats.statement import NO_BALANCE
from dunwell.cases.statements.import_statements import release_statement
from dunwell.cases.statements.imported_file import ImportedFile
from dunwell.cases.statements.matches.assign_transactions import (
    TransactionShare,
    assign_transactions,
)
from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.bank_files import build_balance, build_camt, build_detail, build_entry
from tests.support.harness import a_harness
from tests.support.statements import StatementHarness, build_credit, build_file

_OWED = 10240
_DAYS = """
SELECT e.booked_on, t.state, t.resembles_on
FROM bank_transactions t
JOIN bank_entries e ON e.merchant_id = t.merchant_id AND e.entry_id = t.entry_id
WHERE t.merchant_id = $1
ORDER BY e.booked_on, t.state
"""


@pytest.fixture
async def bank(resources: Resources, clock: MovableClock) -> StatementHarness:
    bank = StatementHarness(await a_harness(resources, clock))
    await bank.save()
    return bank


def _list_doubts(file: ImportedFile) -> list[str]:
    """Return the problems of a file, without the missing balances."""
    return [each for each in file.problems if NO_BALANCE not in each]


async def _list_days(bank: StatementHarness) -> list[tuple[str, str, str | None]]:
    return [
        (str(row["booked_on"]), row["state"], row["resembles_on"] and str(row["resembles_on"]))
        for row in await bank.harness.rows(_DAYS)
    ]


def _build_payment(day: str, end_to_end_id: str = "E2E-1", **options: str) -> bytes:
    entry = build_credit("50.00", "INV-2026-1001", "TAX-77", day=day)
    return build_file(entry.replace("E2E-1", end_to_end_id), **options)


async def test_a_reference_that_returns_every_month_is_a_payment_each_time(
    bank: StatementHarness,
) -> None:
    (claim_id,) = await bank.harness.create("INV-2026-1001")
    for day in ("2026-10-27", "2026-11-27", "2026-10-27"):
        await bank.load(_build_payment(day))
    assert await bank.count("payments") == 2
    assert await bank.balance(claim_id) == (Status.CREATED, _OWED - 10000, 0)


async def test_a_reference_that_returns_within_days_is_reported_and_waits_for_a_person(
    bank: StatementHarness,
) -> None:
    (claim_id,) = await bank.harness.create("INV-2026-1001")
    await bank.load(_build_payment("2026-11-26"))
    file = await bank.load(_build_payment("2026-11-27"))
    (problem,) = _list_doubts(file)
    assert "the same reference and amount as an entry of 2026-11-26" in problem
    for _ in range(2):
        assert await _list_days(bank) == [
            ("2026-11-26", "MATCHED", None), ("2026-11-27", "OPEN", "2026-11-26"),
        ]  # fmt: skip
        assert await bank.balance(claim_id) == (Status.CREATED, _OWED - 5000, 0)
        assert _list_doubts(await bank.load(_build_payment("2026-11-27"))) == []
    (opened,) = await bank.opened()
    assert [each.rule for each in opened.suggestions] == ["REFERENCE"]
    async with bank.harness.work() as work:
        await assign_transactions(work, [TransactionShare(*opened.transaction.key, claim_id, 5000)])
    assert await bank.balance(claim_id) == (Status.CREATED, _OWED - 10000, 0)


async def test_reports_of_one_day_with_the_same_reference_lose_no_payment(
    bank: StatementHarness,
) -> None:
    await bank.harness.create("INV-2026-1001")
    await bank.load(_build_payment("2026-11-27", "E2E-A", message="052"))
    await bank.load(_build_payment("2026-11-27", "E2E-B", message="052"))
    entries = [
        build_credit("50.00", "INV-2026-1001", "TAX-77").replace("E2E-1", each)
        for each in ("E2E-B", "E2E-A")
    ]
    await bank.load(build_file(*entries))
    assert await _list_days(bank) == [
        ("2026-11-27", "MATCHED", None), ("2026-11-27", "OPEN", "2026-11-27"),
    ]  # fmt: skip


async def test_what_waits_for_a_person_still_does_after_its_statement_is_released(
    bank: StatementHarness,
) -> None:
    await bank.harness.create("INV-2026-1001")
    await bank.load(_build_payment("2026-11-26"))
    balances = build_balance("OPBD", "0.00") + build_balance("CLBD", "1.00")
    entries = [
        build_credit("50.00", "INV-2026-1001", "TAX-77"), build_credit("1.00", "x", "B-2"),
    ]  # fmt: skip
    await bank.load(build_camt(*entries, balances=balances))
    assert [state for state, _ in await bank.states()] == ["MATCHED", "HELD", "HELD"]
    rows = await bank.harness.rows(
        "SELECT statement_hash FROM bank_statements WHERE merchant_id = $1 AND held_reason <> ''"
    )
    async with bank.harness.work() as work:
        await release_statement(work, "main", rows[0]["statement_hash"])
    assert [state for state, _ in await bank.states()] == ["MATCHED", "OPEN", "NEW"]


_PARTS = ("102.40", "50.00")


def _build_notices(day: str = "2026-11-27") -> bytes:
    """Return a notification that has an entry for each payment of a batch."""
    return build_file(
        *(
            build_entry(
                amount, reference="B-9", day=day,
                details=build_detail(amount, f"INV-2026-100{number}"),
            )
            for number, amount in enumerate(_PARTS, 1)
        ),
        message="054",
    )  # fmt: skip


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("day", ["2026-11-27", "2026-11-26"])
async def test_notices_of_each_payment_complete_the_entry_in_either_order(
    bank: StatementHarness, day: str, *, is_first: bool
) -> None:
    first, second = await bank.harness.create("INV-2026-1001", "INV-2026-1002")
    statement = build_file(build_entry("152.40", reference="B-9"))
    files = [_build_notices(day), statement]
    for content in [*(files if is_first else files[::-1]), *files]:
        assert _list_doubts(await bank.load(content)) == []
    assert await bank.states() == [("MATCHED", _OWED), ("MATCHED", 5000)]
    assert await bank.count("bank_entries") == 1
    assert await bank.balance(first) == (Status.COLLECTED, 0, 0)
    assert await bank.balance(second) == (Status.CREATED, 5240, 0)


async def test_details_that_the_statement_has_itself_are_not_kept_twice(
    bank: StatementHarness,
) -> None:
    (claim_id,) = await bank.harness.create("INV-2026-1001")
    for message in ("054", "053", "054"):
        await bank.load(build_file(build_credit("102.40", "INV-2026-1001"), message=message))
    assert await bank.states() == [("MATCHED", _OWED)]
    assert await bank.balance(claim_id) == (Status.COLLECTED, 0, 0)


@pytest.mark.parametrize("is_first", [True, False])
async def test_a_notification_of_another_amount_is_reported_and_not_used(
    bank: StatementHarness, *, is_first: bool
) -> None:
    await bank.harness.create("INV-2026-1001", "INV-2026-1002")
    files = [_build_notices(), build_file(build_entry("152.41", reference="B-9"))]
    for content in files if is_first else files[::-1]:
        file = await bank.load(content)
    assert "is about 152.40 EUR, the entry about 152.41 EUR" in _list_doubts(file)[0]
    assert await bank.count("payments") == 0
    states = [state for state, _ in await bank.states()]
    assert states == (["HELD", "HELD", "OPEN"] if is_first else ["OPEN"])


async def test_a_notification_of_long_ago_does_not_complete_an_entry_with_its_reference(
    bank: StatementHarness,
) -> None:
    await bank.harness.create("INV-2026-1001", "INV-2026-1002")
    await bank.load(_build_notices("2026-11-19"))
    await bank.load(build_file(build_entry("152.40", reference="B-9")))
    assert [state for state, _ in await bank.states()] == ["HELD", "HELD", "OPEN"]
