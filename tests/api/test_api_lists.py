"""The lists across all claims: filters, pages and the content of an entry."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from dunwell.cases.payments.reversals import reverse_payment
from dunwell.contact.messages.suppression import suppress
from dunwell.core.events.webhooks.endpoint import NewEndpoint
from dunwell.core.events.webhooks.endpoints import add_endpoint
from dunwell.platform.clock import MovableClock
from tests.support.api import Api
from tests.support.disputes import dispute
from tests.support.harness import ERP

_TRIES = """
WITH event AS (
    INSERT INTO events (merchant_id, event_id, claim_id, sequence, type, occurred_at, body)
    VALUES ($1, gen_random_uuid(), $2, 900, 'ESCALATED', now(), '{}')
    RETURNING event_id
), delivery AS (
    INSERT INTO deliveries (merchant_id, endpoint_id, event_id, due_at, attempts)
    SELECT $1, endpoint_id, event_id, now(), 4 FROM webhook_endpoints, event
    WHERE merchant_id = $1
    RETURNING endpoint_id, event_id
)
INSERT INTO delivery_attempts (merchant_id, endpoint_id, event_id, attempt, at, duration_ms, status)
SELECT $1, endpoint_id, event_id, n, timestamptz '2026-03-02T09:00:00Z' + n * interval '1 minute',
       1, CASE WHEN n = 2 THEN 200 WHEN n > 2 THEN 500 END
