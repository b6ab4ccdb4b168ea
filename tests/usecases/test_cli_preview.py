"""`dunwell workflow preview`, as text and JSON."""

import csv
import json
from pathlib import Path

import pytest

from dunwell.core.workflows.drafts.edit_draft import save_draft
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.command_line import CommandLine, Done
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import Harness, a_harness

STEPS = DOCUMENT["steps"]


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    """Return a sandbox merchant whose clock shows a Monday, 10:00 in Berlin. Its workflow v1.0 has
    claims of two debtors, and one of an unreachable debtor."""
    harness = await a_harness(resources, clock, a_definition(), sandbox=True)
    await harness.create("INV-1", "INV-2", customerNumber="K-1")
    await harness.create("INV-3", customerNumber="K-2")
    await harness.create("INV-4", customerNumber="K-3", email=None)
    return harness


async def save(harness: Harness, step: int, **changes: object) -> None:
    steps = [{**each, **changes} if each["id"] == step else each for each in STEPS]
    async with harness.work() as work:
        await save_draft(work, "Standard", a_definition(steps=steps))


def run(dunwell: CommandLine, *options: str) -> Done:
    return dunwell.run("workflow", "preview", "nordwind", "Standard", *options)


TOLD = """\
"Standard" would be published as v1.1 (minor) after v1.0
  step 3.value changed: "250" -> "300"
4 claims in process move to it, 0 claims stay on their current version.

Next contacts of the affected claims
             claims
  unchanged       4
  changed         0

The next 30 days (Europe/Berlin) of 4 claims, if each message is accepted at once and no debtor pays
  day             EMAIL  SMS  LETTER  held back
  Mon 2026-03-02      2    -       -          1
  Tue 2026-03-03      1    -       -          -
  total               3    -       -          1

  Held back, and sent later: 1 by the daily limit
  Fees: 3 for 2 debtors, €9.00 in total
    €3.00 for 1 debtor
    €6.00 for 1 debtor
    highest: €6.00, 2 fees on 2 claims (one is INV-1)
  No usable address: 1 claim (INV-4)
  Contacts without a usable address: 1
  Archived without collection: 4 claims
"""


async def test_a_preview_is_printed_as_a_summary(dunwell: CommandLine, harness: Harness) -> None:
    await save(harness, 3, value="300")
    done = run(dunwell)
    assert (done.stdout, done.stderr) == (TOLD, "")


async def test_changed_contacts_are_shown_before_and_after(
    dunwell: CommandLine, harness: Harness
) -> None:
    async with harness.work() as work:
        await work.tx.execute(
            "UPDATE merchants SET sandbox_now = sandbox_now + interval '10 hours'"
        )
    await save(harness, 1, send="IMMEDIATE")
    lines = run(dunwell, "--days", "0").stdout.splitlines()
    assert lines[4:8] == [
        "Next contacts of the affected claims",
        "             claims",
        "  unchanged       1",
        "  changed         3  time 3",
    ]
    assert [line.split()[1:] for line in lines[9:]] == [
        ["reference", "before", "after"],
        *(
            f"{reference} changed Tue 2026-03-03 09:00 EMAIL 1 First reminder "
            "Mon 2026-03-02 20:00 EMAIL 1 First reminder".split()
            for reference in ("INV-1", "INV-2", "INV-3")
        ),
    ]


async def test_a_preview_prints_json_and_writes_every_claim_to_a_file(
    dunwell: CommandLine, harness: Harness, tmp_path: Path
) -> None:
    await save(harness, 3, value="300")
    file = tmp_path / "claims.csv"
    done = run(dunwell, "--json", "--list", str(file), "--days", "10")
    output = json.loads(done.stdout)
    assert (output["verdict"], output["claimsReached"], output["currency"]) == ("MINOR", 4, "EUR")
    assert output["nextContacts"]["kinds"]["UNCHANGED"] == 4
    assert [day["contacts"] for day in output["outlook"]["days"]] == [{"EMAIL": 2}, {"EMAIL": 1}]
    assert (output["outlook"]["archived"], output["outlook"]["fees"]) == (0, 3)
    assert done.stderr == f"4 claims written to {file}\n"
    with file.open(newline="", encoding="utf-8") as rows:
        listed = list(csv.DictReader(rows))
    assert [row["referenceNumber"] for row in listed] == ["INV-1", "INV-2", "INV-3", "INV-4"]
    assert (listed[0]["after.at"], listed[0]["after.step"]) == ("2026-03-02T09:00:00Z", "1")
    assert (listed[3]["kind"], listed[3]["after.at"]) == ("UNCHANGED", "")


async def test_the_preview_of_a_major_version_says_that_no_claim_is_reached(
    dunwell: CommandLine, harness: Harness
) -> None:
    await save(harness, 2, days=5)
    lines = run(dunwell).stdout.splitlines()
    assert lines[0] == '"Standard" would be published as v2.0 (major) after v1.0'
    assert lines[2] == ("0 claims in process move to it, 4 claims stay on their current version.")
    assert lines[4] == (
        "A major version affects no active claim: their contacts stay unchanged. Claims"
    )


async def test_without_a_draft_there_is_nothing_to_preview(
    dunwell: CommandLine, harness: Harness
) -> None:
    done = run(dunwell)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "dunwell: The workflow has no draft; save one first.\n"
