"""The settings of a bank account: each limit with the last value that is accepted and the first one
that is not."""

from dataclasses import replace
from typing import Any

import pytest

from dunwell.cases.statements.bank_accounts import list_bank_accounts, save_bank_account
from dunwell.cases.statements.formats.csv_mapping import CsvMapping
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import ValidationError
from dunwell.platform.resources import Resources
from tests.support.bank_files import IBAN
from tests.support.harness import a_harness
from tests.support.statements import ACCOUNT, StatementHarness

_FREE = "DE02120300000000202051"


@pytest.fixture
async def bank(resources: Resources, clock: MovableClock) -> StatementHarness:
    bank = StatementHarness(await a_harness(resources, clock))
    await bank.save()
    return bank


async def list_faults(bank: StatementHarness, changes: dict[str, Any]) -> list[tuple[str, str]]:
    """Save another account with these changes. Return the path and the code of each fault."""
    account = replace(ACCOUNT, **{"account": "giro", "iban": _FREE, **changes})
    async with bank.harness.work() as work:
        try:
            await save_bank_account(work, account)
        except ValidationError as refusal:
            return [(each.path, each.code) for each in refusal.faults]
    return []


async def list_names(bank: StatementHarness) -> list[str]:
    async with bank.harness.work() as work:
        return [each.account for each in await list_bank_accounts(work)]


@pytest.mark.parametrize(
    "changes",
    [
        {"account": "a" * 60}, {"account": "0-_"}, {"iban": "de02 1203 0000 0000 2020 51"},
        {"tolerance_cents": 0}, {"tolerance_cents": 10_000}, {"max_age_banking_days": 1},
        {"max_age_banking_days": 30}, {"folder": "in/camt..053"}, {"holder": "x" * 255},
    ],
)  # fmt: skip
async def test_the_last_allowed_value_is_saved(
    bank: StatementHarness, changes: dict[str, Any]
) -> None:
    assert await list_faults(bank, changes) == []
    assert len(await list_names(bank)) == 2


@pytest.mark.parametrize(
    ("changes", "path", "code"),
    [
        ({"account": "a" * 61}, "/account", "WRONG_FORMAT"),
        ({"account": ""}, "/account", "WRONG_FORMAT"),
        ({"account": "-a"}, "/account", "WRONG_FORMAT"),
        ({"account": "Giro"}, "/account", "WRONG_FORMAT"),
        ({"account": "giro\n"}, "/account", "WRONG_FORMAT"),
        ({"iban": "DE02120300000000202052"}, "/iban", "WRONG_IBAN"),
        ({"iban": "DE0212030000000020205"}, "/iban", "WRONG_IBAN"),
        ({"iban": ""}, "/iban", "WRONG_IBAN"),
        ({"iban": IBAN.lower()}, "/iban", "TAKEN"),
        ({"holder": " "}, "/holder", "REQUIRED"),
        ({"holder": "A\nB"}, "/holder", "REQUIRED"),
        ({"holder": "x" * 256}, "/holder", "REQUIRED"),
        ({"tolerance_cents": -1}, "/tolerance", "OUT_OF_RANGE"),
        ({"tolerance_cents": 10_001}, "/tolerance", "OUT_OF_RANGE"),
        ({"max_age_banking_days": 0}, "/maxAgeBankingDays", "OUT_OF_RANGE"),
        ({"max_age_banking_days": 31}, "/maxAgeBankingDays", "OUT_OF_RANGE"),
        ({"folder": "../x"}, "/folder", "WRONG_FORMAT"),
        ({"folder": "a/../../b"}, "/folder", "WRONG_FORMAT"),
        ({"folder": "/etc"}, "/folder", "WRONG_FORMAT"),
    ],
)
async def test_a_value_that_is_not_allowed_is_named_and_nothing_is_saved(
    bank: StatementHarness, changes: dict[str, Any], path: str, code: str
) -> None:
    assert await list_faults(bank, changes) == [(path, code)]
    assert await list_names(bank) == ["main"]


async def test_all_faults_are_named_at_once_and_an_account_keeps_its_own_iban(
    bank: StatementHarness,
) -> None:
    wrong = {"account": "G", "iban": "x", "holder": "", "tolerance_cents": -1, "folder": "/x"}
    assert [path for path, _ in await list_faults(bank, wrong)] == [
        "/account", "/iban", "/holder", "/tolerance", "/folder",
    ]  # fmt: skip
    assert await list_faults(bank, {"account": "main", "iban": IBAN, "holder": "Another"}) == []


async def test_a_mapping_with_a_fault_is_not_saved_with_the_account(
    bank: StatementHarness,
) -> None:
    mapping = CsvMapping(iban=IBAN, currency="EUR", booked_on="Day", amount="Day")
    assert await list_faults(bank, {"csv_mapping": mapping}) == [("/amount", "NOT_UNIQUE")]
    assert await list_names(bank) == ["main"]
