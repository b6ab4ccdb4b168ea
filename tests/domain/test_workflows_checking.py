"""Faults of a definition: all at once, each with its path and a helpful message."""

from typing import Any

import jsonschema
import pytest

from dunwell.core.workflows.checking import (
    find_definition_faults,
    parse_definition,
    render_definition_schema,
)
from dunwell.platform.errors import Fault, ValidationError
from tests.support.definitions import a_definition, a_document

CONTACT = {"id": 1, "name": "Mail", "kind": "COMMUNICATION", "channel": "EMAIL"}
WAIT = {"id": 9, "name": "Wait", "kind": "WAIT", "days": 1}


def with_settings(**changes: Any) -> dict[str, Any]:
    document = a_document()
    document["settings"] |= changes
    return document


def with_steps(*steps: dict[str, Any]) -> dict[str, Any]:
    return a_document(steps=list(steps))


def with_guard(condition: dict[str, Any]) -> dict[str, Any]:
    return with_steps({**WAIT, "when": condition})


def codes_by_path(document: object) -> dict[str, str]:
    return {fault.path: fault.code for fault in find_definition_faults(document)}


def test_a_valid_definition_is_parsed() -> None:
    assert find_definition_faults(a_document()) == []
    assert parse_definition(a_document()) == a_definition()


def test_faults_of_schema_and_rules_are_reported_together() -> None:
    document = with_settings(timezone="Europe/Berlyn")
    document["steps"][1]["days"] = "7"
    document["steps"][3]["id"] = 1
    assert codes_by_path(document) == {
        "/steps/1/days": "WRONG_TYPE",
        "/settings/timezone": "UNKNOWN_TIMEZONE",
        "/steps/3/id": "REPEATED",
    }


def test_the_refusal_of_a_wrong_shape_contains_every_fault() -> None:
    with pytest.raises(ValidationError) as refusal:
        parse_definition({"settings": {"languages": []}})
    assert [fault.path for fault in refusal.value.faults] == ["/settings/languages", "/steps"]


@pytest.mark.parametrize("document", [None, [], "text", 5])
def test_a_document_that_is_no_object_has_one_fault(document: object) -> None:
    assert codes_by_path(document) == {"": "WRONG_TYPE"}


@pytest.mark.parametrize(
    ("changes", "path", "code"),
    [
        ({"languages": []}, "/settings/languages", "TOO_FEW"),
        ({"languages": ["de", "en", "qqq"]}, "/settings/languages/2", "UNKNOWN_LANGUAGE"),
        ({"languages": ["de", "en", "de"]}, "/settings/languages/2", "REPEATED"),
        ({"currency": "EURO"}, "/settings/currency", "UNKNOWN_CURRENCY"),
        ({"currency": "eur"}, "/settings/currency", "UNKNOWN_CURRENCY"),
        ({"timezone": "Berlin"}, "/settings/timezone", "UNKNOWN_TIMEZONE"),
        ({"holidays": {"country": "XX"}}, "/settings/holidays/country", "UNKNOWN_COUNTRY"),
        ({"holidays": {"country": "DE", "subdivision": "XX"}},
         "/settings/holidays/subdivision", "UNKNOWN_SUBDIVISION"),
        ({"contactHours": {"weekdays": ["MON", "MON"], "from": "09:00", "to": "18:00"}},
         "/settings/contactHours/weekdays/1", "REPEATED"),
        ({"contactHours": {"weekdays": ["MON"], "from": "18:00", "to": "18:00"}},
         "/settings/contactHours/to", "EMPTY_HOURS"),
        ({"contactHours": {"weekdays": ["MON"], "from": "9:00", "to": "18:00"}},
         "/settings/contactHours/from", "WRONG_FORMAT"),
        ({"latePolicy": {"skipIfOlderThanDays": 0}},
         "/settings/latePolicy/skipIfOlderThanDays", "TOO_SMALL"),
        ({"contacthours": {}}, "/settings/contacthours", "UNKNOWN_FIELD"),
    ],
)  # fmt: skip
def test_each_fault_of_the_settings_is_reported(
    changes: dict[str, Any], path: str, code: str
) -> None:
    assert codes_by_path(with_settings(**changes)).get(path) == code


def test_hours_may_last_until_midnight() -> None:
    hours = {"weekdays": ["SAT"], "from": "00:00", "to": "24:00"}
    assert find_definition_faults(with_settings(contactHours=hours)) == []


