"""Assignment rules: drafting, publishing, discarding and trying them, and the claims that they
assign."""

from collections import Counter
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from dunwell.cases.assignment.assign_claims import start_assignment
from dunwell.cases.assignment.matching import RuleOutcome, compute_split_position
from dunwell.cases.assignment.rulebook import find_draft_rulebook, load_rulebook
from dunwell.cases.assignment.rules import parse_rules
from dunwell.cases.assignment.rules_draft import (
    RulesPublication,
    RulesReview,
    discard_rules_draft,
    publish_rules_draft,
    save_rules_draft,
)
from dunwell.cases.assignment.rules_views import RulesView, get_rules
from dunwell.cases.assignment.try_claim import HypotheticalClaim, PossibleMatch, try_claim
from dunwell.cases.intake.create_claims import create_claims
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState, NotFound, ValidationError
from dunwell.platform.resources import Resources
from tests.support.claims import a_submission
from tests.support.definitions import a_definition, a_document
from tests.support.harness import Harness, a_harness

SWISS = a_document()["settings"] | {"currency": "CHF"}
LARGE = {"name": "Large", "when": {"outstanding": {"min": "10000"}}, "target": "Letters"}
SMALL = {"name": "Small", "when": {"outstanding": {"max": "9999"}}, "target": "Texts"}
SPLIT = {
    "name": "Trial",
    "target": [{"workflow": "Letters", "percent": 60}, {"workflow": "Texts", "percent": 40}],
}
CLAIMS = """
SELECT reference_number, name, rules_version, run
FROM claims LEFT JOIN workflows USING (merchant_id, workflow_id)
WHERE merchant_id = $1 ORDER BY claim_id
"""


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    """A merchant with three workflows, and version 3 of rules that have only a default."""
    harness = await a_harness(resources, clock)
    for name in ("Letters", "Texts", "Standard"):
        await harness.publish(a_definition(), name)
    return harness


async def draft(
    harness: Harness, *rules: dict[str, Any], default: str | None = None
) -> RulesReview:
    async with harness.work() as work:
        document = parse_rules({"rules": list(rules), "default": default})
        return await save_rules_draft(work, document)


async def publish(harness: Harness) -> RulesPublication:
    async with harness.work() as work:
        return await publish_rules_draft(work)


async def read(harness: Harness) -> RulesView:
    async with harness.work() as work:
        return await get_rules(work)


async def list_assignments(harness: Harness) -> list[tuple[Any, ...]]:
    """Return reference number, workflow, rules version and run of each claim."""
    return [tuple(row) for row in await harness.rows(CLAIMS)]


async def set_enabled(harness: Harness, name: str, *, is_enabled: bool) -> None:
    await harness.rows(
        "UPDATE workflows SET assignment_enabled = $3 WHERE merchant_id = $1 AND name = $2",
        name, is_enabled,
    )  # fmt: skip
    await harness.rows("UPDATE merchants SET revision = revision + 1 WHERE merchant_id = $1")


async def test_a_draft_has_no_effect_until_it_is_published(harness: Harness) -> None:
    review = await draft(harness, LARGE, default="Texts")
    assert review.differences == [
        'rule "Large" added',
        'default workflow "Texts"; new claims that no rule matches get it',
    ]
    await harness.create("A")
    publication = await publish(harness)
    assert (publication.version, publication.review) == (4, review)
    await harness.create("B")
    assert await list_assignments(harness) == [("A", "Standard", 3, 1), ("B", "Letters", 4, 1)]
    view = await read(harness)
    assert (view.version, view.draft) == (4, None)
    assert view.published == parse_rules({"rules": [LARGE], "default": "Texts"})


async def test_a_claim_gets_the_workflow_of_the_first_matching_rule(harness: Harness) -> None:
    await draft(harness, LARGE, SMALL)
    await publish(harness)
    cheap = [{"reference": "x", "type": "PRIMARY", "value": "500"}]
    await harness.create("A")
    await harness.create("B", items=cheap)
    assert await list_assignments(harness) == [("A", "Letters", 4, 1), ("B", "Texts", 4, 1)]


