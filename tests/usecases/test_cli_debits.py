"""`dunwell debits` lists and releases debits and downloads their file, and the clock of a sandbox
plans them."""

from pathlib import Path

import msgspec
import pytest

from dunwell.cases.direct_debit.debit_values import CollectionState
from dunwell.operations.sandbox.advance_clock import advance_clock
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.command_line import CommandLine
from tests.support.debit_plans import CLERK, NOTICE, Debits, find_texts, start
from tests.support.harness import ERP
from tests.support.notice_sending import send_due_notices


@pytest.fixture
async def debits(resources: Resources, clock: MovableClock) -> Debits:
    return await start(resources, clock, sandbox=True)


@pytest.fixture
async def with_second_release(resources: Resources, clock: MovableClock) -> Debits:
    return await start(resources, clock, sandbox=True, second_release=True)


def _run(dunwell: CommandLine, *words: str) -> str:
    done = dunwell.run("debits", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _download(dunwell: CommandLine, file_id: str, folder: Path) -> bytes:
    """Return the file that the command has written to the folder."""
    printed = _run(dunwell, "download", "nordwind", file_id, "--to", str(folder))
    (path,) = folder.iterdir()
    assert printed == f"{path}\n"
    return path.read_bytes()


async def _plan_first(debits: Debits) -> None:
    """Give a mandate, and advance the sandbox clock to the day of the pre-notification."""
    harness = debits.arrangement.harness
    await debits.sign()
    await advance_clock(harness.resources, harness.channels, harness.merchant, ERP, NOTICE)
    await send_due_notices(harness)


async def test_a_debit_is_listed_released_and_downloaded(
    dunwell: CommandLine, debits: Debits, tmp_path: Path
) -> None:
    await _plan_first(debits)
    (listed,) = msgspec.json.decode(_run(dunwell, "list", "nordwind", "--json"))
    assert (listed["claimId"], listed["instalment"]) == (debits.arrangement.claim_id, 1)
    assert (listed["debitedOn"], listed["amount"], listed["currency"]) == (
        "2026-03-16", 3414, "EUR",
    )  # fmt: skip
    assert "34.14 EUR" in _run(dunwell, "list", "nordwind")
    file_id, words = _run(dunwell, "release", "nordwind", listed["id"]).split(" ", 1)
    assert words == "RELEASED: 1 debit, 34.14 EUR\n"
    content = _download(dunwell, file_id, tmp_path)
    assert find_texts(content, "EndToEndId") == [listed["endToEndId"]]
    rows = await debits.arrangement.harness.rows(
        "SELECT state FROM debit_collections WHERE merchant_id = $1 AND instalment = 1"
    )
    assert [row["state"] for row in rows] == [CollectionState.DELIVERED]
    assert msgspec.json.decode(_run(dunwell, "list", "nordwind", "--json")) == []


async def test_the_command_confirms_what_a_user_has_proposed_but_not_its_own_proposal(
    dunwell: CommandLine, with_second_release: Debits
) -> None:
    debits = with_second_release
    await _plan_first(debits)
    file = await debits.release(CLERK)
    assert _run(dunwell, "confirm", "nordwind", str(file.file_id)).startswith(
        f"{file.file_id} RELEASED: 1 debit"
    )
    again = dunwell.run("debits", "confirm", "nordwind", str(file.file_id))
    assert again.returncode == 1
    assert "Traceback" not in again.stderr
