"""Every fault of a body is reported in the first response, whatever kinds of faults it has.

The OpenAPI document accepts exactly what the service accepts.
"""

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.cases.intake.change_contact_data import apply_patch
from dunwell.cases.intake.check_claims import RejectedSubmission, check_claims
from dunwell.cases.intake.submission import ClaimSubmission, ContactPatch
from dunwell.core.claims.fields import ContactData
from dunwell.interfaces.api.catalogue import OPERATIONS
from dunwell.interfaces.api.operation import Operation
from dunwell.interfaces.api.reading import parse_body
from dunwell.interfaces.api.reference.document import build_document
from dunwell.platform.errors import ValidationError
from dunwell.platform.text.json_text import parse_json
from dunwell.platform.text.shape import MAX_FAULTS, find_faults
from tests.support.claims import a_claim

Claim = dict[str, Any]
Plant = Callable[[Claim], None]

_GOOD = a_claim(
    companyName="Muster GmbH",
    mobileNumber="+4915112345678",
    language="de",
    salutation="MS",
    dateOfBirth="1980-05-17",
    address={"street": "Am Markt 1", "city": "Hamburg", "country": "DE"},
    customFields={"shop": "Altona"},
    attachments=[{"sourceType": "TICKET", "source": "x"}],
)
_GOOD["items"] += [
    {"reference": "F-1", "type": "DUNNING_FEE", "value": "250", "itemDate": "2026-02-01"},
    {"reference": "F-2", "type": "COLLECTION_FEE", "value": "250", "dueDate": "2026-02-01"},
]


def _put(path: str, value: Any) -> Plant:
    *way, last = [int(part) if part.isdigit() else part for part in path[1:].split("/")]

    def plant(claim: Any) -> None:
        for part in way:
            claim = claim[part]
        claim[last] = value

    return plant


def _drop(*names: str) -> Plant:
    def plant(claim: Claim) -> None:
        for name in names:
            claim.pop(name, None)

    return plant


def _drop_in_item(index: int, name: str) -> Plant:
    return lambda claim: claim["items"][index].pop(name)


# Planted faults with the path and code that they cause, in groups; at most one of a group is
# planted.
_FAULTS: dict[str, list[tuple[Plant, str, str]]] = {
    "reference": [
        (_put("/referenceNumber", 5), "/referenceNumber", "WRONG_TYPE"),
        (_put("/referenceNumber", "  "), "/referenceNumber", "EMPTY_TEXT"),
        (_put("/referenceNumber", "x" * 256), "/referenceNumber", "TOO_LONG"),
        (_put("/referenceNumber", ""), "/referenceNumber", "TOO_SHORT"),
        (_drop("referenceNumber"), "/referenceNumber", "REQUIRED"),
    ],
    "currency": [
        (_put("/currency", 978), "/currency", "WRONG_TYPE"),
        (_put("/currency", "eur"), "/currency", "WRONG_FORMAT"),
        (_put("/currency", "ABC"), "/currency", "UNKNOWN_CURRENCY"),
        (_drop("currency"), "/currency", "REQUIRED"),
    ],
    "name": [
        (_drop("debtorLastName", "companyName"), "/debtorLastName", "REQUIRED"),
        (_put("/debtorLastName", ["M"]), "/debtorLastName", "WRONG_TYPE"),
        (_put("/companyName", "a\x85b"), "/companyName", "CONTROL_CHARACTER"),
    ],
    "first name": [(_put("/debtorName", "a\x9fb"), "/debtorName", "CONTROL_CHARACTER")],
    "e-mail": [(_put("/email", "nobody"), "/email", "WRONG_FORMAT")],
    "mobile": [
        (_put("/mobileNumber", 49151), "/mobileNumber", "WRONG_TYPE"),
        (_put("/mobileNumber", "0151"), "/mobileNumber", "WRONG_FORMAT"),
        (_put("/mobileNumber", "+9991234567"), "/mobileNumber", "WRONG_PHONE_NUMBER"),
    ],
    "language": [
        (_put("/language", "de-DE"), "/language", "WRONG_FORMAT"),
        (_put("/language", "qqq"), "/language", "UNKNOWN_LANGUAGE"),
    ],
    "salutation": [(_put("/salutation", "MX"), "/salutation", "NOT_ALLOWED")],
    "birthday": [(_put("/dateOfBirth", "2026-02-30"), "/dateOfBirth", "WRONG_FORMAT")],
    "street": [(_put("/address/street", True), "/address/street", "WRONG_TYPE")],
    "country": [
        (_put("/address/country", "XX"), "/address/country", "UNKNOWN_COUNTRY"),
        (_put("/address/country", 49), "/address/country", "WRONG_TYPE"),
    ],
    "town": [(_put("/address/town", "Hamburg"), "/address/town", "UNKNOWN_FIELD")],
    "custom": [
        (_put("/customFields/shop", 7), "/customFields/shop", "WRONG_TYPE"),
        (_put("/customFields", [7]), "/customFields", "WRONG_TYPE"),
        (_put("/customFields/", "x"), "/customFields/", "UNKNOWN_FIELD"),
    ],
    "unknown": [(_put("/refrence", 1), "/refrence", "UNKNOWN_FIELD")],
    "also unknown": [(_put("/mail", {"a": {}}), "/mail", "UNKNOWN_FIELD")],
    "first item's type": [
        (_put("/items/0/type", "SECONDARY"), "/items/0/type", "NOT_ALLOWED"),
        (_put("/items/0/type", "DUNNING_FEE"), "/items", "PRIMARY_MISSING"),
        (_drop_in_item(0, "type"), "/items/0/type", "REQUIRED"),
    ],
    "first item's value": [
        (_put("/items/0/value", 102.4), "/items/0/value", "WRONG_TYPE"),
        (_put("/items/0/value", "010"), "/items/0/value", "WRONG_FORMAT"),
    ],
    "first item's days": [
        (_put("/items/0/dueDate", "2026-01-01"), "/items/0/dueDate", "WRONG_ORDER"),
        (_put("/items/0/dueDate", 20260101), "/items/0/dueDate", "WRONG_TYPE"),
        (_put("/items/0/itemDate", "01.02.2026"), "/items/0/itemDate", "WRONG_FORMAT"),
    ],
    "second item": [
        (_drop_in_item(1, "reference"), "/items/1/reference", "REQUIRED"),
        (_put("/items/1/amount", 1), "/items/1/amount", "UNKNOWN_FIELD"),
    ],
    "third item": [(_put("/items/2/itemDate", "2026-03-01"), "/items/2/dueDate", "WRONG_ORDER")],
    "attachments": [
        (_put("/attachments/0/sourceType", "URL"), "/attachments/0/sourceType", "NOT_ALLOWED"),
        (_put("/attachments/0", None), "/attachments/0", "WRONG_TYPE"),
    ],
}