FROM delivery, generate_series(1, 4) n
RETURNING attempt
"""
_FAILING = """
UPDATE webhook_endpoints SET first_failure_at = '2026-03-02T09:03:00Z'
WHERE merchant_id = $1 RETURNING endpoint_id
"""


async def make_modality(api: Api, claim_id: int) -> None:
    await api.harness.rows(
        "INSERT INTO payment_modalities (merchant_id, modality_id, claim_id, type, amount_cents,"
        " paid_before_cents, deferred_until, requested_at, actor_kind) VALUES ($1,"
        " gen_random_uuid(), $2, 'PAYMENT_DEFEREMENT', 1, 0, '2026-04-01', $3, 'DEBTOR')"
        " RETURNING 1", claim_id, api.harness.clock.now()
    )  # fmt: skip


async def make_mandate(api: Api, claim_id: int) -> UUID:
    mandate_id, _ = await _insert_mandate(api, claim_id)
    return mandate_id


async def make_collection(api: Api, claim_id: int) -> None:
    mandate_id, modality_id = await _insert_mandate(api, claim_id)
    await api.harness.rows(
        "INSERT INTO instalments (merchant_id, modality_id, number, due_on, amount_cents)"
        " VALUES ($1, $2, 1, '2026-04-01', 1) RETURNING 1", modality_id
    )  # fmt: skip
    await api.harness.rows(
        "INSERT INTO debit_collections (merchant_id, collection_id, mandate_id, claim_id,"
        " modality_id, instalment, due_on, collected_on, amount_cents, currency, state,"
        " end_to_end_id, cancel_reason, changed_at) VALUES ($1, gen_random_uuid(), $2, $3, $4, 1,"
        " '2026-04-01', '2026-04-01', 1, 'EUR', 'CANCELLED', gen_random_uuid()::text, 'PAID', $5)"
        " RETURNING 1", mandate_id, claim_id, modality_id, api.harness.clock.now()
    )  # fmt: skip


async def _insert_mandate(api: Api, claim_id: int) -> tuple[UUID, UUID]:
    """Return the id of a revoked mandate, and that of its modality."""
    await make_modality(api, claim_id)
    [row] = await api.harness.rows(
        "INSERT INTO mandates (merchant_id, mandate_id, claim_id, modality_id, creditor_id,"
        " reference, account_sealed, account_shown, text, language, signed_at, signed_on,"
        " actor_kind, state, expires_on, ended_at, ended_reason)"
        " SELECT $1, gen_random_uuid(), $2, modality_id, 'X', left(modality_id::text, 35), '',"
        " 'DE', 'x', 'en', $3, '2026-03-02', 'DEBTOR', 'REVOKED', '2029-03-02', $3, 'REVOKED'"
        " FROM payment_modalities WHERE merchant_id = $1 AND claim_id = $2"
        " ORDER BY modality_id DESC LIMIT 1 RETURNING mandate_id, modality_id",
        claim_id, api.harness.clock.now(),
    )  # fmt: skip
    return row["mandate_id"], row["modality_id"]


async def make_payment(api: Api, claim_id: int) -> None:
    await api.harness.pay(claim_id, 100)


async def make_movement(api: Api, claim_id: int) -> None:
    recorded = await api.harness.pay(claim_id, 100)
    async with api.harness.work() as work:
        await reverse_payment(work, claim_id, recorded.payment.payment_id)


async def make_payout(api: Api, claim_id: int) -> None:
    await api.harness.rows(
        "INSERT INTO provider_payouts (merchant_id, record_id, provider, payout_id, amount_cents,"
        " fees_cents, currency, paid_at, recorded_at) VALUES ($1, gen_random_uuid(), 'stripe',"
        " 'po-' || $2::bigint, $2, 0, 'EUR', $3, $3) RETURNING 1",
        claim_id, api.harness.clock.now(),
    )  # fmt: skip


async def make_request(api: Api, claim_id: int) -> None:
    await api.harness.rows(
        "INSERT INTO payment_requests (merchant_id, request_id, claim_id, provider, provider_name,"
        " amount_cents, currency, reference, state, created_at, settled_at)"
        " VALUES ($1, gen_random_uuid(), $2, 'sandbox', 'sandbox', 1, 'EUR', 'x', 'FAILED', $3, $3)"
        " RETURNING 1",
        claim_id, api.harness.clock.now(),
    )  # fmt: skip


async def make_communication(api: Api, claim_id: int) -> None:
    await api.harness.rows(
        "INSERT INTO communications (merchant_id, communication_id, claim_id, run, step_id, place,"
        " channel, state, not_before, planned_at) VALUES ($1, gen_random_uuid(), $2, 7, 1, 0,"
        " 'EMAIL', 'UNKNOWN', $3, $3) RETURNING 1", claim_id, api.harness.clock.now()
    )  # fmt: skip


async def make_dispute(api: Api, claim_id: int) -> None:
    await dispute(api.harness, claim_id, actor=ERP)


async def make_suppression(api: Api, claim_id: int) -> None:
    async with api.harness.work() as work:
        address = f"{claim_id}@example.org"
        await suppress(work, api.harness.resources.keys, "EMAIL", address, "MERCHANT")


async def make_endpoint(api: Api, claim_id: int) -> None:
    async with api.harness.work() as work:
        wanted = NewEndpoint(f"http://127.0.0.1:9/{claim_id}", ("*",), None)
        await add_endpoint(work, api.harness.resources.keys, wanted, is_development=True)


Make = Callable[[Api, int], Awaitable[object]]
# How to create an entry, a filter that all entries match, a filter that none matches, and the field
# that identifies an entry.
LISTS: dict[str, tuple[Make, dict[str, str], dict[str, str], str]] = {
    "payment-modalities": (
        make_modality, {"state": "REQUESTED", "stands": "true"}, {"state": "APPROVED"}, "claimId",
    ),
    "mandates": (make_mandate, {"state": "REVOKED"}, {"state": "ACTIVE"}, "claimId"),
    "collections": (make_collection, {"state": "CANCELLED"}, {"state": "PLANNED"}, "claimId"),
    "payments": (make_payment, {"reversed": "false"}, {"provider": "nobody"}, "claimId"),
    "movements": (
        make_movement, {"kind": "REVERSED", "needsReview": "false"}, {"account": "stripe"},
        "claimId",
    ),
    "payouts": (
        make_payout, {"account": "stripe", "arrived": "false"}, {"arrived": "true"}, "amount",
    ),
    "payment-requests": (
        make_request, {"state": "FAILED", "provider": "sandbox"}, {"state": "PENDING"}, "claimId",
    ),
    "communications": (
        make_communication, {"state": "UNKNOWN", "channel": "EMAIL", "stepId": "1"},
        {"state": "FAILED"}, "claimId",
    ),
    "disputes": (
        make_dispute, {"state": "OPEN", "overdue": "false"}, {"state": "REJECTED"}, "claimId",
    ),
    "suppressions": (
        make_suppression, {"channel": "EMAIL", "reason": "MERCHANT"}, {"channel": "SMS"},
        "maskedAddress",
    ),
    "webhook-endpoints": (make_endpoint, {"state": "WORKING"}, {"state": "FAILING"}, "url"),
}  # fmt: skip


async def find(api: Api, name: str, **params: Any) -> Any:
    answer = await api.nordwind.get(f"/{name}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]


async def read_all(api: Api, name: str, **params: Any) -> list[Any]:
    seen: list[Any] = []
    while True:
        page = await find(api, name, **params)
        assert len(page["items"]) <= params.get("limit", 50)
        seen += [each[LISTS[name][3]] for each in page["items"]]
        if page["nextCursor"] is None:
            return seen
        params["cursor"] = page["nextCursor"]


@pytest.mark.parametrize("name", LISTS)
async def test_pages_contain_every_entry_once_newest_first(
    api: Api, clock: MovableClock, name: str
) -> None:
    make, all_meet, none_meets, _ = LISTS[name]
    claims = await api.nordwind.create(*(f"A-{n}" for n in range(5)))
    for claim_id in claims:
        await make(api, claim_id)
    whole = await read_all(api, name)
    assert len(whole) == 5
    if LISTS[name][3] == "claimId":
        assert whole == claims[::-1]
    for limit in (1, 2, 5):
        assert await read_all(api, name, limit=limit) == whole
        assert await read_all(api, name, limit=limit, **all_meet) == whole
    assert await find(api, name, **none_meets) == {"items": [], "nextCursor": None}
    if name in ("disputes", "collections"):  # They have no filter by time.
        return
    now, later = clock.now().isoformat(), (clock.now() + timedelta(seconds=1)).isoformat()
    assert await read_all(api, name, since=now, until=later, limit=2) == whole
    assert await read_all(api, name, since=later) == []
    assert await read_all(api, name, until=now) == []


@pytest.mark.parametrize("name", LISTS)
async def test_entries_after_a_running_transaction_are_not_listed_yet(api: Api, name: str) -> None:
    make = LISTS[name][0]
    first, second = await api.nordwind.create("A-1", "A-2")
    async with api.harness.work(ERP) as work:
        await work.tx.execute("SELECT pg_current_xact_id()")
        await make(api, first)
        assert await read_all(api, name) == []
    assert len(await read_all(api, name)) == 1
    await make(api, second)
    assert len(await read_all(api, name)) == 2


@pytest.mark.parametrize("name", LISTS)
async def test_invalid_filters_and_cursors_are_refused(api: Api, name: str) -> None:
    others = (await find(api, "claims"))["nextCursor"] or "Y2xtMQ"
    for params in ({"state": "LOST"}, {"since": "soon"}, {"cursor": others}, {"claim": "1"}):
        answer = await api.nordwind.get(f"/{name}", params=params)
        assert answer.status_code == 422, params


async def test_communications_with_an_unknown_outcome_are_found(
    api: Api,
) -> None:
    [claim_id] = await api.nordwind.create()
    await api.harness.run()
    await make_communication(api, claim_id)
    [sent, unknown] = (await api.nordwind.get(f"/claims/{claim_id}/communications")).json()[
        "result"
    ]["items"]
    found = (await find(api, "communications", state="UNKNOWN"))["items"]
    assert found == [{**(unknown if unknown["state"] == "UNKNOWN" else sent),
                      "referenceNumber": "INV-1001"}]  # fmt: skip
    [accepted] = (await find(api, "communications", state="ACCEPTED"))["items"]
    assert accepted["text"] is not None


async def test_an_endpoint_shows_its_health(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    await make_endpoint(api, claim_id)
    await api.harness.rows(_TRIES, claim_id)
    [well] = (await find(api, "webhook-endpoints"))["items"]
    assert (well["state"], well["failures"], well["waitingDeliveries"]) == ("WORKING", 0, 1)
    assert well["failingSince"] is None
    await api.harness.rows(_FAILING)
    [failing] = (await find(api, "webhook-endpoints", state="FAILING"))["items"]
    assert {name: failing[name] for name in ("state", "since", "failingSince", "failures",
                                             "lastSuccessAt", "lastTryAt", "events", "reason")} == {
        "state": "FAILING", "since": "2026-03-02T09:03:00.000Z",
        "failingSince": "2026-03-02T09:03:00.000Z", "failures": 2,
        "lastSuccessAt": "2026-03-02T09:02:00.000Z", "lastTryAt": "2026-03-02T09:04:00.000Z",
        "events": ["*"], "reason": None,
    }  # fmt: skip
    assert "secret" not in str(failing)
