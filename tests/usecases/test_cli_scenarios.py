"""The commands `dunwell scenario` and `dunwell switch`."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.command_line import CommandLine
from tests.support.definitions import DOCUMENT, a_definition, a_document
from tests.support.harness import Harness, a_harness


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness(resources, clock, switched_to_workflows=False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(tmp_path / "standard.yaml", a_document())


def write(path: Path, document: dict[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(document, allow_unicode=True))
    return path


async def test_a_scenario_is_saved_listed_shown_and_saved_unchanged(
    dunwell: CommandLine, harness: Harness, file: Path, tmp_path: Path
) -> None:
    arguments = ("scenario", "save", "nordwind", "Standard", str(file))
    done = dunwell.run(*arguments, "--description", "One reminder.", "--json")
    created = json.loads(done.stdout)
    assert (created["isNew"], created["isChanged"], created["effects"]) == (True, True, [])
    [listed] = json.loads(dunwell.run("scenario", "list", "nordwind", "--json").stdout)
    assert (listed["id"], listed["name"], listed["description"], listed["activeClaims"]) == (
        created["scenarioId"], "Standard", "One reminder.", 0,
    )  # fmt: skip
    shown = dunwell.run("scenario", "show", "nordwind", "Standard")
    assert shown.stdout.splitlines()[:2] == [
        f'# Scenario {created["scenarioId"]} "Standard"', "# One reminder.",
    ]  # fmt: skip
    (tmp_path / "again.yaml").write_text(shown.stdout)
    again = dunwell.run("scenario", "save", "nordwind", "Standard", str(tmp_path / "again.yaml"))
    assert again.stdout == f'scenario {created["scenarioId"]} "Standard" is unchanged\n'
    table = dunwell.run("scenario", "list", "nordwind").stdout.splitlines()
    assert table[0].split() == ["ID", "NAME", "ASSIGNED", "ACTIVE", "CLAIMS", "WORKFLOW"]
    assert table[1].split() == [
        str(created["scenarioId"]), "Standard", "yes", "0", created["workflowId"],
    ]  # fmt: skip


async def test_an_edit_reports_its_effect_on_running_claims(
    dunwell: CommandLine, harness: Harness, tmp_path: Path
) -> None:
    await harness.publish(a_definition())
    await harness.create()
    await harness.run()
    steps = [step for step in DOCUMENT["steps"] if step["id"] != 3]
    shorter = write(tmp_path / "shorter.yaml", a_document(steps=steps))
    done = dunwell.run("scenario", "save", "nordwind", "Standard", str(shorter))
    assert done.stdout.splitlines()[1:] == [
        '  1 claim at step 3 "Dunning fee" continues at step 4 "Ask the ERP"'
    ]


async def test_faults_are_reported_with_their_lines(
    dunwell: CommandLine, harness: Harness, tmp_path: Path
) -> None:
    faulty = write(tmp_path / "faulty.yaml", a_document(templates={}))
    done = dunwell.run("scenario", "save", "nordwind", "Standard", str(faulty))
    assert (done.returncode, done.stdout) == (1, "")
    assert "faulty.yaml:" in done.stderr
    assert "/steps/0/template" in done.stderr
    assert json.loads(dunwell.run("scenario", "list", "nordwind", "--json").stdout) == []


async def test_the_switch_lists_the_workflow_of_each_scenario(
    dunwell: CommandLine, harness: Harness, file: Path
) -> None:
    dunwell.run("scenario", "save", "nordwind", "Standard", str(file))
    [listed] = json.loads(dunwell.run("scenario", "list", "nordwind", "--json").stdout)
    done = dunwell.run("switch", "nordwind")
    heading, _, row = done.stdout.splitlines()
    assert heading == '"nordwind" is switched to workflows.'
    assert row.split() == [str(listed["id"]), "Standard", listed["workflowId"], "v1.0", "0"]
    assert "Standard" in dunwell.run("workflow", "list", "nordwind").stdout
    again = dunwell.run("switch", "nordwind", "--json")
    assert (again.returncode, again.stdout) == (1, "")
    assert "already uses workflows" in again.stderr
    refused = dunwell.run("scenario", "save", "nordwind", "Standard", str(file))
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "the switch cannot be undone" in refused.stderr


async def test_the_switch_prints_json(dunwell: CommandLine, harness: Harness, file: Path) -> None:
    dunwell.run("scenario", "save", "nordwind", "Standard", str(file))
    report = json.loads(dunwell.run("switch", "nordwind", "--json").stdout)
    assert (report["key"], report["merchantId"]) == ("nordwind", harness.merchant.merchant_id)
    [became] = report["scenarios"]
    assert list(became) == [
        "scenarioId", "name", "workflowId", "version", "versionId", "isDefault", "activeClaims",
    ]  # fmt: skip


def test_an_unknown_merchant_is_reported(dunwell: CommandLine) -> None:
    done = dunwell.run("switch", "nobody")
    assert (done.returncode, done.stdout) == (1, "")
    assert "There is no merchant nobody" in done.stderr


async def test_before_the_switch_workflow_commands_say_what_to_do(
    dunwell: CommandLine, harness: Harness, file: Path
) -> None:
    done = dunwell.run("workflow", "draft", "nordwind", "Standard", str(file))
    assert (done.returncode, done.stdout) == (1, "")
    assert "dunwell switch nordwind" in done.stderr
