"""Files of a bank are imported: each entry once, whatever is imported again, and what is certain is
booked."""

from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import permutations
from typing import Any

import pytest

from dunwell.cases.payments.provider import Payout
from dunwell.cases.statements.bank_accounts import list_bank_accounts
from dunwell.cases.statements.import_statements import (
    cancel_import,
    get_file,
    import_next_file,
    release_statement,
)
from dunwell.cases.statements.imported_file import FileState
from dunwell.cases.statements.matches.assign_transactions import (
    TransactionShare,
    assign_transactions,
    find_transactions_for_claim,
    record_without_claim,
    reverse_matched_payment,
    undo_match,
)
from dunwell.cases.statements.payouts.record_payouts import record_payouts
from dunwell.cases.statements.store import StatementAccount
from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.crypto import DecryptionFailed, KeyRing
from dunwell.platform.errors import InvalidState, NotFound, ValidationError
from dunwell.platform.resources import Resources
from tests.support.bank_files import IBAN, build_balance, build_camt, build_detail, build_entry
from tests.support.harness import a_harness
from tests.support.statements import StatementHarness, build_credit, build_file

_OWED = 10240
_HASH = "SELECT statement_hash FROM bank_statements WHERE merchant_id = $1"


@pytest.fixture
async def bank(resources: Resources, clock: MovableClock) -> StatementHarness:
    bank = StatementHarness(await a_harness(resources, clock))
    await bank.save()
    return bank


async def _create(bank: StatementHarness, *references: str) -> list[int]:
    return await bank.harness.create(*references)


async def test_a_file_that_cannot_be_decrypted_is_imported_when_its_key_is_there(
    bank: StatementHarness, clock: MovableClock
) -> None:
    await _create(bank, "INV-2026-1001")
    resources = bank.harness.resources
    file = await bank.submit(build_file(build_credit("102.40", "INV-2026-1001")))
    with pytest.raises(DecryptionFailed):
        await import_next_file(replace(resources, keys=KeyRing({1: b"another key".ljust(32)})))
    clock.advance(timedelta(minutes=2))
    assert await import_next_file(resources) == 1
    async with bank.harness.work() as work:
        assert (await get_file(work, file.file_id)).matched_count == 1


async def test_a_payment_with_the_whole_reference_collects_its_claim(
    bank: StatementHarness,
) -> None:
    (claim_id,) = await _create(bank, "INV-2026-1001")
    file = await bank.load(build_file(build_credit("102.40", "INV-2026-1001 danke")))
    assert (file.state, file.entry_count, file.read_count) == (FileState.DONE, 1, 1)
    assert (file.new_count, file.matched_count) == (1, 1)
    assert await bank.balance(claim_id) == (Status.COLLECTED, 0, 0)
    (match,) = await bank.matches()
    assert (match["kind"], match["rule"], match["claim_id"]) == ("MATCHED", "REFERENCE", claim_id)
    receipts = await bank.harness.rows(
        "SELECT facts FROM debtor_occasions WHERE merchant_id = $1 AND occasion = 'receipt'"
    )
    assert [row["facts"]["amount_cents"] for row in receipts] == [_OWED]


async def test_importing_again_overlapping_or_in_another_order_duplicates_and_loses_nothing(
    resources: Resources, clock: MovableClock
) -> None:
    entries = [
        build_credit("1.00", "INV-2026-1001"), build_credit("1.00", "INV-2026-1001"),
        build_credit("2.00", "INV-2026-1001", "B-2"), build_credit("4.00", "unknown", "B-3"),
    ]  # fmt: skip
    files = [
        build_file(entries[0], entries[1], entries[2]), build_file(entries[2], entries[3]),
        build_file(*entries),
    ]  # fmt: skip
    outcomes = set()
    for number, order in enumerate(permutations(files)):
        bank = StatementHarness(await a_harness(resources, clock, key=f"merchant-{number}"))
        await bank.save()
        (claim_id,) = await _create(bank, "INV-2026-1001")
        for content in [*order, order[0]]:
            await bank.load(content)
        outcomes.add((await bank.count("bank_entries"), await bank.balance(claim_id)))
        assert await bank.count("payments") == 3
    assert outcomes == {(4, (Status.CREATED, _OWED - 400, 0))}


async def test_a_statement_without_entries_refreshes_the_account(bank: StatementHarness) -> None:
    file = await bank.load(build_camt())
    assert file.state is FileState.DONE
    async with bank.harness.work() as work:
        (account,) = await list_bank_accounts(work)
    assert account.reported_until == date(2026, 11, 27)


