"""Operations on workflows: drafts, versions, names and deletion, with the text of each refusal."""

from uuid import UUID, uuid4

import msgspec
import pytest

from dunwell.accounts.merchants.configuration import Guards, QuietHours
from dunwell.cases.assignment.rules import Rule, RuleSet, Share
from dunwell.cases.assignment.rules_draft import publish_rules
from dunwell.cases.assignment.store import save_draft as save_rules_draft
from dunwell.cases.rollout.delete_workflow import delete_workflow, discard_draft_or_workflow
from dunwell.cases.rollout.publish_workflow import (
    describe_reach,
    plan_publication,
    publish_workflow,
)
from dunwell.cases.rollout.workflow_views import (
    compare_versions,
    get_definition_view,
    list_workflows,
)
from dunwell.core.workflows.change_workflow import (
    activate_workflow,
    deactivate_workflow,
    rename_workflow,
)
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.drafts.edit_draft import create_draft, save_draft
from dunwell.core.workflows.drafts.publish_draft import publish_draft
from dunwell.core.workflows.store import load_current, load_draft
from dunwell.core.workflows.versions.versions import Version
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState, NotFound, ValidationError
from dunwell.platform.resources import Resources
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import Harness, a_harness
from tests.support.merchants import CONFIGURATION

FIRST = a_definition()
MINOR = a_definition(snippets={"signature": {"de": "Gruß", "en": "Regards"}})
MAJOR = a_definition(steps=DOCUMENT["steps"][:2])
FAULTY = a_definition(snippets={"signature": {"de": "Gruß", "en": "{{ nonsense }}"}})


async def audits(harness: Harness) -> list[str]:
    rows = await harness.rows(
        "SELECT action FROM audit_log WHERE merchant_id = $1 AND action LIKE 'workflow.%'"
        " ORDER BY audit_id"
    )
    return [row["action"] for row in rows]


async def save(harness: Harness, definition: Definition, name: str = "Standard") -> UUID:
    async with harness.work() as work:
        return (await save_draft(work, name, definition)).workflow_id


async def publish(harness: Harness, definition: Definition, name: str = "Standard") -> Version:
    workflow_id = await save(harness, definition, name)
    async with harness.work() as work:
        return await publish_workflow(work, workflow_id)


