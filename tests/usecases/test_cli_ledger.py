"""Settling contacts and verifying the ledger on the command line."""

import json
from uuid import uuid4

import pytest

from dunwell.contact.messages.ledger.seal_ledger import seal_ledger
from dunwell.contact.sending.channel import Temporary
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.command_line import CommandLine
from tests.support.definitions import a_definition
from tests.support.harness import Harness, ScriptedChannel, a_harness
from tests.support.ledgers import outcomes, tamper, verify


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    """Return a harness with one claim whose contact is in doubt."""
    channel = ScriptedChannel([TimeoutError()], is_repeatable=False)
    harness = await a_harness(resources, clock, a_definition(), channels=[channel])
    await harness.create()
    await harness.run()
    await seal_ledger(resources)
    return harness


def reference(harness: Harness) -> str:
    return str(harness.channels[0].sent[0].communication_id)


async def head(harness: Harness) -> str:
    newest = (await verify(harness)).head
    assert newest is not None
    return f"{newest.seal}:{newest.digest.hex()}"


async def claim_id(harness: Harness) -> int:
    [row] = await harness.rows("SELECT claim_id FROM claims WHERE merchant_id = $1")
    number: int = row["claim_id"]
    return number


@pytest.mark.parametrize("words", [["nordwind"], []])
async def test_unknown_lists_contacts_in_doubt_with_masked_recipients(
    harness: Harness, dunwell: CommandLine, words: list[str]
) -> None:
    done = dunwell.run("communications", "unknown", *words)
    assert (done.returncode, done.stderr) == (0, "")
    heads, row = done.stdout.splitlines()
    assert heads.split("  ")[0] == "MERCHANT"
    assert row.split() == [
        "nordwind", reference(harness), str(await claim_id(harness)), "(INV-1001)", "1", "EMAIL",
        "2026-03-02", "09:00", "UTC", "e***@example.org",
    ]  # fmt: skip
    assert "erika" not in done.stdout


async def test_unknown_reports_when_no_contact_is_in_doubt(
    resources: Resources, clock: MovableClock, dunwell: CommandLine
) -> None:
    await a_harness(resources, clock)
    done = dunwell.run("communications", "unknown")
    assert done.stdout == "There are no communications with unknown delivery status.\n"
    assert json.loads(dunwell.run("communications", "unknown", "--json").stdout) == []


async def test_settle_shows_the_result_and_refuses_a_second_time(
    harness: Harness, dunwell: CommandLine
) -> None:
    words = ["communications", "settle", "nordwind", reference(harness)]
    done = dunwell.run(*words, "sent")
    assert done.returncode == 0
    assert done.stdout == f"{reference(harness)}  ACCEPTED: it was sent; its claim continues\n"
    again = dunwell.run(*words, "not-sent")
    assert again.returncode == 1
    assert again.stderr == (
        f"dunwell: Communication {reference(harness)} is ACCEPTED; only a communication that "
        "is UNKNOWN can be resolved.\n"
    )
    assert await outcomes(harness) == ["UNKNOWN", "SETTLED_SENT"]


async def test_settle_of_an_unknown_communication_changes_nothing(
    harness: Harness, dunwell: CommandLine
) -> None:
    for merchant, wanted in (("nordwind", str(uuid4())), ("hansen", reference(harness))):
        done = dunwell.run("communications", "settle", merchant, wanted, "sent")
        assert done.returncode == 1
        assert done.stderr.startswith("dunwell: There is no ")
    wrong = dunwell.run("communications", "settle", "nordwind", reference(harness), "perhaps")
    assert wrong.returncode == 2
    assert await outcomes(harness) == ["UNKNOWN"]


async def test_show_prints_the_contact_as_text_and_json(
    harness: Harness, dunwell: CommandLine
) -> None:
    words = ["communications", "show", "nordwind", reference(harness)]
    values = json.loads(dunwell.run(*words, "--json").stdout)
    assert (values["state"], values["recipient"]) == ("UNKNOWN", "e***@example.org")
    assert values["claimId"] == await claim_id(harness)
    assert "state             UNKNOWN" in dunwell.run(*words).stdout.splitlines()


async def test_show_prints_why_a_message_was_deferred(
    resources: Resources, clock: MovableClock, dunwell: CommandLine
) -> None:
    reason = "The mail server deferred it: 450 4.7.1."
    channel = ScriptedChannel([Temporary(reason=reason)])
    harness = await a_harness(resources, clock, a_definition(), channels=[channel])
    await harness.create()
    await harness.run()
    done = dunwell.run("communications", "show", "nordwind", reference(harness))
    assert f"failure           {reason}" in done.stdout.splitlines()


async def test_verify_ledger_prints_the_head_to_keep(
    harness: Harness, dunwell: CommandLine
) -> None:
    done = dunwell.run("verify-ledger")
    assert (done.returncode, done.stderr) == (0, "")
    summary, line = done.stdout.splitlines()
    assert summary.startswith("nordwind  sound  ")
    assert line == f"  head  {await head(harness)}"
    kept = dunwell.run("verify-ledger", "nordwind", "--expect", await head(harness), "--json")
    assert kept.returncode == 0
    [verdict] = json.loads(kept.stdout)
    assert (verdict["isSound"], verdict["head"]) == (True, await head(harness))


async def test_verify_ledger_exits_with_1_and_names_its_findings(
    harness: Harness, dunwell: CommandLine
) -> None:
    await tamper(harness, "UPDATE contact_ledger SET attempts = 2 WHERE merchant_id = $1")
    done = dunwell.run("verify-ledger", "nordwind")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0].startswith("nordwind  FAULTY (1 found)  ")
    assert lines[2].startswith("  ROW_ALTERED          seal 1 covers contact_ledger ")
    assert reference(harness) in lines[2]
    [verdict] = json.loads(dunwell.run("verify-ledger", "--json").stdout)
    assert [finding["fault"] for finding in verdict["findings"]] == ["ROW_ALTERED"]


async def test_verify_ledger_finds_a_lost_head(harness: Harness, dunwell: CommandLine) -> None:
    done = dunwell.run("verify-ledger", "nordwind", "--expect", f"7:{'ab' * 32}")
    assert done.returncode == 1
    assert "HEAD_MISSING" in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["nordwind", "--expect", "x"],
        ["nordwind", "--expect", "1:ab"],
        ["--expect", f"1:{'ab' * 32}"],
    ],
)
def test_verify_ledger_refuses_an_invalid_head(dunwell: CommandLine, words: list[str]) -> None:
    done = dunwell.run("verify-ledger", *words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