async def test_a_pending_entry_is_stored_once_and_never_booked(bank: StatementHarness) -> None:
    await _create(bank, "INV-2026-1001")
    pending = build_credit("102.40", "INV-2026-1001", status="<Cd>PDNG</Cd>")
    for _ in range(2):
        await bank.load(build_file(pending, message="052"))
    assert (await bank.count("bank_entries"), await bank.count("bank_transactions")) == (1, 0)
    await bank.load(build_file(build_credit("102.40", "INV-2026-1001")))
    assert (await bank.count("bank_entries"), await bank.count("payments")) == (1, 1)


@pytest.mark.parametrize("is_first", [True, False])
async def test_a_notification_completes_the_entry_and_is_not_booked_besides(
    bank: StatementHarness, *, is_first: bool
) -> None:
    first, second = await _create(bank, "INV-2026-1001", "INV-2026-1002")
    details = build_detail("102.40", "INV-2026-1001") + build_detail("50.00", "INV-2026-1002")
    statement = build_file(build_entry("152.40", reference="B-9"))
    notification = build_file(
        build_entry("152.40", reference="B-9", details=details), message="054"
    )
    files = [notification, statement] if is_first else [statement, notification]
    for content in files:
        await bank.load(content)
    assert await bank.count("payments") == 2
    assert await bank.balance(first) == (Status.COLLECTED, 0, 0)
    assert await bank.balance(second) == (Status.CREATED, 5240, 0)


async def test_a_notification_alone_books_nothing(bank: StatementHarness) -> None:
    await _create(bank, "INV-2026-1001")
    await bank.load(build_file(build_credit("102.40", "INV-2026-1001", "B-9"), message="054"))
    assert await bank.states() == [("HELD", 0)]


async def test_a_statement_with_wrong_sums_is_held_until_it_is_released(
    bank: StatementHarness,
) -> None:
    (claim_id,) = await _create(bank, "INV-2026-1001")
    balances = build_balance("OPBD", "0.00") + build_balance("CLBD", "100.00")
    content = build_camt(build_credit("102.40", "INV-2026-1001"), balances=balances)
    for _ in range(2):
        file = await bank.load(content)
    assert "is held" in file.problems[0]
    assert await bank.balance(claim_id) == (Status.CREATED, _OWED, 0)
    (row,) = await bank.harness.rows(_HASH)
    async with bank.harness.work() as work:
        await release_statement(work, "main", row["statement_hash"])
    await bank.load(content)
    assert await bank.balance(claim_id) == (Status.COLLECTED, 0, 0)


async def test_a_statement_of_another_account_is_reported_and_not_imported(
    bank: StatementHarness,
) -> None:
    await bank.save(StatementAccount("main", "DE02120300000000202051", "Muster GmbH"))
    file = await bank.load(build_file(build_credit("1.00", "x")))
    assert file.state is FileState.REFUSED
    assert f"to account {IBAN}" in file.problems[0]
    assert await bank.count("bank_entries") == 0


async def test_an_unreadable_file_is_refused_and_its_content_is_deleted(
    bank: StatementHarness,
) -> None:
    file = await bank.load(b"%PDF-1.7")
    assert file.state is FileState.REFUSED
    contents = await bank.harness.rows(
        "SELECT content_sealed FROM bank_files WHERE merchant_id = $1"
    )
    assert [row["content_sealed"] for row in contents] == [None]


async def test_a_cancelled_import_stores_nothing_more_and_can_be_repeated(
    bank: StatementHarness,
) -> None:
    (claim_id,) = await _create(bank, "INV-2026-1001")
    content = build_file(build_credit("102.40", "INV-2026-1001"))
    file = await bank.submit(content)
    async with bank.harness.work() as work:
        assert (await cancel_import(work, file.file_id)).state is FileState.CANCELLED
    assert await import_next_file(bank.harness.resources) == 0
    async with bank.harness.work() as work:
        with pytest.raises(InvalidState):
            await cancel_import(work, file.file_id)
    await bank.load(content)
    assert await bank.balance(claim_id) == (Status.COLLECTED, 0, 0)