def _list_reported(claim: Any) -> list[tuple[str, str]]:
    [read] = check_claims(msgspec.json.encode([claim]))
    faults = read.error.faults if isinstance(read, RejectedSubmission) else []
    return sorted((fault.path, fault.code) for fault in faults)


@st.composite
def _plants(draw: st.DrawFn) -> list[tuple[Plant, str, str]]:
    groups = draw(st.lists(st.sampled_from(sorted(_FAULTS)), unique=True, max_size=len(_FAULTS)))
    return [draw(st.sampled_from(_FAULTS[group])) for group in groups]


@given(_plants())
def test_exactly_the_planted_faults_are_reported(plants: list[tuple[Plant, str, str]]) -> None:
    claim = copy.deepcopy(_GOOD)
    for plant, _, _ in plants:
        plant(claim)
    assert _list_reported(claim) == sorted((path, code) for _, path, code in plants)


@pytest.mark.parametrize("group", _FAULTS)
def test_each_fault_is_reported_alone_and_together_with_a_type_fault(group: str) -> None:
    for plant, path, code in _FAULTS[group]:
        claim = copy.deepcopy(_GOOD)
        plant(claim)
        assert _list_reported(claim) == [(path, code)]
        claim["maxDeferralDate"] = 5
        assert _list_reported(claim) == sorted([(path, code), ("/maxDeferralDate", "WRONG_TYPE")])


def test_a_repeated_key_does_not_hide_other_faults() -> None:
    text = msgspec.json.encode([a_claim(currency="ABC", language="qqq")])
    [read] = check_claims(text.replace(b'"language"', b'"email":"a@b.de","language"'))
    assert isinstance(read, RejectedSubmission)
    assert sorted((fault.path, fault.code) for fault in read.error.faults) == [
        ("/currency", "UNKNOWN_CURRENCY"),
        ("/email", "REPEATED"),
        ("/language", "UNKNOWN_LANGUAGE"),
    ]  # fmt: skip


def test_in_a_thousand_claims_each_has_all_its_faults() -> None:
    claim = a_claim(currency="ABC", language=5, email="x", refrence=1, dateOfBirth="5")
    claim["items"][0]["dueDate"] = "2020-01-01"
    reads = check_claims(msgspec.json.encode([claim] * 1_000))
    assert {len(each.error.faults) for each in reads if isinstance(each, RejectedSubmission)} == {6}
    assert len(reads) == 1_000


def test_the_number_of_reported_rule_faults_is_limited() -> None:
    item = {"reference": "a", "type": "DUNNING_FEE", "value": "1", "itemDate": "2026-01-02"}
    claim = a_claim(items=[{**item, "dueDate": "2026-01-01"}] * 100)
    reads = check_claims(msgspec.json.encode([claim] * 1_000))
    counts = [len(each.error.faults) for each in reads if isinstance(each, RejectedSubmission)]
    assert counts == [MAX_FAULTS] * 100 + [1] * 900


