"""Reports during the day (camt.052) and the statement of the day (camt.053) are one list of
payments, whatever references and texts each of them has, and whichever comes first."""

from collections import Counter
from dataclasses import dataclass
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dunwell.cases.statements.import_statements import release_statement
from dunwell.cases.statements.imported_file import FileState
from dunwell.cases.statements.matches.assign_transactions import record_without_claim
from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.bank_files import PAYER_IBAN, build_balance, build_camt, build_entry
from tests.support.harness import a_harness
from tests.support.statements import StatementHarness, build_credit, build_file

_OWED = 10240
_REFERENCE = "INV-2026-1001"
_OTHER_PAYER = "DE91100000000123456789"
_STORED = """
SELECT amount_cents, count(*) AS entries
FROM bank_entries
WHERE merchant_id = $1 AND status = 'BOOK'
GROUP BY amount_cents
"""
_PAID = """
SELECT coalesce(sum(amount_cents), 0)::bigint AS cents, count(*) AS transactions
FROM bank_transactions WHERE merchant_id = $1
"""
_KINDS = """
SELECT s.kind, e.bank_reference, e.position
FROM bank_entries e
JOIN bank_statements s ON s.merchant_id = $1 AND s.statement_hash = e.statement_hash
WHERE e.merchant_id = $1
ORDER BY e.position
"""
_ROWS = """
SELECT e::text AS entry, t::text AS transaction
FROM bank_entries e
LEFT JOIN bank_transactions t ON t.merchant_id = $1 AND t.entry_id = e.entry_id
WHERE e.merchant_id = $1
ORDER BY 1
"""
_numbers = count(1)


async def _open(resources: Resources, clock: MovableClock) -> StatementHarness:
    bank = StatementHarness(await a_harness(resources, clock, key=f"reports-{next(_numbers)}"))
    await bank.save()
    return bank


@pytest.fixture
async def bank(resources: Resources, clock: MovableClock) -> StatementHarness:
    return await _open(resources, clock)


def _build_report(*entries: str) -> bytes:
    return build_file(*entries, message="052")


def _divide(entry: str, amount: str) -> str:
    """Return the entry with a payment of another amount, so that its statement is held."""
    given = f'</Refs><Amt Ccy="EUR">{amount}</Amt>'
    assert given in entry
    return entry.replace(given, '</Refs><Amt Ccy="EUR">1.00</Amt>')


@pytest.mark.parametrize("is_report_first", [True, False])
async def test_the_statement_has_a_reference_and_texts_that_the_report_had_not(
    bank: StatementHarness, *, is_report_first: bool
) -> None:
    (claim_id,) = await bank.harness.create(_REFERENCE)
    report = _build_report(build_entry("102.40", reference=""))
    statement = build_file(build_credit("102.40", _REFERENCE, "B-1"))
    files = [report, statement] if is_report_first else [statement, report]
    for content in [*files, *files]:
        await bank.load(content)
    assert await bank.count("bank_entries") == 1
    assert await bank.states() == [("MATCHED", _OWED)]
    assert await bank.balance(claim_id) == (Status.COLLECTED, 0, 0)
    assert [tuple(row) for row in await bank.harness.rows(_KINDS)] == [("STATEMENT", "B-1", 1)]


async def test_what_was_booked_from_a_report_is_not_booked_again(bank: StatementHarness) -> None:
    (claim_id,) = await bank.harness.create(_REFERENCE)
    await bank.load(_build_report(build_credit("102.40", _REFERENCE)))
    await bank.load(build_file(build_credit("102.40", f"SEPA {_REFERENCE} danke", "B-1")))
    assert await bank.count("payments") == 1
    assert await bank.balance(claim_id) == (Status.COLLECTED, 0, 0)


async def test_what_a_person_decided_about_a_report_keeps_its_texts(
    bank: StatementHarness,
) -> None:
    await bank.harness.create(_REFERENCE)
    await bank.load(_build_report(build_credit("102.40", "danke")))
    (opened,) = await bank.opened()
    async with bank.harness.work() as work:
        await record_without_claim(work, *opened.transaction.key, "a gift")
    await bank.load(build_file(build_credit("102.40", _REFERENCE, "B-1")))
    assert await bank.states() == [("WITHOUT_CLAIM", _OWED)]
    assert await bank.count("payments") == 0


