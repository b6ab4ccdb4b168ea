"""Publishing rules: only changes that the user saw, with a tick for a colleague's changes; versions
are kept and can be restored as drafts; and importing the exported file changes nothing."""

from html import unescape

import pytest

from dunwell.cases.assignment.rules import render_document
from dunwell.cases.assignment.rules_views import RulesView, get_rules
from dunwell.platform.text.yaml_document import parse_yaml
from tests.portal.test_rules import plain
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


@pytest.fixture(autouse=True)
async def _rules(harness: Harness) -> None:
    await add_rules(harness)


async def read(harness: Harness) -> RulesView:
    async with harness.work() as work:
        return await get_rules(work)


async def copy_rule(clerk: Clerk, name: str) -> None:
    """Make a change as the signed-in user."""
    page = (await clerk.get("/rules")).text
    form = read_fields(page)
    await clerk.follow(await clerk.post("/rules", {**form, "name": name, "do": "copy"}))


async def test_own_changes_to_rules_are_published_with_a_comment(
    clerk: Clerk, harness: Harness
) -> None:
    await copy_rule(clerk, "Large")
    page = await clerk.get("/rules/publish")
    assert "“Large (2)” added" in plain(page.text)
    assert 'name="agreed"' not in page.text
    answer = await clerk.follow(
        await clerk.post("/rules/publish", {**read_fields(page.text), "comment": "For spring"})
    )
    assert "Rules published." in plain(answer.text)
    view = await read(harness)
    assert view.published_rules is not None
    assert (view.version, view.published_rules.comment, view.draft_rules) == (6, "For spring", None)
    listed = plain((await clerk.get("/rules/versions")).text)
    assert "Version 6 Active" in listed
    assert "For spring" in listed


async def test_a_colleagues_changes_must_be_ticked_as_reviewed(
    clerk: Clerk, harness: Harness
) -> None:
    await save_draft(harness, {**LARGE, "active": False}, ABROAD, TRIAL, by=COLLEAGUE)
    await copy_rule(clerk, "Large")
    page = await clerk.get("/rules/publish")
    words = plain(page.text)
    assert "“Large” changed" in words
    assert "“Large (2)” added" in words
    form = {**read_fields(page.text), "comment": "Together"}
    refused = await clerk.post("/rules/publish", form)
    assert refused.status_code == 422
    assert "The draft contains changes by colleagues." in plain(refused.text)
    assert "Together</textarea>" in refused.text
    assert (await read(harness)).version == 5
    tick = refused.text.partition('name="agreed" value="')[2].partition('"')[0]
    assert tick == f"USER:{COLLEAGUE.actor_id}"
    done = await clerk.post("/rules/publish", {**form, "agreed": tick})
    assert (done.status_code, (await read(harness)).version) == (303, 6)


@pytest.mark.parametrize("path", ["/rules/publish", "/rules/discard"])
async def test_changes_made_after_the_page_was_rendered_cause_a_conflict(
    clerk: Clerk, harness: Harness, path: str
) -> None:
    await copy_rule(clerk, "Large")
    form = read_fields((await clerk.get("/rules/publish")).text)
    await save_draft(harness, LARGE, by=COLLEAGUE)
    late = await clerk.post(path, {**form, "comment": "Mine"})
    assert late.status_code == 409
    assert "The current draft is shown below; review it again." in plain(late.text)
    view = await read(harness)
    assert (view.version, [rule.name for rule in view.edited.rules]) == (5, ["Large"])


async def test_a_draft_can_be_discarded_once(clerk: Clerk, harness: Harness) -> None:
    await copy_rule(clerk, "Large")
    form = read_fields((await clerk.get("/rules/publish")).text)
    first = await clerk.follow(await clerk.post("/rules/discard", form))
    assert "Draft discarded." in plain(first.text)
    assert (await read(harness)).draft_rules is None
    assert (await clerk.post("/rules/discard", form)).status_code == 303
    gone = await clerk.follow(await clerk.get("/rules/publish"))
    assert "There are no changes to publish." in plain(gone.text)