async def test_what_is_not_certain_is_open_with_suggestions_in_order(
    bank: StatementHarness,
) -> None:
    await _create(bank, "INV-2026-1001", "4711")
    await bank.load(build_file(build_credit("102.40", "Kunde 4711", "B-1")))
    (open_one,) = await bank.opened()
    assert [each.rule for each in open_one.suggestions] == ["SHORT_NUMBER"]
    await bank.load(build_file(build_credit("102.40", "INV-2026-1001", "B-2")))
    await bank.load(build_file(build_credit("102.40", "ohne", "B-3")))
    assert await bank.states() == [("OPEN", 0), ("MATCHED", _OWED), ("OPEN", 0)]


async def test_a_payer_is_remembered_for_a_proposal(bank: StatementHarness) -> None:
    first, second = await bank.harness.create("INV-2026-1001", "INV-2026-1002", customerNumber="K1")
    await bank.load(build_file(build_credit("1.00", "INV-2026-1001", "B-1")))
    await bank.load(build_file(build_credit("101.40", "danke", "B-2")))
    (open_one,) = await bank.opened()
    assert [(each.rule, each.parts[0].claim_id) for each in open_one.suggestions] == [
        ("PAYER_ACCOUNT", first)
    ]
    await bank.load(build_file(build_credit("203.80", "alles", "B-3")))
    sets = (await bank.opened())[1].suggestions
    assert [(each.rule, {part.claim_id for part in each.parts}) for each in sets] == [
        ("COVERING_SET", {first, second})
    ]


async def test_two_payments_of_one_file_share_what_the_claim_owes(bank: StatementHarness) -> None:
    (claim_id,) = await _create(bank, "INV-2026-1001")
    await bank.load(
        build_file(
            build_credit("60.00", "INV-2026-1001", "B-1"),
            build_credit("60.00", "INV-2026-1001", "B-2"),
        )
    )
    assert await bank.balance(claim_id) == (Status.COLLECTED, 0, 1760)
    rows = await bank.harness.rows(
        "SELECT reason FROM bank_matches WHERE merchant_id = $1 ORDER BY match_id"
    )
    compared = [row["reason"]["facts"]["comparison"]["code"] for row in rows]
    assert compared == ["PART", "SURPLUS"]


async def test_a_payout_is_found_before_a_claim_of_the_same_amount(
    bank: StatementHarness,
) -> None:
    (claim_id,) = await _create(bank, "INV-2026-1001")
    paid_at = bank.harness.clock.now()
    day = paid_at.date().isoformat()
    payout = Payout("po_1", _OWED, 50, "EUR", paid_at)
    for _ in range(2):
        async with bank.harness.work() as work:
            await record_payouts(work, "stripe-main", [payout])
    await bank.load(build_file(build_credit("102.40", "INV-2026-1001", "B-1", day=day)))
    assert await bank.balance(claim_id) == (Status.CREATED, _OWED, 0)
    (match,) = await bank.matches()
    assert match["rule"] == "PAYOUT"
    # The next payment of this amount is a debtor's.
    await bank.load(build_file(build_credit("102.40", "INV-2026-1001", "B-2", day=day)))
    assert await bank.balance(claim_id) == (Status.COLLECTED, 0, 0)


@pytest.mark.parametrize(
    ("days", "state"), [(-3, "OPEN"), (-2, "PAYOUT"), (12, "PAYOUT"), (13, "OPEN")]
)
async def test_a_payout_is_taken_from_two_days_before_to_twelve_days_after_it_was_paid(
    bank: StatementHarness, days: int, state: str
) -> None:
    paid_at = datetime.combine(bank.harness.clock.now().date(), time(12), UTC)
    async with bank.harness.work() as work:
        await record_payouts(work, "stripe-main", [Payout("po_1", 100, 0, "EUR", paid_at)])
    day = (paid_at + timedelta(days=days)).date().isoformat()
    await bank.load(build_file(build_credit("1.00", "x", "B-1", day=day)))
    assert [each for each, _ in await bank.states()] == [state]


def _build_return(reason: str) -> str:
    more = f"<RtrInf><Rsn><Cd>{reason}</Cd></Rsn></RtrInf>"
    details = build_detail("102.40", "Retoure", kind="DBIT", more=more)
    return build_entry("102.40", kind="DBIT", reference="R-1", details=details)


