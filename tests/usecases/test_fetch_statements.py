"""Statements are fetched from a watched folder, once each, when they are complete."""

from pathlib import Path

import pytest
import structlog

from dunwell.accounts.installation.bank_connections import BankFolder
from dunwell.accounts.installation.current_installation import CurrentInstallation
from dunwell.adapters.bank_statements import StatementFetcher
from dunwell.adapters.channels.folder.channel import LocalFolder
from dunwell.cases.statements.import_statements import import_next_file, list_imported_files
from dunwell.cases.statements.store import StatementAccount
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.bank_files import IBAN
from tests.support.harness import a_harness
from tests.support.statements import StatementHarness, build_credit, build_file


@pytest.fixture
async def bank(resources: Resources, clock: MovableClock) -> StatementHarness:
    bank = StatementHarness(await a_harness(resources, clock))
    await bank.save(
        StatementAccount("main", IBAN, "Muster GmbH", connection="sparkasse", folder="in")
    )
    return bank


def _open(bank: StatementHarness, folder: Path) -> StatementFetcher:
    installation = CurrentInstallation(bank.harness.resources)
    installation.bank_connections = {
        "sparkasse": BankFolder(folder=str(folder)),
    }
    return StatementFetcher(bank.harness.resources, installation)


async def test_a_file_is_fetched_once_when_its_size_no_longer_changes(
    bank: StatementHarness, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    fetcher = _open(bank, tmp_path)
    content = build_file(build_credit("1.00", "x", "B-1"))
    file = tmp_path / "in" / "2026-11-27.xml"
    file.write_bytes(content[:100])
    (tmp_path / "in" / "next.xml.part").write_bytes(content)
    assert await fetcher.run_once() == 0
    file.write_bytes(content)
    assert [await fetcher.run_once() for _ in range(3)] == [0, 1, 0]
    assert await import_next_file(bank.harness.resources) == 1
    assert await _open(bank, tmp_path).run_once() == 0
    async with bank.harness.work() as work:
        (imported,) = await list_imported_files(work)
    assert (imported.name, imported.new_count) == ("2026-11-27.xml", 1)
    assert file.read_bytes() == content


async def test_a_missing_folder_or_connection_stops_no_other_account(
    bank: StatementHarness, tmp_path: Path
) -> None:
    assert await _open(bank, tmp_path / "missing").run_once() == 0
    installation = CurrentInstallation(bank.harness.resources)
    assert await StatementFetcher(bank.harness.resources, installation).run_once() == 0


async def test_a_file_that_cannot_be_read_or_is_too_large_stops_no_other(
    bank: StatementHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = build_file(build_credit("1.00", "x", "B-1"))
    monkeypatch.setattr("dunwell.adapters.bank_statements.MAX_FILE_BYTES", len(content))
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "1-unreadable.xml").write_bytes(content)
    (folder / "2-too-large.xml").write_bytes(content + b" ")
    (folder / "3.xml").write_bytes(content)
    read = LocalFolder.read

    async def read_or_fail(self: LocalFolder, name: str) -> bytes:
        if "unreadable" in name:
            raise PermissionError("Permission denied")
        return await read(self, name)

    # File modes do not stop the user root, who may run the tests.
    monkeypatch.setattr(LocalFolder, "read", read_or_fail)
    fetcher = _open(bank, tmp_path)
    with structlog.testing.capture_logs() as logs:
        assert [await fetcher.run_once() for _ in range(3)] == [0, 1, 0]
    events = [(each["event"], each["file"]) for each in logs]
    assert events.count(("bank file too large", "2-too-large.xml")) == 1
    assert ("bank statements not fetched", "1-unreadable.xml") in events


async def test_a_file_with_the_longest_name_is_fetched_once(
    bank: StatementHarness, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    name = f"{'x' * 251}.xml"
    (tmp_path / "in" / name).write_bytes(build_file(build_credit("1.00", "x", "B-1")))
    fetcher = _open(bank, tmp_path)
    assert [await fetcher.run_once() for _ in range(3)] == [0, 1, 0]