@pytest.mark.parametrize(
    ("step", "path", "code"),
    [
        ({**WAIT, "businessDays": 2}, "/steps/0", "DAYS_OR_BUSINESS_DAYS"),
        ({**WAIT, "days": None}, "/steps/0", "DAYS_OR_BUSINESS_DAYS"),
        ({**WAIT, "days": 0}, "/steps/0/days", "TOO_SMALL"),
        ({**WAIT, "id": 0}, "/steps/0/id", "TOO_SMALL"),
        ({**WAIT, "id": "1"}, "/steps/0/id", "WRONG_TYPE"),
        ({**WAIT, "kind": "PAUSE"}, "/steps/0/kind", "NOT_ALLOWED"),
        ({**WAIT, "name": "a\x00b"}, "/steps/0/name", "CONTROL_CHARACTER"),
        ({"id": 1, "name": "Fee", "kind": "FEE", "type": "DUNNING_FEE", "value": "0250"},
         "/steps/0/value", "WRONG_FORMAT"),
        ({"id": 1, "name": "Fee", "kind": "FEE", "type": "DUNNING_FEE", "value": "1234567890123"},
         "/steps/0/value", "WRONG_FORMAT"),
        ({"id": 1, "name": "Fee", "kind": "FEE", "type": "DUNNING_FEE", "value": "250\n"},
         "/steps/0/value", "WRONG_FORMAT"),
        ({**CONTACT, "template": "remindr"}, "/steps/0/template", "UNKNOWN_TEMPLATE"),
        ({**CONTACT, "template": "reminder", "channel": "SMS"},
         "/steps/0/channel", "MISSING_CHANNEL_TEXT"),
        ({**CONTACT, "template": "reminder", "fallbacks": ["LETTER"]},
         "/steps/0/fallbacks/0", "MISSING_CHANNEL_TEXT"),
        ({**CONTACT, "template": "reminder", "fallbacks": ["EMAIL"]},
         "/steps/0/fallbacks/0", "REPEATED"),
    ],
)  # fmt: skip
def test_each_fault_of_a_step_is_reported(step: dict[str, Any], path: str, code: str) -> None:
    assert codes_by_path(with_steps(step)) == {path: code}


def test_an_unknown_template_names_the_nearest() -> None:
    faults = find_definition_faults(with_steps({**CONTACT, "template": "remindr"}))
    assert faults == [
        Fault(
            "/steps/0/template",
            'There is no template "remindr". Did you mean "reminder"?',
            "UNKNOWN_TEMPLATE",
        )
    ]


def test_business_days_need_contact_hours() -> None:
    document = with_steps({"id": 1, "name": "Wait", "kind": "WAIT", "businessDays": 2})
    assert find_definition_faults(document) == []
    del document["settings"]["contactHours"]
    assert codes_by_path(document) == {"/steps/0/businessDays": "CONTACT_HOURS_MISSING"}


def test_a_process_needs_a_step() -> None:
    assert codes_by_path(with_steps()) == {"/steps": "TOO_FEW"}


def test_every_text_exists_in_every_language() -> None:
    document = with_settings(languages=["de", "fr"])
    assert codes_by_path(document) == {
        f"{text}/{language}": code
        for text in (
            "/templates/reminder/EMAIL/subject",
            "/templates/reminder/EMAIL/body",
            "/snippets/signature",
        )
        for language, code in (("fr", "MISSING_TEXT"), ("en", "UNKNOWN_LANGUAGE"))
    }


def test_a_template_needs_a_channel_and_a_one_line_subject() -> None:
    texts = {"de": "Eine\nZwei", "en": "One"}
    body = {"de": "Text", "en": "Text"}
    templates = {"empty": {}, "two": {"LETTER": {"subject": texts, "body": body}}}
    assert codes_by_path({**with_steps(WAIT), "templates": templates}) == {
        "/templates/empty": "EMPTY_TEMPLATE",
        "/templates/two/LETTER/subject/de": "NOT_ONE_LINE",
    }


@pytest.mark.parametrize(
    ("condition", "path", "code"),
    [
        ({}, "", "EMPTY_CONDITION"),
        ({"outstanding": {}}, "/outstanding", "EMPTY_CONDITION"),
        ({"outstanding": {"min": 5000}}, "/outstanding/min", "WRONG_FORMAT"),
        ({"total": {"max": "50.00"}}, "/total/max", "WRONG_FORMAT"),
        ({"total": {"min": "9", "max": "5"}}, "/total/max", "NEVER_TRUE"),
        ({"age": {"min": "18"}}, "/age/min", "WRONG_FORMAT"),
        ({"age": {"min": -1}}, "/age/min", "WRONG_FORMAT"),
        ({"primaryAgeDays": {"min": 30, "max": 10}}, "/primaryAgeDays/max", "NEVER_TRUE"),
        ({"country": "Germany"}, "/country", "UNKNOWN_COUNTRY"),
        ({"country": ["DE", "ZZZ"]}, "/country/1", "UNKNOWN_COUNTRY"),
        ({"country": []}, "/country", "EMPTY_CONDITION"),
        ({"language": "qqq"}, "/language", "UNKNOWN_LANGUAGE"),
        ({"itemType": ["FEE"]}, "/itemType/0", "NOT_ALLOWED"),
        ({"has": ["phone"]}, "/has/0", "NOT_ALLOWED"),
        ({"has": ["email", "email"]}, "/has/1", "REPEATED"),
        ({"city": {}}, "/city", "EMPTY_CONDITION"),
        ({"city": {"equals": "Hamburg", "startsWith": "Ber"}}, "/city", "NEVER_TRUE"),
        ({"customFields": {}}, "/customFields", "EMPTY_CONDITION"),
        ({"outstandng": {}}, "/outstandng", "UNKNOWN_FIELD"),
    ],
)
def test_each_fault_of_a_condition_is_reported(
    condition: dict[str, Any], path: str, code: str
) -> None:
    assert codes_by_path(with_guard(condition)) == {f"/steps/0/when{path}": code}


def test_a_condition_that_can_be_met_is_valid() -> None:
    condition = {
        "outstanding": {"min": "0", "max": "5000"},
        "age": {"min": 18},
        "country": ["DE", "AT"],
        "has": ["email"],
        "city": {"startsWith": "Ham"},
        "customFields": {"shop": "north"},
    }
    assert find_definition_faults(with_guard(condition)) == []


def test_the_shipped_schema_is_valid_and_accepts_a_valid_definition() -> None:
    schema = render_definition_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(a_document(), schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