async def test_a_return_with_a_known_reason_reverses_its_payment(bank: StatementHarness) -> None:
    (claim_id,) = await _create(bank, "INV-2026-1001")
    await bank.load(build_file(build_credit("102.40", "INV-2026-1001", "B-1")))
    for _ in range(2):
        await bank.load(build_file(_build_return("AC04")))
    assert await bank.balance(claim_id) == (Status.CREATED, _OWED, 0)
    movements = await bank.harness.rows(
        "SELECT provider, kind, booked_cents FROM payment_movements WHERE merchant_id = $1"
    )
    assert [tuple(row) for row in movements] == [("bank:main", "CHARGED_BACK", _OWED)]
    returned = next(row for row in await bank.matches() if row["rule"] == "RETURN")
    async with bank.harness.work() as work:
        with pytest.raises(InvalidState):
            await undo_match(work, returned["match_id"])


@pytest.mark.parametrize("reason", ["0000", "XX99"])
async def test_a_return_with_another_code_is_left_to_a_person(
    bank: StatementHarness, reason: str
) -> None:
    (claim_id,) = await _create(bank, "INV-2026-1001")
    await bank.load(build_file(build_credit("102.40", "INV-2026-1001", "B-1")))
    await bank.load(build_file(_build_return(reason)))
    assert await bank.balance(claim_id) == (Status.COLLECTED, 0, 0)
    assert [each.transaction.amount_cents for each in await bank.opened()] == [-_OWED]


async def _assign(bank: StatementHarness, *shares: tuple[int, int, int]) -> list[Any]:
    """Assign shares (place among the open transactions, claim, cents)."""
    opened = await bank.opened()
    keys = [opened[place].transaction.key for place, _, _ in shares]
    async with bank.harness.work() as work:
        return await assign_transactions(
            work,
            [
                TransactionShare(*key, claim_id, cents)
                for key, (_, claim_id, cents) in zip(keys, shares, strict=True)
            ],
        )


async def test_a_payment_is_assigned_to_several_claims_and_undone_with_every_figure(
    bank: StatementHarness,
) -> None:
    first, second = await _create(bank, "INV-2026-1001", "INV-2026-1002")
    await bank.load(build_file(build_credit("152.40", "danke", "B-1")))
    matches = await _assign(bank, (0, first, _OWED), (0, second, 5000))
    assert await bank.states() == [("MATCHED", 15240)]
    assert await bank.balance(first) == (Status.COLLECTED, 0, 0)
    assert await bank.balance(second) == (Status.CREATED, 5240, 0)
    for match in matches:
        async with bank.harness.work() as work:
            await undo_match(work, match.match_id, "wrong claim")
        async with bank.harness.work() as work:
            with pytest.raises(InvalidState):
                await undo_match(work, match.match_id)
    assert await bank.states() == [("OPEN", 0)]
    assert await bank.balance(first) == (Status.CREATED, _OWED, 0)
    assert await bank.balance(second) == (Status.CREATED, _OWED, 0)
    await _assign(bank, (0, first, _OWED), (0, second, 5000))
    assert await bank.balance(first) == (Status.COLLECTED, 0, 0)


async def test_several_payments_are_assigned_to_one_claim(bank: StatementHarness) -> None:
    (claim_id,) = await _create(bank, "INV-2026-1001")
    await bank.load(
        build_file(build_credit("100.00", "a", "B-1"), build_credit("2.40", "b", "B-2"))
    )
    async with bank.harness.work() as work:
        opened, found = await find_transactions_for_claim(work, "main", claim_id)
    assert found.is_unique
    assert [opened[place].amount_cents for place in sorted(found.sets[0])] == [10000, 240]
    await _assign(bank, (0, claim_id, 10000), (1, claim_id, 240))
    assert await bank.balance(claim_id) == (Status.COLLECTED, 0, 0)


async def test_more_than_is_left_of_a_payment_is_not_assigned(bank: StatementHarness) -> None:
    (claim_id,) = await _create(bank, "INV-2026-1001")
    await bank.load(build_file(build_credit("10.00", "danke", "B-1")))
    with pytest.raises(InvalidState):
        await _assign(bank, (0, claim_id, 600), (0, claim_id, 401))
    with pytest.raises(ValidationError):
        await _assign(bank, (0, claim_id, 0))
    with pytest.raises(NotFound):
        await _assign(bank, (0, 999_999, 100))
    await _assign(bank, (0, claim_id, 400))
    assert await bank.states() == [("OPEN", 400)]
    with pytest.raises(InvalidState):
        await _assign(bank, (0, claim_id, 601))
    assert await bank.count("payments") == 1