async def test_payments_of_two_payers_stay_two(bank: StatementHarness) -> None:
    await bank.load(_build_report(build_credit("50.00", "one")))
    other = build_credit("50.00", "two").replace(PAYER_IBAN, _OTHER_PAYER)
    await bank.load(build_file(other))
    assert await bank.count("bank_entries") == 2


async def test_a_payment_of_another_day_or_amount_stays_apart(bank: StatementHarness) -> None:
    await bank.load(_build_report(build_entry("50.00", reference="")))
    await bank.load(build_file(build_entry("50.00", reference="", day="2026-11-26")))
    await bank.load(build_file(build_entry("50.01", reference="B")))
    assert await bank.count("bank_entries") == 3


async def test_two_references_are_two_payments(bank: StatementHarness) -> None:
    await bank.load(_build_report(build_entry("50.00", reference="A")))
    await bank.load(build_file(build_entry("50.00", reference="B")))
    assert await bank.count("bank_entries") == 2


async def test_an_entry_of_a_report_is_used_once(bank: StatementHarness) -> None:
    """Two statements of one day have a payment each."""
    await bank.load(_build_report(build_entry("50.00", reference="")))
    for reference in ("A", "B"):
        await bank.load(build_file(build_entry("50.00", reference=reference)))
    assert await bank.count("bank_entries") == 2


async def test_what_only_the_report_has_stays_when_the_statement_is_imported_again(
    bank: StatementHarness,
) -> None:
    await bank.load(_build_report(*[build_entry("50.00", reference="")] * 2))
    statement = build_file(build_entry("50.00", reference="A"))
    for content in (statement, statement.replace(b"S-1", b"S-2")):
        assert (await bank.load(content)).state is FileState.DONE
        kinds = await bank.harness.rows(_KINDS)
        assert sorted(row["kind"] for row in kinds) == ["REPORT", "STATEMENT"]


@pytest.mark.parametrize("reported", [1, 2])
async def test_equal_payments_are_as_many_as_the_statement_has(
    bank: StatementHarness, reported: int
) -> None:
    await bank.load(_build_report(*[build_entry("50.00", reference="")] * reported))
    await bank.load(build_file(*(build_entry("50.00", reference=each) for each in ("A", "B"))))
    assert await bank.count("bank_entries") == 2


async def test_two_reports_with_other_texts_have_two_payments(bank: StatementHarness) -> None:
    for text in ("one", "two"):
        await bank.load(_build_report(build_credit("50.00", text)))
    assert await bank.count("bank_entries") == 2


async def test_a_reference_is_recognised_before_entries_without_one(
    bank: StatementHarness,
) -> None:
    first, second = (build_entry("50.00", reference=each) for each in ("A", "B"))
    await bank.load(_build_report(first))
    await bank.load(build_file(*[build_entry("50.00", reference="")] * 2))
    await bank.load(_build_report(first, second))
    assert await bank.count("bank_entries") == 2


async def test_entries_of_a_held_report_are_booked_with_the_statement(
    bank: StatementHarness,
) -> None:
    (claim_id,) = await bank.harness.create(_REFERENCE)
    divided = _divide(build_credit("102.40", _REFERENCE), "102.40")
    await bank.load(_build_report(divided))
    assert [state for state, _ in await bank.states()] == ["HELD"]
    balances = build_balance("OPBD", "0.00") + build_balance("CLBD", "9.00")
    held = build_camt(build_credit("102.40", _REFERENCE, "B-1"), balances=balances)
    await bank.load(held)
    assert [state for state, _ in await bank.states()] == ["HELD"]
    rows = await bank.harness.rows(
        "SELECT statement_hash FROM bank_statements WHERE merchant_id = $1 AND kind = 'STATEMENT'"
    )
    async with bank.harness.work() as work:
        await release_statement(work, "main", rows[0]["statement_hash"])
    await bank.load(held)
    assert await bank.count("payments") == 1
    assert await bank.states() == [("MATCHED", _OWED)]
    assert await bank.balance(claim_id) == (Status.COLLECTED, 0, 0)


