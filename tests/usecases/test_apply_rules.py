"""Assignment rules in a merchant file: the first are published, and changes become a draft."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import ValidationError
from dunwell.platform.resources import Resources
from tests.support.definitions import a_document
from tests.support.harness import Harness
from tests.usecases.test_apply import Applying

LARGE = {"name": "Large", "when": {"outstanding": {"min": "50000"}}, "target": "Letters"}
GERMAN = {"name": "German", "when": {"country": "DE"}, "target": "Letters"}


@pytest.fixture
def applying(resources: Resources, tmp_path: Path) -> Applying:
    applying = Applying(resources, tmp_path)
    applying.document["workflows"].append({"name": "Letters", "definition": a_document()})
    applying.document["assignmentRules"] = {"rules": [LARGE], "default": "Standard"}
    return applying


def with_rules(applying: Applying, *rules: dict[str, Any], default: str | None) -> None:
    document = {"rules": list(rules), "default": default}
    applying.document["assignmentRules"] = yaml.safe_load(yaml.safe_dump(document))


async def stored(applying: Applying) -> tuple[int, int]:
    """Return the number of published versions and of drafts."""
    async with applying.resources.database.connection() as connection:
        versions = await connection.fetchval("SELECT count(*) FROM assignment_rules")
        drafts = await connection.fetchval("SELECT count(*) FROM assignment_rule_drafts")
    return versions, drafts


async def test_the_first_rules_are_published_with_the_workflows_they_name(
    applying: Applying, clock: MovableClock
) -> None:
    report = await applying.apply()
    assert report.changes[-2:] == [
        'rule "Large" added',
        'default workflow "Standard"; new claims that no rule matches get it',
    ]
    assert await stored(applying) == (1, 0)
    harness = Harness(applying.resources, clock, await applying.merchant(), [])
    await harness.create("A", items=[{"reference": "A", "type": "PRIMARY", "value": "50000"}])
    await harness.create("B")
    rows = await harness.rows(
        "SELECT name FROM claims JOIN workflows USING (merchant_id, workflow_id)"
        " WHERE merchant_id = $1 ORDER BY claim_id"
    )
    assert [row["name"] for row in rows] == ["Letters", "Standard"]
    assert (await applying.apply(publish=True)).changes == []


async def test_changed_rules_become_a_draft_once_and_a_version_when_published(
    applying: Applying,
) -> None:
    await applying.apply()
    with_rules(applying, GERMAN, LARGE, default=None)
    changes = [
        'rule "German" added',
        "no default workflow; new claims that no rule matches stay unassigned",
    ]
    plan = await applying.plan()
    assert await stored(applying) == (1, 0)
    draft = "saved as draft; --publish makes them version 2"
    assert plan.changes == [f"assignment rules would be {draft}", *changes]
    assert (await applying.apply()).changes == [f"assignment rules {draft}", *changes]
    assert await stored(applying) == (1, 1)
    assert (await applying.apply()).changes == []
    published = await applying.apply(publish=True)
    assert published.changes == ["assignment rules published as version 2", *changes]
    assert await stored(applying) == (2, 0)


async def test_reverting_a_change_discards_the_draft(applying: Applying) -> None:
    await applying.apply()
    with_rules(applying, default="Letters")
    await applying.apply()
    with_rules(applying, LARGE, default="Standard")
    assert (await applying.apply()).changes == [
        "assignment rules: draft discarded; the file has the published rules"
    ]
    assert await stored(applying) == (1, 0)


async def test_overlaps_are_reported_for_workflows_that_the_file_creates(
    applying: Applying,
) -> None:
    everything = {"name": "Everything", "target": "Standard"}
    with_rules(applying, everything, GERMAN, default=None)
    plan = await applying.plan()
    assert plan.changes[-1] == (
        'rule "German" can never match: "Everything", which comes first, matches every such claim'
    )
    francs = a_document()["settings"] | {"currency": "CHF"}
    applying.document["workflows"][1]["definition"] = a_document(settings=francs)
    plan = await applying.plan()
    assert plan.changes[-1] == 'rule "German" added'


async def test_every_fault_of_rules_is_reported_with_its_path(applying: Applying) -> None:
    shares = [{"workflow": "Letters", "percent": 50}, {"workflow": "Leters", "percent": 40}]
    with_rules(applying, {"name": "Split", "target": shares}, default="Standard")
    with pytest.raises(ValidationError) as refusal:
        await applying.apply()
    assert [(f.path, f.code) for f in refusal.value.faults] == [
        ("/assignmentRules/rules/0/target", "WRONG_SUM")
    ]
    shares[1]["percent"] = 50
    with_rules(applying, {"name": "Split", "target": shares}, default="Standart")
    with pytest.raises(ValidationError) as refusal:
        await applying.apply()
    assert [(f.path, f.code) for f in refusal.value.faults] == [
        ("/assignmentRules/rules/0/target/1/workflow", "UNKNOWN_WORKFLOW"),
        ("/assignmentRules/default", "UNKNOWN_WORKFLOW"),
    ]
    assert await stored(applying) == (0, 0)
