"""The list of assignment rules and the form of one rule: what they show, and that concurrent
changes cause a conflict."""

import re
from collections.abc import Mapping
from html import unescape

import pytest

from dunwell.cases.assignment.rules import render_rule
from dunwell.cases.assignment.rules_views import RulesView, get_rules
from tests.support.harness import Harness
from tests.support.portal import Clerk, read_fields
from tests.support.portal_rules import (
    ABROAD,
    COLLEAGUE,
    EVERYTHING,
    HIDDEN,
    LARGE,
    RULES,
    TRIAL,
    add_rules,
    save_draft,
)

_TAGS = re.compile(r"<[^>]+>")


def plain(page: str) -> str:
    """Return the text of a page without markup."""
    return " ".join(unescape(_TAGS.sub(" ", page)).replace("\xa0", " ").split())


async def read(harness: Harness) -> RulesView:
    async with harness.work() as work:
        return await get_rules(work)


async def names(harness: Harness) -> list[str]:
    return [rule.name for rule in (await read(harness)).edited.rules]


def row_of(page: str, name: str) -> str:
    """Return the row of a rule."""
    listed = page.partition('<ol class="rules"')[2]
    return next(row for row in listed.split('<li class="panel') if f">{name}</bdi>" in row)


def form_of(page: str, name: str) -> dict[str, str]:
    return read_fields(f"{row_of(page, name).partition('</form>')[0]}</form>")


@pytest.fixture(autouse=True)
async def _rules(harness: Harness) -> None:
    await add_rules(harness)


async def test_the_list_describes_each_rule_in_words(clerk: Clerk) -> None:
    page = await clerk.get("/rules")
    words = plain(page.text)
    assert "Version 5 has been active since" in words
    assert "Outstanding amount: at least €500.00 → Letters first" in words
    assert "Country: AT or CH Known debtor data: e-mail address → Friendly" in words
    assert "Postal code: starts with “20” → 30 % Letters first , 70 % Friendly" in words
    assert "“Large” matches some of these claims first" in plain(
        row_of(page.text, "Trial of letters")
    )


async def test_an_overlap_is_marked_with_the_name_of_the_other_rule(
    clerk: Clerk, harness: Harness
) -> None:
    await save_draft(harness, *RULES, HIDDEN)
    await harness.rows(
        "UPDATE workflows SET assignment_enabled = false WHERE merchant_id = $1 AND name = $2",
        "Letters first",
    )
    page = (await clerk.get("/rules")).text
    hidden = plain(row_of(page, "Very large"))
    assert "Unreachable: “Large” above matches first." in hidden
    assert "Skipped at present: the workflow “Letters first” is deactivated." in plain(
        row_of(page, "Large")
    )
    assert "The draft has 1 unpublished change." in plain(page)


@pytest.mark.parametrize(
    ("name", "action", "expected"),
    [
        ("Trial of letters", "up", ["Large", TRIAL["name"], ABROAD["name"]]),
        ("Large", "down", [ABROAD["name"], "Large", TRIAL["name"]]),
        ("Large", "copy", ["Large", "Large (2)", ABROAD["name"], TRIAL["name"]]),
        ("Large", "remove", [ABROAD["name"], TRIAL["name"]]),
    ],
)
async def test_a_rule_can_be_moved_copied_and_removed_once(
    clerk: Clerk, harness: Harness, name: str, action: str, expected: list[str]
) -> None:
    page = (await clerk.get("/rules")).text
    form = {**form_of(page, name), "do": action}
    first = await clerk.follow(await clerk.post("/rules", form))
    assert "draft." in plain(first.text.partition('role="status"')[2][:200])
    assert await names(harness) == expected
    again = await clerk.follow(await clerk.post("/rules", form))
    assert "someone else changed the draft" in plain(again.text)
    assert await names(harness) == expected


async def test_a_dropped_rule_is_at_its_new_position(clerk: Clerk, harness: Harness) -> None:
    form = form_of((await clerk.get("/rules")).text, "Large")
    await clerk.follow(await clerk.post("/rules", {**form, "do": "to", "place": "2"}))
    assert await names(harness) == [ABROAD["name"], TRIAL["name"], "Large"]


async def test_every_property_is_unchanged_after_saving(clerk: Clerk, harness: Harness) -> None:
    await save_draft(harness, *RULES, EVERYTHING)
    before = await read(harness)
    path = f"/rules/rule?name={EVERYTHING['name'].replace('&', '%26').replace(' ', '%20')}"
    shown = await clerk.get(path)
    assert shown.status_code == 200
    assert "<script>alert" not in shown.text
    fields = read_all(shown.text)
    answer = await clerk.post("/rules/rule", {**fields, "do": "save"})
    assert answer.status_code == 303, plain(answer.text)
    after = await read(harness)
    assert before.draft is not None
    assert after.draft is not None
    assert [render_rule(each) for each in after.draft.rules] == [
        render_rule(each) for each in before.draft.rules
    ]
    assert after.revision == before.revision