async def test_a_draft_changed_by_another_editor_is_not_overwritten(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    version = await publish(harness, FIRST)
    async with harness.work() as work:
        saved = await save_draft(work, "Standard", MINOR, expected_id=version.version_id)
    async with harness.work() as work:
        with pytest.raises(InvalidState, match=f"it is {saved.version_id} now") as refusal:
            await save_draft(work, "Standard", MAJOR, expected_id=version.version_id)
        assert refusal.value.details == {"state": "DRAFT"}
        draft = await load_draft(work.tx, work.merchant_id, saved.workflow_id)
        assert draft is not None
        assert draft.definition == MINOR
        again = await save_draft(work, "Standard", MAJOR, expected_id=saved.version_id)
        assert again.workflow_id == saved.workflow_id


async def test_a_draft_published_in_between_is_a_conflict(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    first = await publish(harness, FIRST)
    await publish(harness, MINOR)
    async with harness.work() as work:
        with pytest.raises(InvalidState) as refusal:
            await save_draft(work, "Standard", MAJOR, expected_id=first.version_id)
        assert refusal.value.details == {"state": "PUBLISHED"}
        assert await load_draft(work.tx, work.merchant_id, first.workflow_id) is None


async def test_the_same_draft_saved_twice_stays_the_same_version(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    async with harness.work() as work:
        once = await save_draft(work, "Standard", FIRST)
        assert await save_draft(work, "Standard", FIRST) == once
    assert await audits(harness) == ["workflow.save_draft"]


async def test_one_new_draft_is_made_from_the_latest_version(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    workflow_id = (await publish(harness, FIRST)).workflow_id
    await publish(harness, MINOR)
    async with harness.work() as work:
        draft = await create_draft(work, workflow_id)
        assert draft.definition == MINOR
        with pytest.raises(InvalidState, match=str(draft.version_id)):
            await create_draft(work, workflow_id)
        with pytest.raises(InvalidState, match="does not differ"):
            await publish_workflow(work, workflow_id)
        with pytest.raises(NotFound):
            await create_draft(work, uuid4())


async def test_a_draft_may_have_faults_and_a_version_may_not(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    workflow_id = await save(harness, FAULTY)
    async with harness.work() as work:
        plan = await plan_publication(work, workflow_id)
        with pytest.raises(ValidationError) as refusal:
            await publish_workflow(work, workflow_id)
        assert refusal.value.faults == plan.faults
        assert [fault.path for fault in plan.faults] == ["/snippets/signature/en"]
        assert await load_current(work.tx, work.merchant_id, workflow_id) is None


async def test_a_definition_that_breaks_its_rules_is_never_published(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    workflow_id = await save(harness, a_definition(templates={}))
    async with harness.work() as work:
        with pytest.raises(ValidationError) as refusal:
            await publish_draft(work, workflow_id)
        assert [fault.code for fault in refusal.value.faults] == ["UNKNOWN_TEMPLATE"]
        assert await load_current(work.tx, work.merchant_id, workflow_id) is None


async def test_a_draft_other_than_the_expected_one_is_not_published(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    workflow_id = await save(harness, FIRST)
    async with harness.work() as work:
        seen = (await plan_publication(work, workflow_id)).draft_id
    await save(harness, MAJOR)
    async with harness.work() as work:
        with pytest.raises(InvalidState, match="Review it again"):
            await publish_workflow(work, workflow_id, expected_id=seen)
        assert await load_current(work.tx, work.merchant_id, workflow_id) is None


async def test_a_step_id_cannot_be_reused_for_another_kind(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    await publish(harness, FIRST)
    await publish(harness, MAJOR)
    fee = {"id": 5, "name": "Fee", "kind": "FEE", "type": "DUNNING_FEE", "value": "1"}
    workflow_id = await save(harness, a_definition(steps=[*DOCUMENT["steps"][:2], fee]))
    async with harness.work() as work:
        with pytest.raises(ValidationError) as refusal:
            await publish_workflow(work, workflow_id)
    [fault] = refusal.value.faults
    assert (fault.path, fault.code) == ("/steps/2/id", "ID_REUSED")
    assert '"Last wait" (WAIT, v1.0)' in fault.message
    assert "such as 6" in fault.message
    restored = await publish(harness, FIRST)
    assert restored.name == "v3.0"


async def test_the_plan_counts_the_claims_that_a_minor_version_reaches(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, FIRST)
    await harness.create("A", "B")
    await harness.publish(MAJOR)
    await harness.create("C")
    workflow_id = await save(harness, FIRST)
    async with harness.work() as work:
        major = await plan_publication(work, workflow_id)
    assert (major.before, major.after, major.verdict) == ("v2.0", "v3.0", "MAJOR")
    assert (major.reached, major.staying) == (0, 3)
    await save(harness, a_definition(steps=DOCUMENT["steps"][:2], snippets={}))
    async with harness.work() as work:
        minor = await plan_publication(work, workflow_id)
    assert (minor.before, minor.after, minor.verdict) == ("v2.0", "v2.1", "MINOR")
    assert minor.differences == ["snippets.signature removed"]
    assert describe_reach(minor) == (
        "1 claim in process moves to it, 2 claims stay on their current version"
    )


async def test_discarding_the_only_draft_removes_the_workflow(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    only = await save(harness, FIRST, "Never published")
    published = (await publish(harness, FIRST)).workflow_id
    await save(harness, MAJOR)
    async with harness.work() as work:
        assert await discard_draft_or_workflow(work, only) is True
        assert await discard_draft_or_workflow(work, published) is False
        assert [each.name for each in await list_workflows(work)] == ["Standard"]
        with pytest.raises(InvalidState):
            await discard_draft_or_workflow(work, published)
        with pytest.raises(NotFound):
            await discard_draft_or_workflow(work, only)


async def test_deactivating_and_activating_are_audited_once(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    workflow_id = (await publish(harness, FIRST)).workflow_id
    async with harness.work() as work:
        results = [await deactivate_workflow(work, workflow_id) for _ in range(2)]
        assert [each.assignment_enabled for each in await list_workflows(work)] == [False]
        results += [await activate_workflow(work, workflow_id) for _ in range(2)]
        assert [each.assignment_enabled for each in await list_workflows(work)] == [True]
    assert results == [True, False, True, False]
    assert (await audits(harness))[2:] == ["workflow.deactivate", "workflow.activate"]


async def test_a_workflow_name_can_be_reused_after_deletion(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    one = (await publish(harness, FIRST, "One")).workflow_id
    other = (await publish(harness, FIRST, "Other")).workflow_id
    async with harness.work() as work:
        with pytest.raises(ValidationError) as refusal:
            await rename_workflow(work, other, "One")
        assert [fault.code for fault in refusal.value.faults] == ["NAME_TAKEN"]
        assert [each.name for each in await list_workflows(work)] == ["One", "Other"]
        await delete_workflow(work, one)
        await rename_workflow(work, other, "One")
        assert [each.id for each in await list_workflows(work)] == [other]


async def test_a_workflow_in_use_cannot_be_deleted_and_its_uses_are_listed(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, FIRST)
    await harness.create()
    async with harness.work() as work:
        [view] = await list_workflows(work)
        split = Rule("Large", (Share(view.id, 50), Share(view.id, 50)))
        await save_rules_draft(
            work.tx, work.merchant_id, RuleSet(None, (split,)), author=("OPERATOR", None),
            now=work.now, changes=(),
        )  # fmt: skip
        await work.tx.execute(
            "INSERT INTO scenarios (merchant_id, scenario_id, workflow_id, reserved_version_id,"
            " created_at) VALUES ($1, 7, $2, $3, $4)",
            work.merchant_id, view.id, view.version_id, work.now,
        )  # fmt: skip
        with pytest.raises(InvalidState) as refusal:
            await delete_workflow(work, view.id)
        assert refusal.value.details == {"state": "IN_USE"}
        assert refusal.value.message == (
            "The workflow is in use: 1 claim is in process on v1; it is the default of the "
            'assignment rules (published); the assignment rule "Large" (draft) refers to it; '
            "scenario 7 is mapped to it."
        )
        assert len(await list_workflows(work)) == 1


async def test_a_deleted_workflow_remains_only_in_the_history(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, FIRST)
    [claim_id] = await harness.create()
    await harness.pay(claim_id, 10240)
    await save(harness, MAJOR)
    async with harness.work() as work:
        [view] = await list_workflows(work)
        await publish_rules(work, RuleSet())
        await delete_workflow(work, view.id)
        assert await list_workflows(work) == []
        with pytest.raises(ValidationError):
            await publish_rules(work, RuleSet(default=view.id))
        for change in (
            delete_workflow,
            deactivate_workflow,
            publish_workflow,
            discard_draft_or_workflow,
        ):
            with pytest.raises(NotFound):
                await change(work, view.id)
        states = await work.tx.fetch("SELECT state FROM workflow_versions")
    assert [row["state"] for row in states] == ["PUBLISHED"]
    assert (await publish(harness, FIRST)).workflow_id != view.id


async def test_versions_are_listed_and_two_are_compared(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, FIRST)
    await harness.create("A", "B")
    await publish(harness, MINOR)
    await save(harness, MAJOR)
    async with harness.work() as work:
        view = await get_definition_view(work, "Standard", "v1.0")
        assert [(v.version, v.active_claims) for v in view.versions] == [
            ("v1.0", 0), ("v1.1", 2), ("draft", 0),
        ]  # fmt: skip
        comparison = await compare_versions(work, "Standard", "v1.0", "v1.1")
        assert (comparison.before, comparison.after) == ("v1.0", "v1.1")
        assert comparison.verdict == "MINOR"
        assert len(comparison.differences) == 2
        with pytest.raises(NotFound, match=r"There are: v1\.0, v1\.1, draft, latest"):
            await get_definition_view(work, "Standard", "v9.9")
        with pytest.raises(NotFound, match='Did you mean "Standard"'):
            await get_definition_view(work, "Standart")


async def test_a_merchant_on_scenarios_has_no_workflow_operations(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, switched_to_workflows=False)
    async with harness.work() as work:
        with pytest.raises(InvalidState) as refusal:
            await save_draft(work, "Standard", FIRST)
        assert refusal.value.details == {"state": "NOT_SWITCHED"}
        with pytest.raises(InvalidState):
            await list_workflows(work)
    assert await harness.rows("SELECT 1 FROM workflows WHERE merchant_id = $1") == []


async def test_a_draft_whose_contact_hours_are_all_quiet_hours_is_not_published(
    resources: Resources, clock: MovableClock
) -> None:
    guards = Guards(quiet_hours=QuietHours("08:00", "19:00"))
    configuration = msgspec.structs.replace(CONFIGURATION, guards=guards)
    harness = await a_harness(resources, clock, configuration=configuration)
    workflow_id = await save(harness, FIRST)
    async with harness.work() as work:
        with pytest.raises(ValidationError) as refusal:
            await publish_workflow(work, workflow_id)
    found = [(fault.path, fault.code) for fault in refusal.value.faults]
    assert found == [("/settings/contactHours", "EMPTY_HOURS")]
    assert (
        await harness.rows("SELECT 1 FROM workflow_versions WHERE state <> 'DRAFT' AND $1 > 0")
        == []
    )
