"""A version is minor when only actions of steps differ, major otherwise, and none when nothing
does."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.versions.differences import list_differences
from dunwell.core.workflows.versions.versions import (
    Version,
    VersionVerdict,
    compute_next_number,
    compute_verdict,
)
from tests.support.definitions import a_document

Edit = Callable[[dict[str, Any]], None]


def step(index: int, **changes: Any) -> Edit:
    return lambda document: document["steps"][index].update(changes)


def text(*path: str) -> Edit:
    def edit(document: dict[str, Any]) -> None:
        place = document
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = "Another text"

    return edit


def settings(**changes: Any) -> Edit:
    return lambda document: document["settings"].update(changes)


MINOR: list[Edit] = [
    step(0, name="A friendly mail"),
    step(0, channel="LETTER"),
    step(0, fallbacks=["SMS"]),
    step(0, template="another"),
    step(0, send="IMMEDIATE"),
    step(0, attachments="REQUIRED"),
    step(2, value="500"),
    step(2, type="COLLECTION_FEE"),
    step(3, offset=15),
    step(3, message="ask"),
    text("templates", "reminder", "EMAIL", "body", "de"),
    text("snippets", "signature", "en"),
    lambda document: document["templates"].pop("reminder"),
]
MAJOR: list[Edit] = [
    step(1, days=8),
    step(1, days=None, businessDays=7),
    step(1, id=99),
    step(0, when={"has": ["email"]}),
    step(2, when={"outstanding": {"min": "1"}}),
    lambda document: document["steps"].pop(),
    lambda document: document["steps"].reverse(),
    lambda document: document["steps"].append({"id": 50, "name": "End", "kind": "WAIT", "days": 1}),
    settings(timezone="Europe/Vienna"),
    settings(languages=["en", "de"]),
    settings(feesNeedContact=False),
    settings(holidays=None),
]


def edited(*edits: Edit) -> Definition:
    document = a_document()
    for edit in edits:
        edit(document)
    return msgspec.convert(document, Definition)


OLD = edited()


def test_the_same_definition_is_no_change() -> None:
    assert compute_verdict(OLD, edited()) is VersionVerdict.NONE
    assert list_differences(OLD, edited()) == []


@pytest.mark.parametrize("edit", MINOR)
def test_a_change_inside_an_action_is_minor(edit: Edit) -> None:
    assert compute_verdict(OLD, edited(edit)) is VersionVerdict.MINOR


@pytest.mark.parametrize("edit", MAJOR)
def test_a_change_of_steps_or_settings_is_major(edit: Edit) -> None:
    assert compute_verdict(OLD, edited(edit)) is VersionVerdict.MAJOR


@given(st.lists(st.sampled_from(MINOR), min_size=1, unique=True))
def test_minor_changes_together_stay_minor(edits: list[Edit]) -> None:
    ordered = sorted(edits, key=MINOR.index)
    assert compute_verdict(OLD, edited(*ordered)) is VersionVerdict.MINOR


@given(st.sampled_from(MAJOR), st.lists(st.sampled_from(MINOR), unique=True))
def test_a_combined_change_is_major(major: Edit, minors: list[Edit]) -> None:
    ordered = [*sorted(minors, key=MINOR.index), major]
    assert compute_verdict(OLD, edited(*ordered)) is VersionVerdict.MAJOR


@given(st.sampled_from([*MINOR, *MAJOR]), st.sampled_from([*MINOR, *MAJOR]))
def test_the_verdict_is_symmetric_and_differences_are_listed(first: Edit, second: Edit) -> None:
    one, other = edited(first), edited(second)
    assert compute_verdict(one, other) is compute_verdict(other, one)
    is_equal = compute_verdict(one, other) is VersionVerdict.NONE
    assert (list_differences(one, other) == []) is is_equal


def test_the_order_of_names_is_no_change() -> None:
    document = a_document()
    document["snippets"] = {"b": {"de": "x", "en": "y"}, "a": {"de": "x", "en": "y"}}
    turned = {**document, "snippets": dict(reversed(document["snippets"].items()))}
    old, new = (msgspec.convert(each, Definition) for each in (document, turned))
    assert compute_verdict(old, new) is VersionVerdict.NONE


@pytest.mark.parametrize(
    ("current", "verdict", "number"),
    [
        (None, VersionVerdict.MAJOR, (1, 0)),
        ((1, 0), VersionVerdict.MINOR, (1, 1)),
        ((1, 9), VersionVerdict.MINOR, (1, 10)),
        ((1, 9), VersionVerdict.MAJOR, (2, 0)),
    ],
)
def test_versions_are_numbered_in_sequence(
    current: tuple[int, int] | None, verdict: VersionVerdict, number: tuple[int, int]
) -> None:
    version = current and Version(UUID(int=1), UUID(int=2), *current, OLD)
    assert compute_next_number(version or None, verdict) == number


def test_a_version_is_named_by_its_numbers() -> None:
    assert Version(UUID(int=1), UUID(int=2), 2, 11, OLD).name == "v2.11"


def test_differences_are_described_in_words() -> None:
    new = edited(
        step(1, days=8),
        settings(currency="CHF"),
        text("templates", "reminder", "EMAIL", "subject", "en"),
        lambda document: document["steps"].pop(),
        lambda document: document["snippets"].pop("signature"),
    )
    subject = "templates.reminder.EMAIL.subject.en"
    before, after = '"Reminder {{ claim.referenceNumber }}"', '"Another text"'
    assert list_differences(OLD, new) == [
        'settings.currency changed: "EUR" -> "CHF"',
        'step 5 "Last wait" removed',
        "step 2.days changed: 7 -> 8",
        f"{subject} changed: {before} -> {after}",
        "snippets.signature removed",
    ]


def test_a_new_order_is_described_by_step_ids() -> None:
    new = edited(lambda document: document["steps"].reverse())
    assert list_differences(OLD, new) == ["steps in another order: 5, 4, 3, 2, 1"]