async def test_nothing_automatic_changes_what_a_person_decided(bank: StatementHarness) -> None:
    (claim_id,) = await _create(bank, "INV-2026-1001")
    content = build_file(build_credit("102.40", "INV-2026-1001", "B-1"))
    await bank.load(content)
    (match,) = await bank.matches()
    async with bank.harness.work() as work:
        await undo_match(work, match["match_id"])
    await bank.load(content)
    assert await bank.states() == [("OPEN", 0)]
    assert await bank.balance(claim_id) == (Status.CREATED, _OWED, 0)


async def test_money_of_no_claim_is_set_aside_and_can_be_assigned_later(
    bank: StatementHarness,
) -> None:
    await bank.load(build_file(build_credit("10.00", "Zinsen", "B-1")))
    (open_one,) = await bank.opened()
    async with bank.harness.work() as work:
        match = await record_without_claim(work, *open_one.transaction.key, "interest")
    assert await bank.states() == [("WITHOUT_CLAIM", 1000)]
    assert await bank.opened() == []
    async with bank.harness.work() as work:
        await undo_match(work, match.match_id)
    assert await bank.states() == [("OPEN", 0)]


async def test_a_payment_that_went_back_cannot_be_undone(bank: StatementHarness) -> None:
    await _create(bank, "INV-2026-1001")
    await bank.load(build_file(build_credit("102.40", "INV-2026-1001", "B-1")))
    await bank.load(build_file(_build_return("AC04")))
    paid = next(row for row in await bank.matches() if row["rule"] == "REFERENCE")
    async with bank.harness.work() as work:
        with pytest.raises(InvalidState):
            await undo_match(work, paid["match_id"])


_OWN_TABLES = (
    "bank_accounts", "bank_files", "bank_statements", "bank_entries", "bank_transactions",
    "bank_matches", "payer_accounts", "provider_payouts", "payments", "payment_movements",
    "allocations", "claims", "audit_log",
)  # fmt: skip


async def _run_everything(bank: StatementHarness) -> None:
    """Do everything that statements can do, with the same references at each merchant."""
    first, second = await bank.harness.create("INV-2026-1001", "INV-2026-1002", customerNumber="K1")
    paid_at = bank.harness.clock.now()
    day = paid_at.date().isoformat()
    async with bank.harness.work() as work:
        await record_payouts(work, "stripe-main", [Payout("po_1", 777, 0, "EUR", paid_at)])
    balances = build_balance("OPBD", "0.00") + build_balance("CLBD", "1.00")
    details = build_detail("102.40", "INV-2026-1001") + build_detail("5.00", "INV-2026-1002")
    held = build_camt(build_credit("3.00", "x", "H-1"), balances=balances)
    for content in (
        build_file(build_credit("7.77", "po_1", "P-1", day=day)),
        build_file(build_entry("107.40", reference="B-9")),
        build_file(build_entry("107.40", reference="B-9", details=details), message="054"),
        build_file(build_credit("2.00", "x", "B-8"), message="054"),
        build_file(build_credit("2.00", "x", "B-8")),
        build_file(_build_return("AC04")),
        held,
    ):
        await bank.load(content)
    async with bank.harness.work() as work:
        for row in await bank.harness.rows(_HASH + " AND held_reason IS NOT NULL"):
            await release_statement(work, "main", row["statement_hash"])
    await bank.load(held)
    (match,) = await _assign(bank, (0, second, 100))
    assert match.payment_id is not None
    async with bank.harness.work() as work:
        await reverse_matched_payment(work, second, match.payment_id, "wrong claim")
        await find_transactions_for_claim(work, "main", first)


async def _read_rows(bank: StatementHarness) -> dict[str, list[str]]:
    return {
        table: [
            row["row"]
            for row in await bank.harness.rows(
                f"SELECT t::text AS row FROM {table} t WHERE merchant_id = $1 ORDER BY 1"
            )
        ]
        for table in _OWN_TABLES
    }


async def test_two_merchants_with_the_same_statements_do_not_change_each_other(
    resources: Resources, clock: MovableClock
) -> None:
    banks = [
        StatementHarness(await a_harness(resources, clock, key=f"merchant-{number}"))
        for number in range(2)
    ]
    results = []
    for bank in banks:
        await bank.save()
    for bank, other in (banks, banks[::-1]):
        before = await _read_rows(other)
        await _run_everything(bank)
        assert await _read_rows(other) == before
        rows = await bank.matches()
        matches = sorted((row["kind"], row["rule"], row["amount_cents"]) for row in rows)
        results.append((matches, sorted(await bank.states())))
    assert results[0] == results[1]
    assert len(results[0][0]) == 6
