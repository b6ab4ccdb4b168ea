"""`dunwell suppression`: its arguments, and how addresses are masked."""

import json

from dunwell.platform.database.database import Database
from tests.conftest import MONDAY_MORNING
from tests.support.command_line import CommandLine
from tests.support.merchants import a_merchant


async def a_shop(database: Database) -> None:
    async with database.transaction() as tx:
        await a_merchant(tx, "nordwind", now=MONDAY_MORNING)


async def test_an_address_is_added_listed_masked_and_lifted(
    dunwell: CommandLine, database: Database
) -> None:
    await a_shop(database)
    add = ("suppression", "add", "nordwind", "EMAIL", "erika@example.org")
    assert dunwell.run(*add, "--reason", "DEBTOR").stdout == "suppressed\n"
    assert dunwell.run(*add).stdout == "already suppressed\n"
    [listed] = json.loads(dunwell.run("suppression", "list", "nordwind", "--json").stdout)
    assert listed.pop("since")
    assert listed == {
        "channel": "EMAIL", "address": "e***@example.org", "reason": "DEBTOR",
        "by": "OPERATOR command line",
    }  # fmt: skip
    table = dunwell.run("suppression", "list", "nordwind").stdout
    assert table.splitlines()[0].split() == ["channel", "address", "reason", "since", "by"]
    assert "erika@" not in table
    lift = ("suppression", "lift", "nordwind", "EMAIL", "Erika@Example.org")
    assert dunwell.run(*lift).stdout == "removed from the suppression list\n"
    assert (
        dunwell.run("suppression", "list", "nordwind").stdout == "The suppression list is empty.\n"
    )


async def test_each_refusal_is_one_line(dunwell: CommandLine, database: Database) -> None:
    await a_shop(database)
    for words, code in (
        (["add", "nordwind", "EMAIL", "erika"], 1),
        (["lift", "nordwind", "SMS", "+4915112345678"], 1),
        (["list", "nobody"], 1),
        (["add", "nordwind", "FAX", "1"], 2),
    ):
        done = dunwell.run("suppression", *words)
        assert (done.returncode, done.stdout) == (code, "")
        assert done.stderr.startswith("dunwell: ")
        assert done.stderr.count("\n") == 1
