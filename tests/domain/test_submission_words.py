"""A fault of a submitted claim describes in words what is expected, never as a pattern."""

from typing import Any

import msgspec
import pytest

from dunwell.cases.intake.check_claims import RejectedSubmission, check_claims
from dunwell.platform.text.wire import PLAIN_TEXT
from tests.support.claims import a_claim


def the_fault(**changes: Any) -> tuple[str, str, str]:
    [result] = check_claims(msgspec.json.encode([a_claim(**changes)]))
    assert isinstance(result, RejectedSubmission)
    [fault] = result.error.faults
    return fault.path, fault.code, fault.message


def item(**changes: Any) -> dict[str, Any]:
    return {"items": [{**a_claim()["items"][0], **changes}]}


@pytest.mark.parametrize(
    ("changes", "path", "words"),
    [
        ({"currency": "eur"}, "/currency",
         "an ISO 4217 code of three upper-case letters, like EUR"),
        ({"email": "Erika <e@example.org>"}, "/email",
         "one e-mail address without a name, like erika@example.org"),
        ({"mobileNumber": "0151"}, "/mobileNumber",
         "a number in international format with a leading plus, like +4915112345678"),
        ({"language": "de-DE"}, "/language",
         "an ISO 639 code of two or three lower-case letters, such as de"),
        ({"address": {"country": "Germany"}}, "/address/country",
         "an ISO 3166-1 code of two upper-case letters, like DE"),
        ({"debtorName": "a\x00"}, "/debtorName", "a text without control characters"),
        (item(value="102.40"), "/items/0/value",
         "an amount in minor units as a string of 1 to 12 digits without leading zero"),
        (item(reference="a\nb"), "/items/0/reference", "a text without control characters"),
    ],
)  # fmt: skip
def test_the_fault_of_a_pattern_is_described_in_words(
    changes: dict[str, Any], path: str, words: str
) -> None:
    code = "CONTROL_CHARACTER" if words == PLAIN_TEXT else "WRONG_FORMAT"
    assert the_fault(**changes) == (path, code, f"Expected {words}.")


@pytest.mark.parametrize(
    ("changes", "path", "code"),
    [
        ({"referenceNumber": " "}, "/referenceNumber", "EMPTY_TEXT"),
        ({"debtorLastName": None}, "/debtorLastName", "REQUIRED"),
        ({"currency": "ABC"}, "/currency", "UNKNOWN_CURRENCY"),
        ({"language": "qqq"}, "/language", "UNKNOWN_LANGUAGE"),
        ({"address": {"country": "XX"}}, "/address/country", "UNKNOWN_COUNTRY"),
        ({"mobileNumber": "+9991234567"}, "/mobileNumber", "WRONG_PHONE_NUMBER"),
        (item(type="DUNNING_FEE"), "/items", "PRIMARY_MISSING"),
        (item(dueDate="2026-01-01"), "/items/0/dueDate", "WRONG_ORDER"),
        ({"items": []}, "/items", "TOO_FEW"),
    ],
)
def test_a_rule_beyond_patterns_has_its_own_code(
    changes: dict[str, Any], path: str, code: str
) -> None:
    assert the_fault(**changes)[:2] == (path, code)
