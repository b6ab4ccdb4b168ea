"""Statements are fetched from a real OpenSSH server, whose host key is pinned."""

import pytest

from dunwell.accounts.installation.bank_connections import BankServer
from dunwell.accounts.installation.current_installation import CurrentInstallation
from dunwell.adapters.bank_statements import StatementFetcher
from dunwell.cases.statements.import_statements import import_next_file
from dunwell.cases.statements.store import StatementAccount
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.servers.sshd import Sshd
from tests.support.bank_files import IBAN
from tests.support.harness import a_harness
from tests.support.statements import StatementHarness, build_credit, build_file


@pytest.fixture
async def bank(resources: Resources, clock: MovableClock) -> StatementHarness:
    bank = StatementHarness(await a_harness(resources, clock))
    await bank.save(
        StatementAccount("main", IBAN, "Muster GmbH", connection="sparkasse", folder="out")
    )
    return bank


def _open(bank: StatementHarness, sshd: Sshd) -> StatementFetcher:
    provider = sshd.provider()
    installation = CurrentInstallation(bank.harness.resources)
    installation.bank_connections = {
        "sparkasse": BankServer(
            server=provider.server, host_key=provider.host_key, user=provider.user,
            folder=provider.folder,
            key_file="key",
        )
    }  # fmt: skip
    key = sshd.secrets["deliveryProviders/post/keyFile"]
    installation.secrets = {"bankConnections/sparkasse/keyFile": key}
    return StatementFetcher(bank.harness.resources, installation)


async def test_a_statement_is_fetched_from_the_server_once(
    bank: StatementHarness, sshd: Sshd
) -> None:
    folder = sshd.letter_folder / "out"
    folder.mkdir()
    (folder / "day.xml").write_bytes(build_file(build_credit("1.00", "x", "B-1")))
    fetcher = _open(bank, sshd)
    assert [await fetcher.run_once() for _ in range(3)] == [0, 1, 0]
    assert await import_next_file(bank.harness.resources) == 1
    assert await bank.count("bank_entries") == 1


async def test_nothing_is_fetched_from_a_server_with_another_host_key(
    bank: StatementHarness, sshd: Sshd
) -> None:
    folder = sshd.letter_folder / "out"
    folder.mkdir()
    (folder / "day.xml").write_bytes(build_file(build_credit("1.00", "x", "B-1")))
    fetcher = _open(bank, sshd)
    sshd.stop()
    sshd.replace_host_key()
    sshd.start()
    assert [await fetcher.run_once() for _ in range(2)] == [0, 0]
    assert await bank.count("bank_files") == 0