@given(_plants())
def test_a_change_of_contact_data_reports_every_fault(
    plants: list[tuple[Plant, str, str]],
) -> None:
    names = {each.encode_name for each in msgspec.structs.fields(ContactPatch)}
    in_patch = [each for each in plants if each[1].split("/")[1] in {*names, "refrence", "mail"}]
    patch = {name: copy.deepcopy(value) for name, value in _GOOD.items() if name in names}
    present = msgspec.convert(patch, ContactData)
    for plant, _, _ in in_patch:
        plant(patch)
    # A patch without these fields keeps them.
    if not {"debtorLastName", "companyName"} & patch.keys():
        patch |= {"debtorLastName": None, "companyName": None}
    faults = []
    try:
        apply_patch(present, patch)
    except ValidationError as refusal:
        faults = refusal.faults
    reported = sorted((fault.path, fault.code) for fault in faults)
    assert reported == sorted((path, code) for _, path, code in in_patch)


# Values similar to valid ones, of other types, or hostile.
_VALUES: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.sampled_from([0, 1, 297, 2**63 - 1, 2**63, -1, 297.0, 1e3, 1.5, -0.0, 1e40])
    | st.sampled_from([
        "", " ", "\n", "a\tb", "\x1f", "\x7f", "\x80", "\x85", "\x9f", "\xa0", "\u2028", "EUR",
        "EUR\n", "eur", "2026-02-01", "2026-02-30", "2026-02-01\n", "20260201", "100", "0",
        "x" * 65, "x" * 256, "x" * 2_001, "erika@example.org", "+4915112345678", "de", "DE",
        "PRIMARY", "ACCEPTED", "0195547a-1f40-7c3e-9a41-6f1f0c2f9d11",
        "0195547A-1f40-7c3e-9a41-6f1f0c2f9d11", "2026-03-02T09:00:00Z",
    ])
    | st.text(max_size=3)
    | st.just([])
    | st.just({})
)  # fmt: skip
_NAMES = st.sampled_from(["claimIds", "claimId", "unknown", "", "a\x85", "email", "reason"])
_BODIES = [
    each
    for each in OPERATIONS
    if each.body is not None and each.body.media_type == "application/json"
]


def _read_as_ecma(schema: Any) -> Any:
    """In a document `$` matches the end of the text, as in ECMA-262; in Python it also matches
    before a final line break."""
    if isinstance(schema, list):
        return [_read_as_ecma(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    read = {name: _read_as_ecma(each) for name, each in schema.items()}
    if isinstance(schema.get("pattern"), str):
        read["pattern"] = schema["pattern"].removesuffix("$") + r"\Z"
    return read


_DOCUMENT = _read_as_ecma(build_document())
# Days and UUIDs; the format of an instant is only a hint, as in JSON Schema itself.
_FORMATS = jsonschema.FormatChecker(["date", "uuid"])


@cache
def _document_validator(path: str, method: str) -> jsonschema.Draft202012Validator:
    described = _DOCUMENT["paths"][path][method.lower()]
    schema = described["requestBody"]["content"]["application/json"]["schema"]
    whole = {**schema, "components": _DOCUMENT["components"]}
    return jsonschema.Draft202012Validator(whole, format_checker=_FORMATS)


@st.composite
def _vary(draw: st.DrawFn, example: Any) -> Any:
    """Draw the example with up to three values changed, added or removed."""
    holder = [copy.deepcopy(example)]
    for _ in range(draw(st.integers(0, 3))):
        place: Any = holder
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = draw(st.sampled_from(keys)) if keys else None
            inner = None if key is None else place[key]
            if not (isinstance(inner, dict | list) and inner and draw(st.booleans())):
                break
            place = inner
        if isinstance(place, dict) and draw(st.booleans()):
            place[draw(_NAMES)] = draw(_VALUES)
        elif key is not None and place is not holder and draw(st.integers(0, 3)) == 0:
            del place[key]
        elif key is not None:
            place[key] = draw(_VALUES)
    return holder[0]


@pytest.mark.parametrize("operation", _BODIES, ids=[each.operation_id for each in _BODIES])
@given(data=st.data())
def test_the_document_accepts_what_the_service_accepts(
    operation: Operation, data: st.DataObject
) -> None:
    assert operation.body is not None
    value = data.draw(_vary(operation.body.example))
    text = msgspec.json.encode(value)
    is_accepted = _document_validator(operation.path, operation.method).is_valid(value)
    faults = find_faults(parse_json(text), operation.body.shape)
    assert (faults == []) == is_accepted, faults
    # The body can be parsed if and only if the document accepts it.
    if operation.body.shape == list[ClaimSubmission]:
        return
    try:
        parse_body(text, operation.body.shape)
    except ValidationError:
        assert not is_accepted
    else:
        assert is_accepted


@pytest.mark.parametrize("operation", _BODIES, ids=[each.operation_id for each in _BODIES])
def test_the_example_of_each_body_is_accepted(operation: Operation) -> None:
    assert operation.body is not None
    assert _document_validator(operation.path, operation.method).is_valid(operation.body.example)
    assert find_faults(operation.body.example, operation.body.shape) == []
