"""`dunwell rules`: drafting from a file, showing, trying, publishing, and discarding."""

import json
from pathlib import Path

import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.command_line import CommandLine
from tests.support.definitions import a_definition
from tests.support.harness import Harness, a_harness

RULES = """
rules:
  - name: Large
    when: {outstanding: {min: "50000"}}
    target: Letters
  - name: Trial
    target:
      - {workflow: Letters, percent: 70}
      - {workflow: Standard, percent: 30}
default: Standard
"""


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    harness = await a_harness(resources, clock, a_definition())
    await harness.publish(a_definition(), "Letters")
    return harness


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    """A hypothetical claim."""
    path = tmp_path / "facts.json"
    path.write_text('{"outstanding": "100"}')
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    return path


async def test_rules_are_drafted_from_a_file_and_published(
    dunwell: CommandLine, harness: Harness, file: Path
) -> None:
    drafted = dunwell.run("rules", "draft", "nordwind", str(file))
    assert drafted.stdout.splitlines() == [
        "draft of the rules saved",
        '  rule "Large" added',
        '  rule "Trial" added',
        '  default workflow "Standard"; new claims that no rule matches get it',
        '  note: rules "Large" and "Trial" can both match a claim: "Large" is used',
    ]
    refused = dunwell.run("rules", "publish", "nordwind")
    assert (refused.returncode, "--yes" in refused.stderr) == (2, True)
    published = dunwell.run("rules", "publish", "nordwind", "--yes", "--json")
    answer = json.loads(published.stdout)
    assert answer["version"] == 3
    assert answer["overlaps"] == [{"earlier": "Large", "later": "Trial", "extent": "SOME"}]
    shown = json.loads(dunwell.run("rules", "show", "nordwind", "--json").stdout)
    assert (shown["version"], shown["draft"]) == (3, None)
    assert [rule["name"] for rule in shown["published"]["rules"]] == ["Large", "Trial"]


async def test_rules_are_shown_as_text(dunwell: CommandLine, harness: Harness, file: Path) -> None:
    dunwell.run("rules", "draft", "nordwind", str(file))
    lines = dunwell.run("rules", "show", "nordwind").stdout.splitlines()
    assert lines[0].startswith("version 2, published 2026-03-02 09:00 UTC")
    assert lines[4].startswith("draft, saved 2026-")
    assert [line.split() for line in lines[6:9]] == [
        ["1", "Large", "yes", "outstanding", '{"min":"50000"}', "Letters"],
        ["2", "Trial", "yes", "always", "70", "%", "Letters,", "30", "%", "Standard"],
        ["default", "Standard"],
    ]


async def test_the_draft_is_tried_on_a_claim(
    dunwell: CommandLine, harness: Harness, file: Path, facts: Path
) -> None:
    [claim_id] = await harness.create(
        items=[{"reference": "A", "type": "PRIMARY", "value": "60000"}]
    )
    dunwell.run("rules", "draft", "nordwind", str(file))
    tried = dunwell.run("rules", "try", "nordwind", "--claim", str(claim_id), "--draft")
    assert tried.stdout.splitlines() == [
        'the claim gets "Letters"',
        "rule     result",
        "Large    matches",
        "Trial    not reached",
        "default  not reached",
    ]
    answer = dunwell.run("rules", "try", "nordwind", "--facts", str(facts), "--draft", "--json")
    found = json.loads(answer.stdout)
    assert [(each["percent"], each["rules"]["chosen"]) for each in found["possibilities"]] == [
        (70, "Letters"), (30, "Standard"),
    ]  # fmt: skip
    assert found["possibilities"][0]["rules"]["rules"][0] == {
        "name": "Large", "outcome": "UNMET", "unmet": ["outstanding"],
        "reason": "does not match: outstanding",
    }  # fmt: skip


@pytest.fixture
def faulty_file(file: Path) -> Path:
    file.write_text(RULES.replace("70", "60").replace("outstanding", "owed"))
    return file


async def test_each_refusal_is_one_line(
    dunwell: CommandLine, harness: Harness, faulty_file: Path
) -> None:
    faulty = dunwell.run("rules", "draft", "nordwind", str(faulty_file))
    assert faulty.returncode == 1
    assert [line.split()[1] for line in faulty.stderr.splitlines()] == [
        "/rules/0/when/owed:", "/rules/1/target:",
    ]  # fmt: skip
    for words in (["discard"], ["publish", "--yes"], ["try", "--draft", "--claim", "1"]):
        done = dunwell.run("rules", words[0], "nordwind", *words[1:])
        assert done.returncode == 1
        assert "no draft" in done.stderr
    assert dunwell.run("rules", "try", "nordwind").returncode == 2
    assert [row["version"] for row in await harness.rows(
        "SELECT version FROM assignment_rules WHERE merchant_id = $1 ORDER BY version"
    )] == [1, 2]  # fmt: skip