async def test_entries_of_a_held_report_are_booked_at_once_with_a_right_statement(
    bank: StatementHarness,
) -> None:
    (claim_id,) = await bank.harness.create(_REFERENCE)
    entry = build_credit("102.40", _REFERENCE)
    await bank.load(_build_report(_divide(entry, "102.40")))
    await bank.load(build_file(entry))
    assert await bank.states() == [("MATCHED", _OWED)]
    assert await bank.balance(claim_id) == (Status.COLLECTED, 0, 0)


async def test_a_held_statement_lets_nothing_be_matched_again(bank: StatementHarness) -> None:
    await bank.load(_build_report(build_credit("102.40", "danke")))
    await bank.harness.create(_REFERENCE)
    balances = build_balance("OPBD", "0.00") + build_balance("CLBD", "9.00")
    entry = build_credit("102.40", _REFERENCE, "B-1")
    await bank.load(build_camt(entry, balances=balances))
    assert await bank.states() == [("OPEN", 0)]
    assert await bank.count("payments") == 0


async def test_equal_entries_of_two_reports_are_one_until_the_statement_has_two(
    bank: StatementHarness,
) -> None:
    """Nobody can tell two payments from one that both reports have."""
    await bank.harness.create(_REFERENCE)
    for _ in range(2):
        await bank.load(_build_report(build_credit("10.00", _REFERENCE)))
    assert await bank.count("payments") == 1
    await bank.load(build_file(*[build_credit("10.00", _REFERENCE)] * 2))
    assert await bank.count("payments") == 2


async def test_the_reports_of_another_merchant_are_not_confirmed(
    resources: Resources, clock: MovableClock
) -> None:
    own, other = await _open(resources, clock), await _open(resources, clock)
    short, named = build_entry("50.00", reference=""), build_entry("50.00", reference="B-1")
    for report, statement in ((short, named), (named, short)):
        await other.load(_build_report(report))
        before = await other.harness.rows(_ROWS)
        await own.load(build_file(statement))
        await own.load(_build_report(report))
        assert await other.harness.rows(_ROWS) == before
    for bank in (other, own):
        await bank.load(_build_report(_divide(build_credit("60.00", _REFERENCE), "60.00")))
    before = await other.harness.rows(_ROWS)
    await own.load(build_file(build_credit("60.00", _REFERENCE)))
    assert await other.harness.rows(_ROWS) == before
    assert await own.count("bank_entries") == 3


@dataclass(frozen=True)
class _Payment:
    cents: int
    text: str


_PAYMENTS = st.lists(
    st.builds(_Payment, st.sampled_from([100, 200]), st.sampled_from(["a", "b"])),
    min_size=1, max_size=6,
)  # fmt: skip


def _write(payment: _Payment, place: int, style: str) -> str:
    """Return a payment as one kind of file has it: with fewer texts, or with a reference."""
    amount = f"{payment.cents // 100}.00"
    if style == "reference":
        return build_credit(amount, payment.text, f"B-{place}")
    if style == "short":
        return build_entry(amount, reference="")
    return build_credit(amount, payment.text if style == "text" else f"SEPA {payment.text}")


@given(
    payments=_PAYMENTS,
    styles=st.tuples(*[st.sampled_from(["text", "long", "short", "reference"])] * 2),
    cuts=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=4),
    data=st.data(),
)
@settings(
    max_examples=25, deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
async def test_reports_in_any_order_neither_lose_nor_double_what_the_statement_has(
    resources: Resources, clock: MovableClock, payments: list[_Payment],
    styles: tuple[str, str], cuts: list[tuple[int, int]], data: st.DataObject,
) -> None:  # fmt: skip
    """Reports have any part of the day, cumulative or not; the statement has all of it."""
    bank = await _open(resources, clock)
    of_reports = [_write(each, place, styles[0]) for place, each in enumerate(payments)]
    of_statement = [_write(each, place, styles[1]) for place, each in enumerate(payments)]
    parts = [of_reports[min(cut) : max(cut)] for cut in cuts]
    files = [build_file(*of_statement), *(_build_report(*each) for each in parts)]
    files = data.draw(st.permutations([*files, *files[:2]]))
    for content in files:
        await bank.load(content)
    stored = {row["amount_cents"]: row["entries"] for row in await bank.harness.rows(_STORED)}
    assert stored == Counter(each.cents for each in payments)
    (paid,) = await bank.harness.rows(_PAID)
    assert tuple(paid) == (sum(each.cents for each in payments), len(payments))
