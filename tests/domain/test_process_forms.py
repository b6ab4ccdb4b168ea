"""A form about a step or the settings is parsed to what it shows, with nothing lost or added."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from dunwell.core.claims.conditions import PROPERTIES
from dunwell.core.workflows.checking import find_definition_faults, parse_definition
from dunwell.core.workflows.definition import WaitStep
from dunwell.core.workflows.document import render_document
from dunwell.core.workflows.versions.parts import join_parts, list_parts
from dunwell.interfaces.portal.workflows.part_forms import (
    build_settings,
    build_step,
    open_settings_form,
    open_step_form,
)
from dunwell.interfaces.portal.workflows.views import compute_step_days
from dunwell.interfaces.web.condition_form import CONDITION_FIELDS
from dunwell.interfaces.web.forms import AmountFormat, Form, FormFields
from tests.support.definitions import a_definition, a_document

_EXAMPLES = Path(__file__).parents[2] / "examples"
GERMAN, ENGLISH = AmountFormat("EUR", "de"), AmountFormat("EUR", "en")
_WHEN = {
    "outstanding": {"min": "5000", "max": "1234567"}, "age": {"min": 18},
    "primaryAgeDays": {"max": 30}, "country": ["DE"], "language": ["de", "en"],
    "itemType": "PRIMARY", "has": ["email", "address"], "email": {"endsWith": "@example.org "},
    "city": {"equals": "Bremen"}, "customFields": {"tier = 1": " gold"},
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


def send(form: Form) -> FormFields:
    """Return the form's fields as a browser submits them."""
    return FormFields({
        name: [value.replace("\n", "\r\n")] if isinstance(value, str) else [*value]
        for name, value in form.typed.items()
    })  # fmt: skip


def send_back(step: dict[str, Any], amounts: AmountFormat) -> dict[str, Any]:
    form = open_step_form(step["kind"], step, amounts)
    content = form.with_sent_fields(send(form)).parse_content()
    assert not content.faults
    return build_step(step["kind"], content, step)


@pytest.mark.parametrize("amounts", [GERMAN, ENGLISH], ids=["de", "en"])
@pytest.mark.parametrize("step", STEPS, ids=lambda each: each["name"])
def test_a_step_submitted_as_shown_is_unchanged(
    step: dict[str, Any], amounts: AmountFormat
) -> None:
    assert send_back(step, amounts) == step


def test_settings_submitted_as_shown_are_unchanged() -> None:
    settings = list_parts(a_definition())["settings"]
    settings["latePolicy"] = {"skipIfOlderThanDays": 5}
    settings["contactHours"]["weekdays"] = ["FRI", "MON"]
    form = open_settings_form(settings, ENGLISH)
    assert build_settings(form.with_sent_fields(send(form)).parse_content()) == settings


def test_each_property_of_a_condition_has_fields() -> None:
    assert {each.group for each in CONDITION_FIELDS} == {each.name for each in PROPERTIES}


def test_an_invalid_amount_is_a_fault_and_stays_in_the_form() -> None:
    fields = FormFields({"name": ["Fee"], "type": ["DUNNING_FEE"], "value": ["much"]})
    form = open_step_form("FEE", None, ENGLISH).with_sent_fields(fields)
    content = form.parse_content()
    assert [(name, fault.code) for name, fault in content.faults] == [("value", "AMOUNT")]
    assert form.typed["value"] == "much"
    document = a_document(steps=[{**build_step("FEE", content), "id": 1}])
    placed = form.locate_faults(find_definition_faults(document), "/steps/0")
    assert content.combine_faults(placed) == content.faults


def test_custom_fields_without_a_name_and_with_the_same_name_are_faults() -> None:
    sent = {"when.customFields.name": ["a", "", "a"], "when.customFields.value": ["1", "2", "3"]}
    content = (
        open_step_form("WAIT", None, ENGLISH).with_sent_fields(FormFields(sent)).parse_content()
    )
    build_step("WAIT", content)
    assert [(name, fault.code) for name, fault in content.faults] == [
        ("when.customFields.name.1", "REQUIRED"), ("when.customFields.name.2", "REPEATED"),
    ]  # fmt: skip


def test_a_wait_without_days_has_its_fault_at_the_days() -> None:
    document = a_document(steps=[{"kind": "WAIT", "id": 1, "name": "Wait"}])
    form = open_step_form("WAIT", None, ENGLISH)
    placed = form.locate_faults(find_definition_faults(document), "/steps/0", "days")
    assert [(name, fault.code) for name, fault in placed] == [("days", "DAYS_OR_BUSINESS_DAYS")]


def test_business_days_make_the_shown_day_an_estimate() -> None:
    steps = [
        WaitStep(id=1, name="a", days=7), WaitStep(id=2, name="b", business_days=10),
        WaitStep(id=3, name="c", days=1),
    ]  # fmt: skip
    assert [*compute_step_days(steps, 2)] == [(0, False), (7, False), (21, True)]


@pytest.mark.parametrize("name", ["friendly-reminders.yaml"])
def test_the_parts_of_an_example_joined_are_the_example(name: str) -> None:
    definition = parse_definition(yaml.safe_load((_EXAMPLES / name).read_text()))
    again = parse_definition(join_parts(list_parts(definition)))
    assert again == definition
    assert render_document(again) == render_document(definition)


@pytest.mark.parametrize("name", ["friendly-reminders.yaml"])
def test_every_step_of_an_example_is_unchanged_by_its_form(name: str) -> None:
    definition = parse_definition(yaml.safe_load((_EXAMPLES / name).read_text()))
    parts = list_parts(definition)
    for part, step in parts.items():
        if part.startswith("step "):
            parts[part] = {**send_back(step, GERMAN), "id": step["id"]}
    assert parse_definition(join_parts(parts)) == definition
