"""Almost valid claims are created completely or not at all."""

import copy
import json
from typing import Any

import httpx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.api import Api
from tests.support.claims import a_claim

_STORED = (
    "SELECT count(*) FROM claims UNION ALL SELECT count(*) FROM items UNION ALL "
    "SELECT count(*) FROM events"
)
_HOSTILE_TEXTS = [
    "", " ", "\x00", "a\u0000b", "\n", "\ud800", "\u202e", "0", "-1", "1e3", "10240.00", "01",
    "9" * 12, "9" * 13, "2026-02-30", "0001-01-01", "9999-12-31", "2026-03-02T09:00:00Z",
    "x" * 255, "x" * 256, "'; DROP TABLE claims; --", "<script>", "{{ claim.id }}", "EUR", "eur",
    "XXX", "PRIMARY", "TICKET", "+4915112345678", "erika@example.org", "DE", "de",
]  # fmt: skip
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(_HOSTILE_TEXTS)
    | st.text(max_size=20)
)
_JSON = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)
_FIELDS = (
    "referenceNumber", "currency", "items", "debtorName", "debtorLastName", "companyName", "email",
    "mobileNumber", "customerNumber", "contractNumber", "language", "dateOfBirth", "address",
    "customFields", "maxDeferralDate", "attachments",
)  # fmt: skip
_ITEM_FIELDS = ("reference", "type", "value", "itemDate", "dueDate", "id")
_OPTIONAL_FIELDS: dict[str, Any] = {
    "companyName": "Mustermann KG",
    "mobileNumber": "+4915112345678",
    "customerNumber": "C-7001",
    "contractNumber": "V-12",
    "language": "de",
    "dateOfBirth": "1980-05-17",
    "address": {"street": "Am Markt 1", "postalCode": "20095", "city": "Hamburg", "country": "DE"},
    "customFields": {"shop": "Altona"},
    "maxDeferralDate": "2026-12-31",
}


@st.composite
def almost_valid_claims(draw: st.DrawFn) -> Any:
    """A valid claim with up to three fields changed, removed or added, or any JSON value."""
    if draw(st.integers(0, 9)) == 0:
        return draw(_JSON)
    chosen = draw(st.sets(st.sampled_from(sorted(_OPTIONAL_FIELDS))))
    reference = draw(st.sampled_from(["INV-1", "INV-2", "INV-3"]))
    claim: Any = a_claim(
        reference, **{name: copy.deepcopy(_OPTIONAL_FIELDS[name]) for name in chosen}
    )
    for _ in range(draw(st.integers(0, 3))):
        part = draw(st.sampled_from(["claim", "claim", "item", "address"]))
        items = claim.get("items")
        if part == "item" and isinstance(items, list) and items and isinstance(items[0], dict):
            items[0][draw(st.sampled_from(_ITEM_FIELDS))] = draw(_JSON)
        elif part == "address":
            claim["address"] = {"street": draw(_SCALARS), "city": draw(_SCALARS)}
        elif draw(st.booleans()):
            claim.pop(draw(st.sampled_from(_FIELDS)), None)
        else:
            claim[draw(st.sampled_from((*_FIELDS, "refrenceNumber")))] = draw(_JSON)
    return claim


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(almost_valid_claims(), min_size=1, max_size=4))
async def test_an_almost_valid_claim_is_stored_completely_or_not_at_all(
    api: Api, claims: list[Any]
) -> None:
    await delete_claims(api)
    # Lone surrogates and NaN are sent unchanged, because invalid JSON is part of the test.
    body = json.dumps(claims).encode()

    answer = await api.nordwind.post(
        "/claims", content=body, headers={"Content-Type": "application/json"}
    )

    assert answer.status_code in (200, 400, 422), answer.text
    if answer.status_code != 200:
        assert await count_rows(api) == [0, 0, 0]
        return
    results = answer.json()["result"]
    assert len(results) == len(claims)
    created = [
        (each["id"], claim) for each, claim in zip(results, claims, strict=True) if each["id"]
    ]
    assert all(each["error"] for each in results if each["id"] is None)
    for claim_id, claim in created:
        check_stored(await api.nordwind.get(f"/claims/{claim_id}"), claim)
    counts = await count_rows(api)
    assert counts[:2] == [len(created), sum(len(claim["items"]) for _, claim in created)]


def check_stored(answer: httpx.Response, claim: dict[str, Any]) -> None:
    """Check that each stored field equals the submitted one. Others are null or absent."""
    stored = answer.json()["result"]
    for name in set(_FIELDS) - {"items", "attachments", "address"}:
        assert (stored.get(name) or None) == (claim.get(name) or None), name
    given_address = {k: v for k, v in (claim.get("address") or {}).items() if v}
    stored_address = {k: v for k, v in (stored.get("address") or {}).items() if v}
    assert stored_address == given_address
    assert [
        {name: value for name, value in item.items() if name in _ITEM_FIELDS[:5] and value}
        for item in stored["items"]
    ] == [{name: value for name, value in item.items() if value} for item in claim["items"]]
    assert stored["total"] == str(sum(int(item["value"]) for item in claim["items"]))
    assert stored["outstanding"] == stored["total"]


async def delete_claims(api: Api) -> None:
    async with api.resources.database.connection() as connection:
        await connection.execute("TRUNCATE claims, events CASCADE")


async def count_rows(api: Api) -> list[int]:
    async with api.resources.database.connection() as connection:
        return [row[0] for row in await connection.fetch(_STORED)]