async def test_a_claim_that_no_rule_matches_has_no_rules_version(harness: Harness) -> None:
    await draft(harness, SMALL)
    await publish(harness)
    await harness.create("A")
    assert await list_assignments(harness) == [("A", None, None, 0)]


async def test_a_skipped_workflow_leaves_the_claim_to_the_next_rule(harness: Harness) -> None:
    await draft(harness, LARGE, {**LARGE, "name": "Next", "target": "Texts"}, default="Standard")
    await publish(harness)
    for name in ("Letters", "Texts", "Standard"):
        await harness.create(f"before {name}")
        await set_enabled(harness, name, is_enabled=False)
    await harness.create("after all")
    await set_enabled(harness, "Letters", is_enabled=True)
    await harness.create("again")
    assert [row[1] for row in await list_assignments(harness)] == [
        "Letters", "Texts", "Standard", None, "Letters",
    ]  # fmt: skip


async def test_a_workflow_in_another_currency_is_skipped_with_a_remark(harness: Harness) -> None:
    await harness.publish(a_definition(settings=SWISS), "Swiss")
    await draft(harness, LARGE, {**LARGE, "name": "Francs", "target": "Swiss"})
    await publish(harness)
    await harness.create("A", currency="CHF")
    async with harness.work() as work:
        [dollars] = await create_claims(work, [a_submission("B", currency="USD")])
    assert [remark.code for remark in dollars.remarks] == ["OTHER_CURRENCY"]
    assert [row[:2] for row in await list_assignments(harness)] == [("A", "Swiss"), ("B", None)]


async def test_a_split_depends_on_the_claim_id_also_in_start_assignment(harness: Harness) -> None:
    await draft(harness, SPLIT)
    await publish(harness)
    ids = await harness.create(*(f"R-{n:03}" for n in range(200)))
    assert ids == sorted(ids)
    names = {row[0]: row[1] for row in await list_assignments(harness)}
    expected = ["Letters" if compute_split_position(claim_id) < 60 else "Texts" for claim_id in ids]
    assert [names[f"R-{n:03}"] for n in range(200)] == expected
    assert min(Counter(expected).values()) > 50
    await harness.rows(
        "UPDATE claims SET workflow_id = NULL, workflow_major = NULL, due_at = NULL"
        " WHERE merchant_id = $1"
    )
    for claim_id in ids[:5]:
        async with harness.work() as work:
            await start_assignment(work, claim_id)
    again = {row[0]: row[1] for row in await list_assignments(harness)}
    assert [again[f"R-{n:03}"] for n in range(5)] == expected[:5]


async def test_start_assignment_uses_the_present_state_of_the_claim(harness: Harness) -> None:
    await draft(harness)
    await publish(harness)
    paid, unpaid = await harness.create("A", "B")
    await draft(harness, LARGE, SMALL)
    await publish(harness)
    await harness.pay(paid, 5000)
    for claim_id in (paid, unpaid):
        async with harness.work() as work:
            await start_assignment(work, claim_id)
    assert await list_assignments(harness) == [("A", "Texts", 5, 1), ("B", "Letters", 5, 1)]
    [audited] = await harness.rows(
        "SELECT details FROM audit_log WHERE merchant_id = $1 AND action = 'claim.assign'"
        " AND subject = $2",
        f"claim:{unpaid}",
    )
    assert (audited["details"]["rulesVersion"], audited["details"]["rule"]) == (5, "Large")


async def test_each_missing_or_unpublished_workflow_is_reported(harness: Harness) -> None:
    with pytest.raises(ValidationError) as refusal:
        await draft(harness, {**LARGE, "target": "Leters"}, default="Nothing")
    assert [(f.path, f.code) for f in refusal.value.faults] == [
        ("/rules/0/target", "UNKNOWN_WORKFLOW"), ("/default", "UNKNOWN_WORKFLOW"),
    ]  # fmt: skip
    assert (await read(harness)).draft is None
    await draft(harness, LARGE, default="Texts")
    await harness.rows("UPDATE workflows SET deleted_at = now() WHERE merchant_id = $1")
    with pytest.raises(ValidationError) as refusal:
        await publish(harness)
    assert [fault.path for fault in refusal.value.faults] == ["/rules/0/target", "/default"]
    assert (await read(harness)).version == 3


