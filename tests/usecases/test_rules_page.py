"""The operator's documentation of assignment rules: its tables match the code, and its examples
work."""

import re
from pathlib import Path

import msgspec
import pytest
from tools.write_rules_reference import PAGE, RENDERERS, render_page

from dunwell.cases.assignment.try_claim import HypotheticalClaim
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.command_line import CommandLine
from tests.support.definitions import a_definition
from tests.support.harness import a_harness


def examples(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Write each example of the page to a file."""
    [rules], [facts] = examples("yaml"), examples("json")
    (tmp_path / "rules.yaml").write_text(rules)
    (tmp_path / "facts.json").write_text(facts)
    return {name: str(tmp_path / name) for name in ("rules.yaml", "facts.json")}


def test_the_generated_tables_are_current() -> None:
    page = PAGE.read_text()
    assert render_page(page) == page, "run: python -m tools.write_rules_reference"
    assert set(re.findall(r"<!-- generated: (\w+) -->", page)) == set(RENDERERS)


def test_every_field_of_a_hypothetical_claim_is_documented() -> None:
    page = PAGE.read_text()
    for field in msgspec.structs.fields(HypotheticalClaim):
        assert f"`{field.encode_name}`" in page or f'"{field.encode_name}"' in page


async def test_the_documented_examples_are_accepted(
    dunwell: CommandLine, resources: Resources, clock: MovableClock, files: dict[str, str]
) -> None:
    harness = await a_harness(resources, clock)
    for name in ("Letters first", "Friendly reminders"):
        await harness.publish(a_definition(), name)
    for words in (["draft", "nordwind", files["rules.yaml"]], ["publish", "nordwind", "--yes"]):
        done = dunwell.run("rules", *words)
        assert done.returncode == 0, done.stderr
    tried = dunwell.run("rules", "try", "nordwind", "--facts", files["facts.json"])
    assert tried.stdout.splitlines()[0] == 'the claim gets "Letters first"'
