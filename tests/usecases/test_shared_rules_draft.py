"""Several users edit one draft of the rules: each change has its author, no change overwrites
another, and no user publishes another's changes unseen."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import msgspec
import pytest

from dunwell.accounts.merchants.actor import Actor, Interface, Origin, build_user_actor
from dunwell.accounts.merchants.rights import ALL_RIGHTS
from dunwell.cases.assignment.edit_rules import (
    CheckedRule,
    CopyRule,
    MoveRule,
    PutRule,
    RemoveRule,
    RulesEdit,
    SetDefault,
    check_rule,
    edit_rules_draft,
    find_rule,
)
from dunwell.cases.assignment.rules import MAX_RULES, ChangeKind, Rule, parse_rules
from dunwell.cases.assignment.rules_draft import (
    RulesConfirmation,
    discard_rules_draft,
    publish_rules_draft,
    save_rules_draft,
)
from dunwell.cases.assignment.rules_views import (
    RulesView,
    get_rules,
    get_rules_version,
    list_rules_versions,
)
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import EditConflict, NotFound, ValidationError
from dunwell.platform.resources import Resources
from dunwell.platform.text.differences import compute_revision
from tests.support.definitions import a_definition
from tests.support.harness import Harness, a_harness

ANNA, KIM = (
    build_user_actor(str(UUID(int=number)), ALL_RIGHTS, Origin(Interface.PORTAL))
    for number in (1, 2)
)
RULES = [
    {"name": "Large", "when": {"outstanding": {"min": "10000"}}, "target": "Letters"},
    {"name": "Austria", "when": {"country": "AT"}, "target": "Standard"},
]


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    """A merchant with two published rules and no draft."""
    harness = await a_harness(resources, clock, a_definition())
    await harness.publish(a_definition(), "Letters")
    await draft(harness, RULES)
    async with harness.work() as work:
        await publish_rules_draft(work)
    return harness


async def draft(harness: Harness, rules: list[dict[str, Any]], known: str | None = None) -> None:
    async with harness.work(ANNA) as work:
        await save_rules_draft(
            work, parse_rules({"rules": rules, "default": "Standard"}), expected_revision=known
        )


async def read(harness: Harness) -> RulesView:
    async with harness.work() as work:
        return await get_rules(work)


async def edit(harness: Harness, who: Actor, change: RulesEdit, known: str = "") -> None:
    async with harness.work(who) as work:
        await edit_rules_draft(work, change, expected_revision=known)


async def build_change(harness: Harness, name: str, /, **changes: Any) -> PutRule:
    """Build a change of the rule as it is now."""
    rule = find_rule((await read(harness)).edited, name)
    assert rule is not None
    return PutRule(msgspec.structs.replace(rule, **changes), name, compute_revision(rule))


def names(view: RulesView) -> list[str]:
    return [rule.name for rule in view.edited.rules]


async def test_a_draft_starts_from_the_published_rules_and_records_authors(
    harness: Harness,
) -> None:
    await edit(harness, ANNA, CopyRule("Large"), (await read(harness)).revision)
    await edit(harness, KIM, await build_change(harness, "Austria", active=False))

    view = await read(harness)
    assert names(view) == ["Large", "Large (2)", "Austria"]
    assert [(each.author, each.changes) for each in view.changes] == [
        (f"USER:{UUID(int=1)}", ((ChangeKind.ADDED, "Large (2)"),)),
        (f"USER:{UUID(int=2)}", ((ChangeKind.CHANGED, "Austria"),)),
    ]
    assert [rule.name for rule in view.published.rules] == ["Large", "Austria"]  # type: ignore[union-attr]


async def test_two_users_can_change_different_rules(harness: Harness) -> None:
    annas, kims = (
        await build_change(harness, "Large", active=False),
        await build_change(harness, "Austria", active=False),
    )
    await edit(harness, ANNA, annas)
    await edit(harness, KIM, kims)
    assert [rule.active for rule in (await read(harness)).edited.rules] == [False, False]


async def test_the_second_of_two_changes_of_one_rule_gets_a_conflict_with_the_first(
    harness: Harness,
) -> None:
    annas, kims = (
        await build_change(harness, "Large", active=False),
        await build_change(harness, "Large", name="Big"),
    )
    await edit(harness, ANNA, annas)
    with pytest.raises(EditConflict) as refusal:
        await edit(harness, KIM, kims)
    assert refusal.value.current is not None
    assert (refusal.value.current.name, refusal.value.current.active) == ("Large", False)
    with pytest.raises(EditConflict) as refusal:
        await edit(harness, KIM, SetDefault(None, expected=None))
    assert refusal.value.current == "Standard"
    view = await read(harness)
    assert ([each.author for each in view.changes], names(view)) == (
        [f"USER:{UUID(int=1)}"], ["Large", "Austria"],
    )  # fmt: skip


@pytest.mark.parametrize("change", [MoveRule("Austria", 0), RemoveRule("Large"), CopyRule("Large")])
async def test_the_order_can_only_be_changed_with_the_present_revision(
    harness: Harness, change: RulesEdit
) -> None:
    seen = (await read(harness)).revision
    await edit(harness, ANNA, await build_change(harness, "Large", active=False))
    with pytest.raises(EditConflict):
        await edit(harness, KIM, change, seen)
    assert names(await read(harness)) == ["Large", "Austria"]
    await edit(harness, KIM, change, (await read(harness)).revision)
    assert names(await read(harness)) != ["Large", "Austria"]


async def test_a_new_draft_has_another_revision_than_a_discarded_one(
    harness: Harness,
) -> None:
    await edit(harness, ANNA, CopyRule("Large"), (await read(harness)).revision)
    old = (await read(harness)).revision
    async with harness.work(ANNA) as work:
        await discard_rules_draft(work, expected_revision=old)
    await edit(harness, ANNA, CopyRule("Austria"), (await read(harness)).revision)
    for act in (discard_rules_draft, _publish):
        with pytest.raises(EditConflict):
            async with harness.work(KIM) as work:
                await act(work, expected_revision=old)
    with pytest.raises(EditConflict):
        await draft(harness, [], known=old)
    view = await read(harness)
    assert names(view) == ["Large", "Austria", "Austria (2)"]
    assert len(view.changes) == 1


async def _publish(work: Any, expected_revision: str) -> None:
    await publish_rules_draft(work, RulesConfirmation(expected_revision))


async def test_another_users_changes_are_published_only_when_selected(harness: Harness) -> None:
    await edit(harness, ANNA, await build_change(harness, "Large", active=False))
    await edit(harness, KIM, await build_change(harness, "Austria", active=False))
    confirmation = RulesConfirmation((await read(harness)).revision, comment="Spring cleaning")
    async with harness.work(KIM) as work:
        with pytest.raises(ValidationError) as refusal:
            await publish_rules_draft(work, replace(confirmation, comment="x" * 501))
    annas = f"USER:{UUID(int=1)}"
    assert [(each.path, each.code) for each in refusal.value.faults] == [
        ("/comment", "TOO_LONG"), (f"/agreed/{annas}", "NOT_AGREED"),
    ]  # fmt: skip
    assert (await read(harness)).version == 3
    async with harness.work(KIM) as work:
        made = await publish_rules_draft(work, replace(confirmation, agreed=[annas]))
    async with harness.work(KIM) as work:
        versions = await list_rules_versions(work, limit=2)
        older = await list_rules_versions(work, up_to=versions[-1].version - 1, limit=9)
        first = await get_rules_version(work, versions[-1].version)
        with pytest.raises(NotFound):
            await get_rules_version(work, 99)
    assert [(each.version, each.actor_id, each.comment, each.rules) for each in versions][:1] == [
        (made.version, str(UUID(int=2)), "Spring cleaning", 2),
    ]
    assert [(each.version, each.actor_kind, each.comment) for each in versions][1:] == [
        (3, "CREDENTIAL", None),
    ]
    assert [each.version for each in older] == [2, 1]
    assert (first.is_current, [rule.active for rule in first.document.rules]) == (False, [True] * 2)


async def test_a_second_rule_with_the_same_name_is_refused(harness: Harness) -> None:
    duplicate = PutRule(Rule("Austria", (await build_change(harness, "Large")).rule.target))
    with pytest.raises(ValidationError) as refusal:
        await edit(harness, KIM, duplicate)
    assert [(fault.path, fault.code) for fault in refusal.value.faults] == [("/name", "REPEATED")]
    assert (await read(harness)).draft_rules is None


async def test_the_number_of_rules_is_limited(harness: Harness) -> None:
    many = [{"name": f"R{number}", "target": "Standard"} for number in range(MAX_RULES)]
    await draft(harness, many)
    mark = (await read(harness)).revision
    with pytest.raises(ValidationError) as refusal:
        await edit(harness, ANNA, CopyRule("R0"), mark)
    assert [fault.code for fault in refusal.value.faults] == ["TOO_MANY"]
    assert (await read(harness)).revision == mark


async def check(harness: Harness, rule: dict[str, Any], name: str | None = None) -> CheckedRule:
    async with harness.work() as work:
        return await check_rule(work, rule, name)


async def test_a_rule_is_checked_together_with_the_others_before_it_is_saved(
    harness: Harness,
) -> None:
    faulty = await check(harness, {"name": "Large", "target": "Leters", "when": {"age": {}}})
    assert [(fault.path, fault.code) for fault in faulty.faults] == [
        ("/when/age", "EMPTY_CONDITION"), ("/name", "REPEATED"),
    ]  # fmt: skip
    unknown = await check(harness, {"name": "New", "target": "Leters"})
    assert [(fault.path, fault.code) for fault in unknown.faults] == [
        ("/target", "UNKNOWN_WORKFLOW")
    ]
    hidden = {"name": "New", "target": "Standard", "when": {"outstanding": {"min": "20000"}}}
    found = await check(harness, hidden)
    assert (found.faults, [(each.earlier, str(each.extent)) for each in found.overlaps]) == (
        (), [("Large", "ALL")],
    )  # fmt: skip
    own = await check(harness, {**hidden, "name": "Large", "target": "Letters"}, "Large")
    assert (own.faults, [each.later for each in own.overlaps]) == ((), ["Austria"])
    assert (await read(harness)).draft_rules is None