async def test_overlaps_and_deactivated_workflows_are_reported(harness: Harness) -> None:
    await set_enabled(harness, "Texts", is_enabled=False)
    again = {**LARGE, "name": "Again", "when": {"outstanding": {"min": "20000"}}, "target": "Texts"}
    review = await draft(harness, LARGE, again)
    assert review.remarks == [
        'rule "Again" can never match: "Large", which comes first, matches every such claim',
        'workflow "Texts" is deactivated: rules that refer to it are skipped',
    ]
    assert (await publish(harness)).review.remarks == review.remarks


async def test_without_a_changed_draft_nothing_is_published(
    harness: Harness,
) -> None:
    for action in (publish, read_nothing):
        with pytest.raises(InvalidState):
            await action(harness)
    await draft(harness, default="Standard")
    with pytest.raises(InvalidState):
        await publish(harness)
    async with harness.work() as work:
        await discard_rules_draft(work)
    view = await read(harness)
    assert (view.version, view.draft) == (3, None)


async def read_nothing(harness: Harness) -> None:
    async with harness.work() as work:
        await discard_rules_draft(work)


async def test_published_rules_cannot_be_changed_or_removed(harness: Harness) -> None:
    for statement in (
        "UPDATE assignment_rules SET document = '{}' WHERE merchant_id = $1",
        "DELETE FROM assignment_rules WHERE merchant_id = $1",
    ):
        with pytest.raises(asyncpg.RaiseError):
            await harness.rows(statement)
    assert (await read(harness)).version == 3


async def try_on(
    harness: Harness, claim: int | HypotheticalClaim, *, is_draft: bool = False
) -> tuple[dict[UUID, str], tuple[PossibleMatch, ...]]:
    async with harness.work() as work:
        rulebook = await load_rulebook(work.tx, work.merchant)
        if is_draft:
            found = await find_draft_rulebook(work.tx, work.merchant)
            assert found is not None
            rulebook = found
        return dict(rulebook.names), await try_claim(work, rulebook, claim)


async def test_trying_rules_returns_each_result_and_changes_nothing(harness: Harness) -> None:
    [claim_id] = await harness.create("A")
    await draft(harness, SMALL, LARGE, default="Standard")
    names, [found] = await try_on(harness, claim_id, is_draft=True)
    assert found.percent == 100
    assert (found.match.workflow_id and names[found.match.workflow_id]) == "Letters"
    assert [(v.name, v.outcome, v.unmet) for v in found.match.verdicts] == [
        ("Small", RuleOutcome.UNMET, ("outstanding",)), ("Large", RuleOutcome.MATCHED, ()),
    ]  # fmt: skip
    names, [found] = await try_on(harness, claim_id)
    assert (found.match.rule, found.match.default) == (None, RuleOutcome.MATCHED)
    assert await list_assignments(harness) == [("A", "Standard", 3, 1)]
    with pytest.raises(NotFound):
        await try_on(harness, claim_id + 1)


async def test_a_hypothetical_claim_without_id_gets_each_share(harness: Harness) -> None:
    await draft(harness, SPLIT)
    await publish(harness)
    names, found = await try_on(harness, HypotheticalClaim(outstanding="100"))
    assert [(p.percent, names[p.match.workflow_id]) for p in found if p.match.workflow_id] == [
        (60, "Letters"), (40, "Texts"),
    ]  # fmt: skip
    names, [one] = await try_on(harness, HypotheticalClaim(outstanding="100", claim_id=1))
    assert one.match.workflow_id is not None
    assert names[one.match.workflow_id] == "Texts"
