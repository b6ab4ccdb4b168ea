"""Every field of a definition has a verdict for a change of that field alone (CONTRACT 6)."""

from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from dunwell.core.workflows.definition import (
    CheckpointStep,
    Condition,
    ContactStep,
    Definition,
    FeeStep,
    LatePolicy,
    ProcessSettings,
    Template,
    WaitStep,
    WorkflowContactHours,
    WorkflowHolidays,
)
from dunwell.core.workflows.versions.versions import FIELD_VERDICTS, VersionVerdict, compute_verdict

STEPS = [ContactStep, WaitStep, FeeStep, CheckpointStep]
TEXT = {"en": "Another text"}
MAIL = {"subject": TEXT, "body": TEXT}
# A definition with every possible field.
FULL: dict[str, Any] = {
    "settings": {
        "languages": ["en"], "currency": "EUR", "timezone": "Europe/Berlin",
        "processingStart": "DUE_DATE",
        "contactHours": {"weekdays": ["MON"], "from": "09:00", "to": "18:00"},
        "holidays": {"country": "DE", "subdivision": "HH"},
        "feesNeedContact": True, "latePolicy": {"skipIfOlderThanDays": 30},
    },
    "snippets": {"signature": {"en": "Your team"}},
    "templates": {"reminder": {
        "EMAIL": {"subject": {"en": "A"}, "body": {"en": "B"}},
        "SMS": {"body": {"en": "C"}},
        "LETTER": {"subject": {"en": "D"}, "body": {"en": "E"}},
    }},
    "steps": [
        {"id": 1, "name": "Mail", "kind": "COMMUNICATION", "channel": "EMAIL",
         "template": "reminder", "fallbacks": ["SMS"], "send": "CONTACT_HOURS",
         "attachments": "NONE", "when": {"has": ["email"]}},
        {"id": 2, "name": "Wait", "kind": "WAIT", "days": 7, "when": {"country": "DE"}},
        {"id": 3, "name": "Fee", "kind": "FEE", "type": "DUNNING_FEE", "value": "250",
         "when": {"outstanding": {"min": "1"}}},
        {"id": 4, "name": "Mark", "kind": "CHECKPOINT", "offset": 14, "message": "x",
         "when": {"language": "en"}},
    ],
}  # fmt: skip
OF_EVERY_STEP = {"id": 99, "name": "Another name", "when": {"city": {"equals": "Kiel"}}}
# Another value for each field, by the part it belongs to.
OTHERS: dict[type, dict[str, Any]] = {
    Definition: {
        "settings": {"languages": ["de"]}, "steps": FULL["steps"][::-1],
        "templates": {}, "snippets": {},
    },
    ProcessSettings: {
        "languages": ["de"], "currency": "CHF", "timezone": "Europe/Zurich",
        "processing_start": "CREATION", "contact_hours": None, "holidays": None,
        "fees_need_contact": False, "late_policy": None,
    },
    WorkflowContactHours: {"weekdays": ["TUE"], "since": "10:00", "until": "17:00"},
    WorkflowHolidays: {"country": "AT", "subdivision": None},
    LatePolicy: {"skip_if_older_than_days": 31},
    Template: {"email": MAIL, "sms": {"body": TEXT}, "letter": MAIL},
    Condition: {
        "outstanding": {"min": "9"}, "total": {"min": "9"}, "age": {"min": 9},
        "primary_age_days": {"max": 9}, "country": "AT", "language": "de", "item_type": "PRIMARY",
        "has": ["address"], "email": {"endsWith": "x"}, "mobile_number": {"startsWith": "+4"},
        "city": {"equals": "Kiel"}, "postal_code": {"startsWith": "2"},
        "custom_fields": {"a": "b"},
    },
    ContactStep: OF_EVERY_STEP | {
        "channel": "LETTER", "template": "other", "fallbacks": [], "send": "IMMEDIATE",
        "attachments": "REQUIRED",
    },
    WaitStep: OF_EVERY_STEP | {"days": 8, "business_days": 7},
    FeeStep: OF_EVERY_STEP | {"type": "COLLECTION_FEE", "value": "251"},
    CheckpointStep: OF_EVERY_STEP | {"offset": 15, "message": "y"},
}  # fmt: skip
# The position of each part in FULL, and the verdict of a change of any of its fields.
PLACES: dict[type, tuple[tuple[str | int, ...], VersionVerdict | None]] = {
    Definition: ((), None),
    ProcessSettings: (("settings",), VersionVerdict.MAJOR),
    WorkflowContactHours: (("settings", "contactHours"), VersionVerdict.MAJOR),
    WorkflowHolidays: (("settings", "holidays"), VersionVerdict.MAJOR),
    LatePolicy: (("settings", "latePolicy"), VersionVerdict.MAJOR),
    Template: (("templates", "reminder"), VersionVerdict.MINOR),
    Condition: (("steps", 1, "when"), VersionVerdict.MAJOR),
    **{step: (("steps", index), None) for index, step in enumerate(STEPS)},
}
# Parts within fields of other parts, which are listed above.
WITHIN = {"EmailTemplate", "SmsTemplate", "LetterTemplate", "IntegerBounds", "TextTest"}