def read_all(page: str) -> dict[str, list[str]]:
    """Return the fields of the rule's form, with the values of the same name together."""
    form = next(f for f in re.findall(r"<form.*?</form>", page, re.DOTALL) if "data-check" in f)
    fields: dict[str, list[str]] = {}
    for tag in re.findall(r"<input[^>]*>|<select.*?</select>", form, re.DOTALL):
        name = re.search(r'name="([^"]*)"', tag)
        value = re.search(r'value="([^"]*)"', tag)
        if tag.startswith("<select"):
            value = re.search(r'<option value="([^"]*)" selected', tag)
        elif 'type="checkbox"' in tag and " checked" not in tag:
            continue
        assert name is not None
        fields.setdefault(name[1], []).append(unescape(value[1]) if value else "")
    return fields


async def fill(
    clerk: Clerk, name: str = "", typed: Mapping[str, str | list[str]] | None = None
) -> dict[str, object]:
    """Return the form of a rule, or of a new one, with these fields filled in."""
    page = await clerk.get(f"/rules/rule?name={name}")
    return {**read_all(page.text), "active": "yes", **(typed or {})}


def target(names: list[str], percents: list[str]) -> dict[str, str | list[str]]:
    return {"target.name": names, "target.value": percents}


def custom_fields(names: list[str], values: list[str]) -> dict[str, str | list[str]]:
    return {"when.customFields.name": names, "when.customFields.value": values}


async def test_a_rule_created_by_the_form_is_only_in_the_draft(
    clerk: Clerk, harness: Harness
) -> None:
    typed = {
        "when.outstanding.min": "1,000.50", "when.country": "de at", "when.has": ["email"],
        **target(["Friendly", "Letters first"], ["40", "60"]),
        **custom_fields(["shop", ""], ["b", ""]),
    }  # fmt: skip
    form = await fill(clerk, typed=typed)
    answer = await clerk.follow(
        await clerk.post("/rules/rule", {**form, "name": "New", "do": "save"})
    )
    assert "Rule saved in the draft." in plain(answer.text)
    view = await read(harness)
    assert view.draft is not None
    assert render_rule(view.draft.rules[-1]) == {
        "name": "New",
        "active": True,
        "when": {
            "outstanding": {"min": "100050"}, "country": ["DE", "AT"], "has": ["email"],
            "customFields": {"shop": "b"},
        },
        "target": [
            {"workflow": "Friendly", "percent": 40}, {"workflow": "Letters first", "percent": 60},
        ],
    }  # fmt: skip
    assert [rule.name for rule in view.published.rules] == [r["name"] for r in RULES]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("typed", "field", "words"),
    [
        ({"name": ""}, "name", "fill this in"),
        ({"name": "Large"}, "name", "another rule already has this name"),
        ({"when.outstanding.min": "much"}, "when.outstanding.min", "Enter an amount"),
        (
            {"when.outstanding.min": "5", "when.outstanding.max": "4"},
            "when.outstanding.max", "No claim can meet",
        ),
        ({"when.age.min": "eighteen"}, "when.age.min", "whole number"),
        ({"when.country": "XX"}, "when.country", "country code"),
        ({"when.language": "deutsch"}, "when.language", "language code"),
        (
            {"when.city.equals": "Ulm", "when.city.startsWith": "Ham"},
            "when.city.equals", "No claim can meet",
        ),
        (custom_fields(["", "x"], ["b", "c"]), "when.customFields.name.0", "fill this in"),
        (custom_fields(["x", "x"], ["b", "c"]), "when.customFields.name.1", "entered twice"),
        (target(["", ""], ["", ""]), "target.name.0", "Choose a workflow"),
        (target(["Gone", ""], ["", ""]), "target.name.0", "workflow does not exist"),
        (target(["Friendly", "Letters first"], ["40", "50"]), "target.name.0", "100 perc"),
        (target(["Friendly", "Friendly"], ["40", "60"]), "target.name.1", "twice"),
        (target(["Friendly", "Letters first"], ["x", "60"]), "target.value.0", "whole"),
    ],
)  # fmt: skip
async def test_errors_are_shown_next_to_their_fields_and_nothing_is_saved(
    clerk: Clerk, harness: Harness, typed: dict[str, str | list[str]], field: str, words: str
) -> None:
    form = {
        **await fill(clerk),
        "name": "New",
        "target.name": ["Friendly", ""],
        "target.value": ["", ""],
    }
    answer = await clerk.post("/rules/rule", {**form, **typed, "do": "save"})
    assert answer.status_code == 422
    assert f'id="{field}-error"' in answer.text
    assert words in plain(answer.text)
    for value in typed.values():
        for text in [value] if isinstance(value, str) else value:
            assert text in unescape(answer.text)
    assert (await read(harness)).draft is None