async def test_a_draft_with_an_unusable_workflow_is_not_published(
    clerk: Clerk, harness: Harness
) -> None:
    await copy_rule(clerk, "Large")
    await harness.rows(
        "UPDATE workflows SET deleted_at = now() WHERE merchant_id = $1 AND name = 'Friendly'"
    )
    form = read_fields((await clerk.get("/rules/publish")).text)
    refused = await clerk.post("/rules/publish", form)
    assert refused.status_code == 422
    assert 'The workflow "Friendly" is deleted; name another.' in plain(refused.text)
    assert (await read(harness)).version == 5


async def test_a_restored_version_is_a_draft_without_effect(clerk: Clerk, harness: Harness) -> None:
    await save_draft(harness, HIDDEN)
    await clerk.post("/rules/publish", {
        **read_fields((await clerk.get("/rules/publish")).text),
        "agreed": "CREDENTIAL:erp",
    })  # fmt: skip
    assert (await read(harness)).version == 6
    page = await clerk.get("/rules/versions/5")
    assert "Large" in plain(page.text)
    answer = await clerk.follow(await clerk.post("/rules/versions/5", read_fields(page.text)))
    assert "The version was restored as the draft." in plain(answer.text)
    view = await read(harness)
    assert (view.version, [rule.name for rule in view.edited.rules]) == (
        6, [str(rule["name"]) for rule in RULES],
    )  # fmt: skip
    late = await clerk.post("/rules/versions/5", read_fields(page.text))
    assert late.status_code == 409
    for bad in ("99", "0", "x", "1" * 30):
        assert (await clerk.get(f"/rules/versions/{bad}")).status_code == 404


async def test_importing_the_exported_rules_changes_nothing(clerk: Clerk, harness: Harness) -> None:
    await save_draft(harness, *RULES, EVERYTHING, default=None)
    before = await read(harness)
    assert before.draft is not None
    sent = await clerk.get("/rules/file/rules.yaml")
    assert "attachment" in sent.headers["Content-Disposition"]
    assert parse_yaml(sent.text) == render_document(before.draft)
    page = await clerk.get("/rules/file")
    form = read_fields(page.text)
    assert unescape(form["text"]).strip() == sent.text.strip()
    answer = await clerk.post("/rules/file", {**form, "do": "save"})
    assert answer.status_code == 303
    after = await read(harness)
    assert (after.draft, after.revision) == (before.draft, before.revision)


async def test_a_file_is_previewed_before_it_is_saved(clerk: Clerk, harness: Harness) -> None:
    form = read_fields((await clerk.get("/rules/file")).text)
    text = "rules:\n- {name: New, target: Friendly}\ndefault: null\n"
    await save_draft(harness, LARGE, by=COLLEAGUE)
    seen = await clerk.post("/rules/file", {**form, "text": text, "do": "check"})
    assert seen.status_code == 200
    words = plain(seen.text)
    assert "Removed Large" in words
    assert "There is no default workflow: claims that match no rule stay unassigned." in words
    late = await clerk.post("/rules/file", {**read_fields(seen.text), "do": "save"})
    assert late.status_code == 409
    assert "name: New" in late.text
    assert "min: '50000'" in unescape(late.text).replace('"', "'")
    assert [rule.name for rule in (await read(harness)).edited.rules] == ["Large"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rules: [", "The file was not imported"),
        ("rules:\n- name: New\n  target: Gone\ndefault: null\n", "Line 3: There is no workflow"),
        ("rules:\n- name: New\n  target: Friendly\n  when: {}\ndefault: null", "Line 4: Name at"),
    ],
)
async def test_errors_in_a_file_are_reported_with_line_numbers(
    clerk: Clerk, harness: Harness, text: str, words: str
) -> None:
    form = read_fields((await clerk.get("/rules/file")).text)
    for action in ("save", "check"):
        answer = await clerk.post("/rules/file", {**form, "text": text, "do": action})
        assert answer.status_code == 422
        assert words in plain(answer.text).replace(" : ", ": ")
        assert text.strip() in unescape(answer.text)
    assert (await read(harness)).draft is None
