"""Where users are warned that a contact of a workflow leaves its debtor no time to pay."""

import json
from pathlib import Path
from typing import Any

from dunwell.accounts.merchants.configuration import LetterSettings
from dunwell.accounts.merchants.store import load_merchant
from dunwell.cases.rollout.scenarios.save_scenario import save_scenario
from dunwell.interfaces.cli.findings.merchants import check_workflows
from dunwell.operations.merchant_file.changes import ApplyReport
from dunwell.platform.clock import MovableClock
from dunwell.platform.embedded.postgres import EmbeddedPostgres
from dunwell.platform.resources import Resources
from dunwell.platform.text.yaml_document import render_yaml
from tests.support.command_line import CommandLine
from tests.support.definitions import DOCUMENT, a_definition, a_document
from tests.support.harness import a_harness
from tests.usecases.test_apply import FILE
from tests.usecases.test_apply_guards import apply

EMAIL = DOCUMENT["steps"][0]
WAIT = {"id": 2, "name": "Time to pay", "kind": "WAIT", "days": 14}
NO_WAIT = (
    'No wait follows the last contact "First reminder": the claim is archived as soon as the '
    "message is sent, and the debtor can no longer pay. Add a wait of at least 11 days after it, "
    "longer if bank holidays fall into it."
)


async def apply_steps(resources: Resources, folder: Path, *steps: dict[str, Any]) -> ApplyReport:
    workflow = {"name": "Standard", "definition": a_document(steps=list(steps))}
    return await apply(resources, folder, workflows=[workflow])


async def test_applying_a_file_with_a_warning_publishes_it(
    resources: Resources, tmp_path: Path
) -> None:
    report = await apply_steps(resources, tmp_path, EMAIL)
    assert 'workflow "Standard" published as v1.0' in report.changes
    assert report.as_json()["warnings"] == [f'workflow "Standard": {NO_WAIT}']
    assert f'  warning: workflow "Standard": {NO_WAIT}' in report.as_text().splitlines()
    # The warning remains if nothing changes.
    report = await apply_steps(resources, tmp_path, EMAIL)
    assert (report.changes, report.warnings) == ([], [f'workflow "Standard": {NO_WAIT}'])
    report = await apply_steps(resources, tmp_path, EMAIL, WAIT)
    assert "warnings" not in report.as_json()
    assert "warning" not in report.as_text()


async def test_the_command_line_warns_when_a_file_is_checked_saved_and_published(
    dunwell: CommandLine, resources: Resources, clock: MovableClock, tmp_path: Path
) -> None:
    await a_harness(resources, clock, a_definition(steps=[EMAIL, WAIT]))
    file, warning = tmp_path / "definition.yaml", f"warning: {NO_WAIT}\n"
    file.write_text(render_yaml(a_document(steps=[EMAIL])))

    def run(*words: str) -> tuple[int, str]:
        done = dunwell.run("workflow", *words)
        return done.returncode, done.stderr

    assert run("check", str(file)) == (0, warning)
    assert run("draft", "nordwind", "Standard", str(file)) == (0, warning)
    published = dunwell.run("workflow", "publish", "nordwind", "Standard", "--yes", "--json")
    assert json.loads(published.stdout)["warnings"] == [NO_WAIT]
    file.write_text(render_yaml(a_document(steps=[EMAIL, WAIT])))
    assert run("draft", "nordwind", "Standard", str(file)) == (0, "")
    assert run("publish", "nordwind", "Standard", "--yes") == (0, "")
    file.write_text(render_yaml(a_document(steps=[EMAIL])))
    run("draft", "nordwind", "Standard", str(file))
    assert run("publish", "nordwind", "Standard", "--yes") == (0, warning)


async def test_saving_a_scenario_warns(resources: Resources, clock: MovableClock) -> None:
    harness = await a_harness(resources, clock, a_definition(), switched_to_workflows=False)
    async with harness.work() as work:
        saved = await save_scenario(work, "Short", a_definition(steps=[EMAIL]))
        whole = await save_scenario(work, "Long", a_definition(steps=[EMAIL, WAIT]))
    assert (saved.warnings, whole.warnings) == ([NO_WAIT], [])


async def test_the_doctor_names_published_workflows_with_the_fault(
    resources: Resources, clock: MovableClock, postgres: EmbeddedPostgres
) -> None:
    harness = await a_harness(resources, clock, a_definition(steps=[EMAIL, WAIT]))
    [finding] = await check_workflows(postgres.url)
    assert (finding.mark, finding.is_fault) == ("ok", False)
    for number in range(22):
        await harness.publish(a_definition(steps=[EMAIL]), f"Single {number}")
    findings = await check_workflows(postgres.url)
    assert [each.mark for each in findings] == ["note"] * 21
    assert findings[0].words == f'nordwind "Single 0": {NO_WAIT}'
    assert findings[-1].words == "and there are more"


async def test_the_postal_days_are_a_setting_of_the_merchant_file(
    resources: Resources, tmp_path: Path
) -> None:
    async def read() -> LetterSettings:
        async with resources.database.connection() as tx:
            merchant_id = await tx.fetchval("SELECT merchant_id FROM merchants")
            merchant = await load_merchant(tx, merchant_id)
        assert merchant is not None
        return merchant.configuration.letters

    await apply(resources, tmp_path)
    assert await read() == LetterSettings(2)
    report = await apply(resources, tmp_path, letters={"postalDays": 4})
    assert report.changes == ["letters.postalDays changed: 2 -> 4"]
    assert (await apply(resources, tmp_path)).changes == []
    assert await read() == LetterSettings(4)
    assert FILE["key"] == report.key