def parts_of(shape: type, seen: set[type]) -> Iterator[type]:
    """Yield every struct that a definition consists of."""
    if shape in seen:
        return
    seen.add(shape)
    yield shape
    for hint in get_type_hints(shape).values():
        for found in structs_in(hint):
            yield from parts_of(found, seen)


def structs_in(hint: Any) -> Iterator[type]:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        yield hint
    for argument in get_args(hint):
        yield from structs_in(argument)


PARTS = [part for part in parts_of(Definition, set()) if part.__name__ not in WITHIN]
FIELDS = [(part, field.name) for part in PARTS for field in msgspec.structs.fields(part)]


def changed(part: type, field: str) -> Definition:
    """Return the full definition with another value in one field."""
    document = msgspec.json.decode(msgspec.json.encode(FULL))
    place: Any = document
    for key in PLACES[part][0]:
        place = place[key]
    names = {each.name: each.encode_name for each in msgspec.structs.fields(part)}
    place[names[field]] = OTHERS[part][field]
    return msgspec.convert(document, Definition)


def test_all_parts_of_a_definition_are_tested() -> None:
    assert set(PARTS) == set(PLACES) == set(OTHERS)
    assert len(FIELDS) > 50


def test_the_table_names_every_field_of_a_definition_and_of_its_steps() -> None:
    assert set(FIELD_VERDICTS) == {Definition, *STEPS}
    for part, verdicts in FIELD_VERDICTS.items():
        assert set(verdicts) == {field.name for field in msgspec.structs.fields(part)}


@pytest.mark.parametrize(("part", "field"), FIELDS)
def test_a_change_of_one_field_gets_the_fields_verdict(part: type, field: str) -> None:
    old, new = msgspec.convert(FULL, Definition), changed(part, field)
    assert old != new
    expected = PLACES[part][1] or FIELD_VERDICTS[part][field]
    assert compute_verdict(old, new) is compute_verdict(new, old) is expected


def test_the_verdicts_are_as_documented() -> None:
    """Only changes of these fields are minor."""
    minor = {
        name
        for verdicts in FIELD_VERDICTS.values()
        for name, verdict in verdicts.items()
        if verdict is VersionVerdict.MINOR
    }
    assert minor == {
        "template", "templates", "snippets", "channel", "fallbacks", "type", "value", "offset",
        "message", "name", "send", "attachments",
    }  # fmt: skip


def test_another_kind_of_step_under_the_same_id_is_major() -> None:
    steps = [{"id": 1, "name": "Mail", "kind": "WAIT", "days": 1}, *FULL["steps"][1:]]
    new = msgspec.convert({**FULL, "steps": steps}, Definition)
    assert compute_verdict(msgspec.convert(FULL, Definition), new) is VersionVerdict.MAJOR
