"""Claims are created in one list and read again. A faulty claim does not affect the others."""

import pytest

from dunwell.core.claims.fields import FIELDS
from tests.support.api import Api
from tests.support.claims import a_claim

MESSAGE_OF_ONE = "1 fault was found. See details.errors; correct them and send again."


async def test_each_claim_gets_its_result_in_order(api: Api) -> None:
    answer = await api.nordwind.post("/claims", [a_claim("A-1"), a_claim("A-2")])

    assert answer.status_code == 200
    first, second = answer.json()["result"]
    assert first == {"id": first["id"], "referenceNumber": "A-1", "error": None, "result": None}
    assert second["referenceNumber"] == "A-2"
    assert answer.json()["error"] is None
    assert await api.count("claims") == 2


async def test_a_claim_is_returned_as_it_was_submitted(api: Api) -> None:
    address = {"street": "Am Markt 1", "postalCode": "20095", "city": "Hamburg", "country": "DE"}
    given = a_claim(
        "A-1", customerNumber="C-7", language="de", dateOfBirth="1990-05-04", address=address,
        mobileNumber="+4915112345678", contractNumber="V-9", customFields={"shop": "web"},
        maxDeferralDate="2026-12-31", salutation="MS", companyName="Muster GmbH",
    )  # fmt: skip
    created = (await api.nordwind.post("/claims", [given])).json()["result"][0]

    claim = (await api.nordwind.get(f"/claims/{created['id']}")).json()["result"]

    assert {each.wire_name for each in FIELDS} <= given.keys()
    items = given.pop("items")
    assert {name: claim[name] for name in given} == given
    assert [{name: item[name] for name in items[0]} for item in claim["items"]] == items
    assert (claim["status"], claim["holds"]) == ("CREATED", [])
    assert (claim["total"], claim["outstanding"], claim["overpaid"]) == ("10240", "10240", "0")
    assert claim["assignment"] == {
        "workflowId": str(api.version.workflow_id),
        "workflowVersion": "v1.0",
    }


@pytest.mark.parametrize(
    ("born", "codes"),
    [
        # In the merchant's zone it is 2 March 2026: the eighteenth birthday and the day before it.
        ("2008-03-02", None),
        ("2008-03-03", ["MINOR_DEBTOR"]),
        ("2025-01-01", ["MINOR_DEBTOR"]),
        ("1984-03-27", None),
    ],
)
async def test_a_debtor_younger_than_18_causes_a_warning(
    api: Api, born: str, codes: list[str] | None
) -> None:
    answer = await api.nordwind.post("/claims", [a_claim(dateOfBirth=born)])

    result = answer.json()["result"][0]
    assert result["id"] is not None
    remarks = result["result"]
    found = None if remarks is None else [each["code"] for each in remarks["warnings"]]
    assert found == codes


async def test_a_claim_with_six_faults_reports_all_of_them_and_does_not_affect_others(
    api: Api,
) -> None:
    item = {"reference": "x", "type": "SECONDARY", "value": 102.4, "itemDate": "01.02.2026"}
    faulty = a_claim("A-2", email="nobody", currency="euro", dateOfBirth="84-03-27", items=[item])

    answer = await api.nordwind.post("/claims", [a_claim("A-1"), faulty, a_claim("A-3")])

    results = answer.json()["result"]
    assert answer.status_code == 200
    assert [each["referenceNumber"] for each in results] == ["A-1", "A-2", "A-3"]
    error = results[1]["error"]
    assert (error["type"], results[1]["id"]) == ("ValidationError", None)
    assert error["message"].startswith("6 faults were found.")
    assert sorted(each["path"] for each in error["details"]["errors"]) == [
        "/currency", "/dateOfBirth", "/email", "/items/0/itemDate", "/items/0/type",
        "/items/0/value",
    ]  # fmt: skip
    assert await api.count("claims") == 2


async def test_an_unknown_field_is_refused_with_the_nearest_name(api: Api) -> None:
    answer = await api.nordwind.post("/claims", [{**a_claim(), "emial": "erika@example.org"}])

    error = answer.json()["result"][0]["error"]
    assert error["message"] == MESSAGE_OF_ONE
    assert error["details"]["errors"] == [
        {
            "path": "/emial",
            "message": '"emial" is not known here. Did you mean "email"?',
            "code": "UNKNOWN_FIELD",
        }
    ]
    assert await api.count("claims") == 0
