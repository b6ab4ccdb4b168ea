"""A statement is imported into the account that it names, also by a national number."""

import pytest

from dunwell.cases.statements.imported_file import FileState
from dunwell.cases.statements.store import StatementAccount
from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.bank_files import IBAN
from tests.support.harness import a_harness
from tests.support.statements import StatementHarness


@pytest.fixture
async def bank(resources: Resources, clock: MovableClock) -> StatementHarness:
    bank = StatementHarness(await a_harness(resources, clock))
    await bank.save()
    return bank


_MT940 = """:20:STARTUMSE
:25:{account}
:28C:00001/001
:60F:C261126EUR0,00
:61:2611271127C102,40N062NONREF//B-1
:86:166?00GUTSCHRIFT?20INV-2026-1001?32ERIKA MUSTER
:62F:C261127EUR102,40
-
"""


@pytest.mark.parametrize(
    ("account", "state"),
    [
        ("37040044/0532013000", FileState.DONE), ("37040044/532013000EUR", FileState.DONE),
        ("532013000", FileState.DONE), (IBAN, FileState.DONE),
        ("37040045/532013000", FileState.REFUSED), ("532013001", FileState.REFUSED),
    ],
)  # fmt: skip
async def test_mt940_names_its_account_by_the_national_number_or_the_iban(
    bank: StatementHarness, account: str, state: FileState
) -> None:
    (claim_id,) = await bank.harness.create("INV-2026-1001")
    file = await bank.load(_MT940.format(account=account).encode())
    assert file.state is state
    paid = await bank.balance(claim_id) == (Status.COLLECTED, 0, 0)
    assert paid == (state is FileState.DONE)


async def test_a_number_that_two_accounts_have_names_none_of_them(
    bank: StatementHarness,
) -> None:
    await bank.save(StatementAccount("other", "DE62370400440532013001", "Muster GmbH"))
    file = await bank.load(_MT940.format(account="532013000").encode())
    assert file.state is FileState.DONE
    await bank.save(StatementAccount("third", "DE66500800000532013000", "Muster GmbH"))
    file = await bank.load(_MT940.format(account="532013000").replace("B-1", "B-2").encode())
    assert file.state is FileState.REFUSED
    assert await bank.count("bank_entries") == 1
