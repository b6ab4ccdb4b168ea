"""`dunwell statements` saves an account, imports a file, and undoes a match."""

import re
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.bank_files import IBAN, build_balance, build_camt, build_statement
from tests.support.command_line import CommandLine
from tests.support.harness import a_harness
from tests.support.statements import StatementHarness, build_credit, build_file

_ACCOUNT = ("account", "nordwind", "main", "--iban", IBAN, "--holder", "Muster GmbH")
_SCOPE = ("--merchant", "nordwind", "--account", "main")


@pytest.fixture
async def bank(resources: Resources, clock: MovableClock) -> StatementHarness:
    return StatementHarness(await a_harness(resources, clock))


def _run(dunwell: CommandLine, *words: str) -> str:
    done = dunwell.run("statements", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


async def test_a_file_is_imported_and_listed_and_its_match_undone(
    dunwell: CommandLine, bank: StatementHarness, tmp_path: Path
) -> None:
    (claim_id,) = await bank.harness.create("INV-2026-1001")
    assert _run(dunwell, *_ACCOUNT) == "saved\n"
    file = tmp_path / "day.xml"
    file.write_bytes(
        build_file(build_credit("102.40", "INV-2026-1001"), build_credit("1.00", "x", "B-1"))
    )
    assert _run(dunwell, "import", str(file), *_SCOPE) == "DONE: 2 entries, 2 new, 1 matched\n"
    again = msgspec.json.decode(_run(dunwell, "import", str(file), *_SCOPE, "--json"))
    assert (again["state"], again["new"], again["matched"]) == ("DONE", 0, 0)
    assert "day.xml" in _run(dunwell, "list", "nordwind")
    assert "1.00 EUR" in _run(dunwell, "open", "nordwind", "main")
    (match,) = await bank.matches()
    _run(dunwell, "undo", "nordwind", str(match["match_id"]), "--reason", "wrong claim")
    assert await bank.balance(claim_id) == (Status.CREATED, 10240, 0)


async def test_a_held_statement_is_shown_and_released(
    dunwell: CommandLine, bank: StatementHarness, tmp_path: Path
) -> None:
    _run(dunwell, *_ACCOUNT)
    file = tmp_path / "day.xml"
    balances = build_balance("OPBD", "0.00") + build_balance("CLBD", "9.00")
    file.write_bytes(build_camt(build_credit("1.00", "x", "B-1"), balances=balances))
    done = dunwell.run("statements", "import", str(file), *_SCOPE)
    assert "is held" in done.stderr
    shown = _run(dunwell, "accounts", "nordwind")
    number = shown.rpartition("held: S-1 (")[2].partition(")")[0]
    for wrong in ("", "no digits"):
        refused = dunwell.run("statements", "release", "nordwind", "main", wrong)
        assert "There is no such statement that is held." in refused.stderr
    assert await bank.states() == [("HELD", 0)]
    assert _run(dunwell, "release", "nordwind", "main", number) == "released\n"
    assert await bank.states() == [("NEW", 0)]


async def test_no_statement_is_released_if_the_number_fits_several(
    dunwell: CommandLine, bank: StatementHarness, tmp_path: Path
) -> None:
    _run(dunwell, *_ACCOUNT)
    balances = build_balance("OPBD", "0.00") + build_balance("CLBD", "9.00")
    # At least two of seventeen numbers begin with the same of sixteen digits.
    for day in range(1, 18):
        file = tmp_path / f"{day}.xml"
        credit = build_credit("1.00", "x", f"B-{day}")
        file.write_bytes(
            build_camt(statements=build_statement(credit, balances=balances, statement_id=f"{day}"))
        )
        dunwell.run("statements", "import", str(file), *_SCOPE)
    digits = Counter(re.findall(r"held: \d+ \((.)", _run(dunwell, "accounts", "nordwind")))
    [(digit, _)] = digits.most_common(1)
    refused = dunwell.run("statements", "release", "nordwind", "main", digit)
    assert "Several held statements begin like this. Give more digits." in refused.stderr
    assert {state for state, _ in await bank.states()} == {"HELD"}


async def test_an_unknown_account_is_refused(
    dunwell: CommandLine, bank: StatementHarness, tmp_path: Path
) -> None:
    file = tmp_path / "day.xml"
    file.write_bytes(build_file())
    done = dunwell.run("statements", "import", str(file), *_SCOPE)
    assert done.returncode != 0
    assert "There is no bank account main." in done.stderr
    assert await bank.count("bank_files") == 0
