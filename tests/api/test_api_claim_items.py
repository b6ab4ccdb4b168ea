"""Items and fees over HTTP."""

from typing import Any

import pytest

from tests.support.api import Api

ITEM = {"reference": "INV-2", "type": "PRIMARY", "value": "500", "itemDate": "2026-02-01"}
FEE = {"type": "COLLECTION_FEE", "value": "250"}


async def read(api: Api, claim_id: int) -> dict[str, Any]:
    result: dict[str, Any] = (await api.nordwind.get(f"/claims/{claim_id}")).json()["result"]
    return result


async def delete(api: Api, claim_id: int, item_id: object) -> Any:
    path = f"/merchants/{api.nordwind.merchant_id}/claims/{claim_id}/items/{item_id}"
    return await api.nordwind.send("DELETE", path)


async def test_what_is_added_is_answered_as_the_claim_shows_it(api: Api) -> None:
    [claim_id] = await api.nordwind.create()

    item = (await api.nordwind.post(f"/claims/{claim_id}/items", ITEM)).json()["result"]
    fee = {**FEE, "itemId": item["item"]["id"]}
    added = (await api.nordwind.post(f"/claims/{claim_id}/fees", fee)).json()["result"]

    claim = await read(api, claim_id)
    assert claim["items"][1:] == [item["item"], added["item"]]
    assert (added["claimId"], added["claimStatus"]) == (claim_id, claim["status"])
    for name in ("total", "outstanding", "overpaid"):
        assert added[name] == claim[name]
    assert claim["outstanding"] == "10990"
    assert claim["items"][2]["itemDate"] == "2026-03-02"
    assert await api.count("events") == 0


async def test_an_item_is_deleted_with_its_fees_once(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    item = (await api.nordwind.post(f"/claims/{claim_id}/items", ITEM)).json()["result"]["item"]
    body = {**FEE, "itemId": item["id"]}
    fee = (await api.nordwind.post(f"/claims/{claim_id}/fees", body)).json()["result"]["item"]

    gone = await delete(api, claim_id, item["id"])
    again = await delete(api, claim_id, item["id"])

    assert gone.status_code == 200
    assert gone.json()["result"] == {
        "deletedItemIds": [item["id"], fee["id"]],
        "claimId": claim_id,
        "claimStatus": "CREATED",
        "total": "10240",
        "outstanding": "10240",
        "overpaid": "0",
    }
    assert (again.status_code, again.json()["error"]["type"]) == (404, "NotFound")
    assert len((await read(api, claim_id))["items"]) == 1


@pytest.mark.parametrize(
    ("place", "body", "path"),
    [
        ("items", {**ITEM, "value": 500}, "/value"),
        ("items", {**ITEM, "value": "0"}, "/value"),
        ("items", {**ITEM, "dueDate": "2026-01-01"}, "/dueDate"),
        ("items", {**ITEM, "itemId": 1}, "/itemId"),
        ("fees", {**FEE, "type": "PRIMARY"}, "/type"),
        ("fees", {**FEE, "itemId": 999_999}, "/itemId"),
        ("fees", {**FEE, "itemId": 2**70}, "/itemId"),
        ("fees", {**FEE, "dueDate": "2026-03-01"}, "/dueDate"),
    ],
)
async def test_a_faulty_item_is_refused_and_nothing_is_stored(
    api: Api, place: str, body: dict[str, Any], path: str
) -> None:
    [claim_id] = await api.nordwind.create()

    answer = await api.nordwind.post(f"/claims/{claim_id}/{place}", body)

    assert answer.status_code == 422
    assert [each["path"] for each in answer.json()["error"]["details"]["errors"]] == [path]
    assert await api.count("items") == 1


async def test_refusals_say_what_stands_in_the_way(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    [item] = (await read(api, claim_id))["items"]
    last = await delete(api, claim_id, item["id"])
    payment = {"amount": 100, "currency": "EUR", "transactionId": "t-1"}
    await api.nordwind.post(f"/claims/{claim_id}/payments", payment)
    paid = await delete(api, claim_id, item["id"])
    await api.nordwind.post(f"/claims/{claim_id}/withdraw")
    ended = await api.nordwind.post(f"/claims/{claim_id}/fees", FEE)

    states = [each.json()["error"]["details"]["state"] for each in (last, paid, ended)]
    assert [each.status_code for each in (last, paid, ended)] == [409, 409, 409]
    assert states == ["LAST_PRIMARY", "PAID", "WITHDRAWN"]
    assert await api.count("items") == 1


async def test_a_fee_under_a_key_is_added_once(api: Api) -> None:
    [claim_id] = await api.nordwind.create()

    first = await api.nordwind.post(f"/claims/{claim_id}/fees", FEE, key="fee-1")
    again = await api.nordwind.post(f"/claims/{claim_id}/fees", FEE, key="fee-1")

    assert first.content == again.content
    assert await api.count("items") == 2


async def test_an_unknown_item_is_absent_whatever_its_id_looks_like(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    for given in ("4711", "abc", "-1", "0", "1" * 30):
        answer = await delete(api, claim_id, given)

        assert answer.status_code == 404
        assert answer.json()["error"]["message"] == f"There is no item {given}."
