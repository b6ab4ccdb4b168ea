"""What a form about a process shows is what it reads: nothing is lost on the way, and nothing comes
to it."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from dunwell.core.workflows.audited import list_parts
from dunwell.core.workflows.checking import find_definition_faults, read_definition
from dunwell.core.workflows.definition import WaitStep
from dunwell.core.workflows.document import render_document
from dunwell.core.workflows.parts import join_parts
from dunwell.interfaces.portal.processes.fields import Manner, place_faults
from dunwell.interfaces.portal.processes.settings_form import read_settings, show_settings
from dunwell.interfaces.portal.processes.step_form import FIELDS, read_step, show_step
from dunwell.interfaces.portal.processes.views_editor import count_days
from dunwell.interfaces.portal.web.visit import Fields
from tests.support.definitions import a_definition, a_document

_EXAMPLES = Path(__file__).parents[2] / "examples"
GERMAN, ENGLISH = Manner("EUR", "de"), Manner("EUR", "en")
_WHEN = {
    "outstanding": {"min": "5000", "max": "1234567"}, "age": {"min": 18},
    "primaryAgeDays": {"max": 30}, "country": ["DE"], "language": ["de", "en"],
    "itemType": "PRIMARY", "has": ["email", "address"], "email": {"endsWith": "@example.org"},
    "city": {"equals": "Bremen"}, "customFields": {"tier": "gold"},
}  # fmt: skip
STEPS: tuple[dict[str, Any], ...] = (
    {"kind": "COMMUNICATION", "name": "One", "channel": "SMS", "template": "t",
     "fallbacks": ["EMAIL", "LETTER"], "send": "IMMEDIATE", "attachments": "REQUIRED"},
    {"kind": "WAIT", "name": "Two", "days": 7},
    {"kind": "WAIT", "name": "Three", "businessDays": 5},
    {"kind": "FEE", "name": "Four", "type": "COLLECTION_FEE", "value": "123456"},
    {"kind": "CHECKPOINT", "name": "Five", "offset": -14, "message": "line one\nline two"},
    {"kind": "WAIT", "name": "Six", "days": 1, "when": _WHEN},
)  # fmt: skip


def send(shown: dict[str, Any]) -> Fields:
    """As a browser sends it."""
    return Fields({
        name: value if isinstance(value, list) else [value.replace("\n", "\r\n")]
        for name, value in shown.items()
    })  # fmt: skip


@pytest.mark.parametrize("manner", [GERMAN, ENGLISH], ids=["de", "en"])
@pytest.mark.parametrize("step", STEPS, ids=lambda each: each["name"])
def test_a_step_sent_as_it_is_shown_is_the_same(step: dict[str, Any], manner: Manner) -> None:
    assert read_step(step["kind"], send(show_step(step, manner)), manner, step) == step


def test_the_settings_sent_as_they_are_shown_are_the_same() -> None:
    settings = list_parts(a_definition())["settings"]
    settings["latePolicy"] = {"skipIfOlderThanDays": 5}
    settings["contactHours"]["weekdays"] = ["FRI", "MON"]
    assert read_settings(send(show_settings(settings)), ENGLISH, settings) == settings


def test_what_cannot_be_read_stays_as_it_is_typed_for_the_checks_to_tell() -> None:
    fields = Fields({"name": ["Fee"], "type": ["DUNNING_FEE"], "value": ["much"]})
    step = read_step("FEE", fields, ENGLISH)
    assert step["value"] == "much"
    assert show_step(step, ENGLISH)["value"] == "much"
    document = a_document(steps=[{**step, "id": 1}])
    placed = place_faults(find_definition_faults(document), "/steps/0", FIELDS)
    assert [name for name, _ in placed] == ["value"]


def test_a_wait_without_days_is_told_beside_them() -> None:
    document = a_document(steps=[{"kind": "WAIT", "id": 1, "name": "Wait"}])
    placed = place_faults(find_definition_faults(document), "/steps/0", FIELDS)
    assert [(name, fault.code) for name, fault in placed] == [("days", "DAYS_OR_BUSINESS_DAYS")]


def test_business_days_make_the_day_a_guess() -> None:
    steps = [
        WaitStep(id=1, name="a", days=7), WaitStep(id=2, name="b", business_days=10),
        WaitStep(id=3, name="c", days=1),
    ]  # fmt: skip
    assert [*count_days(steps, 2)] == [(0, False), (7, False), (21, True)]


@pytest.mark.parametrize("name", ["friendly-reminders.yaml"])
def test_an_examples_parts_put_together_are_the_example(name: str) -> None:
    definition = read_definition(yaml.safe_load((_EXAMPLES / name).read_text()))
    again = read_definition(join_parts(list_parts(definition)))
    assert again == definition
    assert render_document(again) == render_document(definition)


@pytest.mark.parametrize("name", ["friendly-reminders.yaml"])
def test_every_step_of_an_example_goes_through_its_form_unchanged(name: str) -> None:
    definition = read_definition(yaml.safe_load((_EXAMPLES / name).read_text()))
    parts = list_parts(definition)
    for part, step in parts.items():
        if part.startswith("step "):
            typed = read_step(step["kind"], send(show_step(step, GERMAN)), GERMAN, step)
            parts[part] = {**typed, "id": step["id"]}
    assert read_definition(join_parts(parts)) == definition