async def test_a_check_shows_overlapping_rules_and_saves_nothing(
    clerk: Clerk, harness: Harness
) -> None:
    form = await fill(clerk, typed={"when.outstanding.min": "900", **target(["Friendly"], [""])})
    answer = await clerk.post("/rules/rule", {**form, "name": "Very large", "do": "check"})
    assert answer.status_code == 200
    assert "Unreachable: “Large” above matches first" in plain(answer.text)
    more = await clerk.post("/rules/rule", {**form, "name": "Very large", "do": "more_shares"})
    assert more.text.count('name="target.name"') == 3
    assert 'value="Very large"' in more.text
    assert (await read(harness)).draft is None


async def test_after_a_conflict_over_a_rule_both_versions_are_shown(
    clerk: Clerk, harness: Harness
) -> None:
    mine = await fill(clerk, "Large", {"when.outstanding.min": "700"})
    await save_draft(harness, {**LARGE, "active": False}, ABROAD, TRIAL, by=COLLEAGUE)
    second = await clerk.post("/rules/rule", {**mine, "do": "save"})
    assert second.status_code == 409
    words = plain(second.text)
    assert "Someone else changed this while you were editing" in words
    assert "Outstanding amount: at least €500.00 → Letters first Disabled" in words
    assert 'value="700"' in second.text
    assert [rule.active for rule in (await read(harness)).edited.rules] == [False, True, True]
    meant = await clerk.post("/rules/rule", {**read_all(second.text), "do": "save"})
    assert meant.status_code == 303
    view = await read(harness)
    assert view.draft is not None
    assert view.draft.rules[0].when is not None
    assert view.draft.rules[0].when.outstanding is not None
    assert view.draft.rules[0].when.outstanding.min == "70000"


async def test_saving_again_restores_a_rule_that_was_removed_in_the_meantime(
    clerk: Clerk, harness: Harness
) -> None:
    mine = await fill(clerk, "Large", {"when.outstanding.min": "700"})
    await save_draft(harness, ABROAD, by=COLLEAGUE)
    second = await clerk.post("/rules/rule", {**mine, "do": "save"})
    assert (second.status_code, await names(harness)) == (409, [ABROAD["name"]])
    assert "removed or renamed this rule" in plain(second.text)
    await clerk.post("/rules/rule", {**read_all(second.text), "do": "save"})
    assert await names(harness) == [ABROAD["name"], "Large"]


async def test_users_can_change_different_rules_at_the_same_time(
    clerk: Clerk, harness: Harness
) -> None:
    mine = await fill(clerk, "Large", {"when.outstanding.min": "700"})
    await save_draft(harness, LARGE, {**ABROAD, "active": False}, TRIAL, by=COLLEAGUE)
    answer = await clerk.follow(await clerk.post("/rules/rule", {**mine, "do": "save"}))
    assert "Outstanding amount: at least €700.00" in plain(answer.text)
    assert [rule.active for rule in (await read(harness)).edited.rules] == [True, False, True]


async def test_the_default_is_said_to_be_assigned_only_if_there_is_one(
    clerk: Clerk, harness: Harness
) -> None:
    await save_draft(harness, default=None)
    assert "every new claim is assigned" not in plain((await clerk.get("/rules")).text)
    await save_draft(harness, default="Friendly")
    page = plain((await clerk.get("/rules")).text)
    assert "Once it is published, every new claim is assigned the default workflow" in page


async def test_the_default_is_not_changed_after_a_conflict(clerk: Clerk, harness: Harness) -> None:
    page = (await clerk.get("/rules")).text
    form = read_fields(page[page.index("rules/default") - 60 :])
    assert form["default"] == "Friendly"
    await save_draft(harness, *RULES, default=None, by=COLLEAGUE)
    late = await clerk.post("/rules/default", {**form, "default": "Letters first"})
    assert late.status_code == 409
    assert "Someone else removed the default workflow." in plain(late.text)
    assert '<option value="Letters first" selected>' in late.text
    assert (await read(harness)).edited.default is None
    again = read_fields(late.text[late.text.index("rules/default") - 60 :])
    await clerk.post("/rules/default", again)
    view = await read(harness)
    assert view.draft is not None
    assert view.draft.default == "Letters first"
