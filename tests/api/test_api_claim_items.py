"""Items and fees of a claim."""

from typing import Any

from tests.support.api import Api

ITEM = {"reference": "INV-2", "type": "PRIMARY", "value": "500", "itemDate": "2026-02-01"}
FEE = {"type": "COLLECTION_FEE", "value": "250"}


async def read(api: Api, claim_id: int) -> dict[str, Any]:
    result: dict[str, Any] = (await api.nordwind.get(f"/claims/{claim_id}")).json()["result"]
    return result


async def delete(api: Api, claim_id: int, item_id: object) -> Any:
    path = f"/merchants/{api.nordwind.merchant_id}/claims/{claim_id}/items/{item_id}"
    return await api.nordwind.send("DELETE", path)


async def test_an_added_item_is_returned_as_the_claim_shows_it(api: Api) -> None:
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


async def test_an_item_is_deleted_once_with_its_fees(api: Api) -> None:
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


async def test_a_refusal_names_the_state_that_prevents_the_change(api: Api) -> None:
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
