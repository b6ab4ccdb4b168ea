"""Editing one text of a draft: two concurrent edits lose nothing."""

from typing import Any
from uuid import UUID

import pytest

from dunwell.cases.rollout.texts.edit_text import edit_text
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.store import load_draft
from dunwell.core.workflows.texts import TextContent, TextPlace, find_text
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import EditConflict
from dunwell.platform.resources import Resources
from dunwell.platform.text.differences import compute_revision
from tests.support.harness import Harness, a_harness
from tests.support.texts import a_texts_definition, a_texts_harness

_GERMAN = TextPlace("templates", "reminder", "de", "EMAIL")
_ENGLISH = TextPlace("templates", "reminder", "en", "EMAIL")
_SMS = TextPlace("templates", "reminder", "de", "SMS")
_NEW = TextPlace("templates", "last", "de", "LETTER")
_SNIPPET = TextPlace("snippets", "signature", "de")


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness(resources, clock)


@pytest.fixture
async def workflow_id(harness: Harness) -> UUID:
    return UUID((await a_texts_harness(harness)).rpartition("/")[2])


async def edit(
    harness: Harness, workflow_id: UUID, place: TextPlace, written: TextContent | None, **given: Any
) -> Definition:
    """Edit the text. `given` is the revision that the author saw, or else that of the first
    draft.
    """
    seen = given.get("seen", compute_revision(find_text(a_texts_definition(), place)))
    async with harness.work() as work:
        return (
            await edit_text(work, workflow_id, place, written, expected_revision=seen)
        ).definition


async def read(harness: Harness, workflow_id: UUID, place: TextPlace) -> TextContent | None:
    async with harness.work() as work:
        draft = await load_draft(work.tx, work.merchant_id, workflow_id)
    assert draft is not None
    return find_text(draft.definition, place)


async def test_two_users_can_edit_different_languages(harness: Harness, workflow_id: UUID) -> None:
    """Both edit one template, and each saw the other language in its first state."""
    german, english = (
        TextContent("Bitte {{ outstanding }}", "Erinnerung"),
        TextContent("Please", "Re"),
    )

    await edit(harness, workflow_id, _GERMAN, german)
    await edit(harness, workflow_id, _ENGLISH, english)
    await edit(harness, workflow_id, _SMS, TextContent("Kurz"))

    assert await read(harness, workflow_id, _GERMAN) == german
    assert await read(harness, workflow_id, _ENGLISH) == english
    assert await read(harness, workflow_id, _SMS) == TextContent("Kurz")


async def test_a_conflicting_edit_of_a_text_is_refused_with_the_first(
    harness: Harness, workflow_id: UUID
) -> None:
    first, second = (
        TextContent("Bitte zahlen Sie.", "Eins"),
        TextContent("Zahlen Sie bitte.", "Zwei"),
    )
    await edit(harness, workflow_id, _GERMAN, first)

    with pytest.raises(EditConflict) as overtaken:
        await edit(harness, workflow_id, _GERMAN, second)

    assert overtaken.value.current == first
    assert overtaken.value.change is not None
    assert overtaken.value.change.part == "templates/reminder"
    assert await read(harness, workflow_id, _GERMAN) == first
    await edit(harness, workflow_id, _GERMAN, second, seen=compute_revision(first))
    assert await read(harness, workflow_id, _GERMAN) == second


async def test_saving_the_same_text_twice_is_no_conflict(
    harness: Harness, workflow_id: UUID
) -> None:
    words = TextContent("Bitte zahlen Sie.", "Eins")
    await edit(harness, workflow_id, _GERMAN, words)

    await edit(harness, workflow_id, _GERMAN, words)

    assert await read(harness, workflow_id, _GERMAN) == words


async def test_the_first_text_creates_its_template_and_removing_the_last_deletes_it(
    harness: Harness, workflow_id: UUID
) -> None:
    made = await edit(harness, workflow_id, _NEW, TextContent("{{ items }}", "Letzte"))
    gone = await edit(
        harness,
        workflow_id,
        _NEW,
        None,
        seen=compute_revision(TextContent("{{ items }}", "Letzte")),
    )

    assert list(made.templates) == ["reminder", "last"]
    assert list(gone.templates) == ["reminder"]


async def test_a_snippet_is_edited_like_a_text(harness: Harness, workflow_id: UUID) -> None:
    changed = await edit(harness, workflow_id, _SNIPPET, TextContent("Ihr Team von Nordwind"))

    assert changed.snippets == {"signature": {"de": "Ihr Team von Nordwind", "en": "Your team"}}
