"""Three merchants with one of everything: one that sends requests, its twin, and another merchant.

This module states what every position of every route contains. A new position has to be added here.
"""

from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import httpx
import msgspec
from starlette.applications import Starlette

from dunwell.accounts.merchants.configuration import Guards
from dunwell.contact.messages.suppression import suppress
from dunwell.core.claims.fields import FIELDS
from dunwell.core.events.webhooks.endpoint import NewEndpoint
from dunwell.core.events.webhooks.endpoints import add_endpoint
from dunwell.interfaces.api.catalogue import ENDPOINTS
from dunwell.interfaces.api.operation import Operation
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.api import Client, a_client
from tests.support.application import an_application, connect
from tests.support.claims import a_claim
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.disputes import dispute, give_evidence
from tests.support.files import a_pdf
from tests.support.harness import ERP, Harness, ScriptedChannel, a_harness
from tests.support.modalities import OFFERING, Arrangement

Things = dict[str, Any]

# Values that belong to one merchant, by the name of their position.
IDS = {
    ("path", "merchant_id"): "merchant_id",
    ("path", "claim_id"): "claim_id",
    ("path", "item_id"): "item_id",
    ("path", "payment_id"): "payment_id",
    ("path", "payout_id"): "payout_id",
    ("path", "payment_request_id"): "payment_request_id",
    ("path", "event_id"): "event_id",
    ("path", "modality_id"): "modality_id",
    ("path", "mandate_id"): "mandate_id",
    ("path", "dispute_id"): "dispute_id",
    ("path", "file_id"): "file_id",
    ("path", "attachment_id"): "attachment_id",
    ("path", "workflow_id"): "workflow_id",
    ("path", "scenario_id"): "scenario_id",
    ("path", "reference"): "reference",
    ("query", "claimId"): "claim_id",
    ("query", "referenceNumber"): "reference_number",
    ("query", "customerNumber"): "customer_number",
    ("query", "cursor"): "cursor",
    ("header", "Idempotency-Key"): "key",
    ("body", "/*"): "claim_id",
    ("body", "/*/claimId"): "claim_id",
    ("body", "/claimIds/*"): "claim_id",
    ("body", "/itemId"): "primary_item_id",
    ("body", "/source"): "ticket",
    ("body", "/*/attachments/*/source"): "ticket",
    ("body", "/endpointId"): "endpoint_id",
    ("body", "/transactionId"): "transaction_id",
    ("body", "/*/referenceNumber"): "reference_number",
    ("body", "/*/customerNumber"): "customer_number",
    ("body", "/customerNumber"): "customer_number",
}
# Names that a merchant chooses; two merchants may choose the same.
FREE = {"transaction_id", "reference_number", "customer_number", "key"}
# Positions that contain no name: facts, choices, instants, texts.
_PLAIN_FIELDS = """
addressLine2 advanceTo amount caseNumber city country currency debtorName dueDate effect endClaim
fileName
friendlyName itemDate message outcome paidAt postalCode providerName reason reference since
sourceType street type types until value
"""
# The debtor's contact details. Their numbers are checked separately.
_DEBTOR_FIELDS = {each.wire_name for each in FIELDS} - {"customerNumber", "referenceNumber"}
PLAIN = {
    "query": frozenset(
        (
            "account",
            "arrived",
            "byBank",
            "channel",
            "include",
            "kind",
            "limit",
            "needsReview",
            "overdue",
            "provider",
            "reason",
            "reversed",
            "search",
            "since",
            "stands",
            "state",
            "status",
            "stepId",
            "type",
            "until",
            "updatedSince",
        )
    ),
    "body": frozenset(_PLAIN_FIELDS.split()) | _DEBTOR_FIELDS,
}
ABSENT: Things = {
    "merchant_id": 2_000_000,
    "claim_id": 999_999,
    "item_id": 777_777,
    "primary_item_id": 777_777,
    "scenario_id": 888_888,
    "payment_id": "01955a1c-0c00-7e55-b1a4-0d6c1e1f2a33",
    "payout_id": "01955a5e-1c00-7b20-9c41-7d8e9f0a1b2c",
    "payment_request_id": "01955b44-0a10-7a1c-b2d3-e4f5061728a9",
    "event_id": "0195547b-2c80-7b1d-8e55-9f0a1b2c3d4e",
    "modality_id": "01955b00-7a10-7c44-9b1d-2e5f60718293",
    "mandate_id": "01955d01-3c00-7a20-9f10-b2c3d4e5f607",
    "dispute_id": "01955b2e-4c00-7a1f-8d3b-5a6978c0d1e2",
    "file_id": "01955c04-1180-7f02-a6de-31b2c3d4e5f7",
    "attachment_id": "01955c04-1180-7f02-a6de-31b2c3d4e5f6",
    "workflow_id": "0195547a-1f40-7c3e-9a41-6f1f0c2f9d11",
    "reference": "0195547b-2b11-7c9a-a0b1-c2d3e4f50617",
    "ticket": "0195547a-1f40-7c3e-9a41-6f1f0c2f9d12",
    "endpoint_id": "0195547a-1f40-7c3e-9a41-6f1f0c2f9d13",
    "reference_number": "nobody-1",
    "customer_number": "nobody-c",
    "transaction_id": "nobody-t",
    "key": "nobody-k",
    "cursor": "bm9ib2R5",
}
_CONFIGURATION = msgspec.structs.replace(
    OFFERING, guards=Guards(max_contacts_per_day=9, max_contacts_per_week=9)
)
_REMINDER = {**DOCUMENT["steps"][0], "send": "IMMEDIATE"}
_STEPS = [_REMINDER, {**_REMINDER, "id": 2}, {"id": 3, "name": "Wait", "kind": "WAIT", "days": 30}]
_REQUESTS = """
INSERT INTO payment_requests (merchant_id, request_id, claim_id, provider, provider_name,
                              amount_cents, currency, reference, state, created_at, settled_at)
SELECT $1, gen_random_uuid(), $2, 'sandbox', 'sandbox', 1, 'EUR', 'x', 'FAILED', now(), now()
FROM generate_series(1, 2)
RETURNING request_id
"""
# The payment becomes one that a provider received, with two refunds.
_REFUNDS = """
WITH paid AS (
    UPDATE payments SET request_id = $4 WHERE merchant_id = $1 AND payment_id = $3
), moved AS (
    INSERT INTO payment_movements (merchant_id, record_id, provider, movement_id, kind, claim_id,
                                   request_id, payment_id, amount_cents, currency, booked_cents,
                                   moved_at, recorded_at)
    SELECT $1, gen_random_uuid(), 'sandbox', 'm-' || n, 'PAID', $2, $4, $3, 1, 'EUR', 1, now(),
           now()
    FROM generate_series(1, 2) n
)
INSERT INTO payment_refunds (merchant_id, refund_id, claim_id, payment_id, request_id,
                             amount_cents, currency, effect, state, provider, actor_kind,
                             created_at)
SELECT $1, gen_random_uuid(), $2, $3, $4, 1, 'EUR', 'REOPEN', 'REFUSED', 'sandbox', 'SYSTEM', now()
FROM generate_series(1, 2)
RETURNING refund_id
"""
_PAYOUTS = """
INSERT INTO provider_payouts (merchant_id, record_id, provider, payout_id, amount_cents, fees_cents,
                     currency, paid_at, movements, recorded_at)
SELECT $1, gen_random_uuid(), 'sandbox', 'po-' || n, 1, 0, 'EUR', now(), '[["m-1", 1]]', now()
FROM generate_series(1, 2) n
RETURNING record_id
"""
# Two mandates of the same plan, of which the first has two collections.
_MANDATES = """
WITH given AS (
    INSERT INTO mandates (merchant_id, mandate_id, claim_id, modality_id, creditor_id, reference,
                          account_sealed, account_shown, text, language, signed_at, signed_on,
                          actor_kind, state, expires_on, ended_at, ended_reason)
    SELECT $1, gen_random_uuid(), $2, $3, 'DE98ZZZ09999999999', $2::bigint || '-' || n, '', 'DE',
           'x', 'en', now(), current_date, 'DEBTOR', 'REVOKED', current_date, now(), 'REVOKED'
    FROM generate_series(1, 2) n
    RETURNING mandate_id, reference
), planned AS (
    INSERT INTO debit_collections (merchant_id, collection_id, mandate_id, claim_id, modality_id,
                                   instalment, due_on, collected_on, amount_cents, currency, state,
                                   end_to_end_id, cancel_reason, changed_at)
    SELECT $1, gen_random_uuid(), mandate_id, $2, $3, n, current_date, current_date, 1, 'EUR',
           'CANCELLED', 'E' || n, 'MANDATE_ENDED', now()
    FROM given CROSS JOIN generate_series(1, 2) n
    WHERE reference LIKE '%-1'
)
SELECT mandate_id FROM given ORDER BY reference
"""
_TABLES = """
SELECT table_name FROM information_schema.columns
WHERE table_schema = 'public' AND column_name = 'merchant_id' AND table_name <> 'request_quotas'
ORDER BY table_name
"""


@dataclass
class MerchantSide:
    """A merchant, its client, and the ids of everything that it owns."""

    harness: Harness
    client: Client
    things: Things = field(default_factory=dict)

    async def send(self, operation: Operation, given: Things, body: Any) -> httpx.Response:
        """Send a request. `given` holds the ids of the path, and `query` and `key` if needed."""
        path = operation.path.format(**given)
        files = {"files": body} if operation.operation_id == "uploadFile" else {}
        sent = files or ({} if body is None else {"json": body})
        return await self.client.send(
            operation.method, path, key=given.get("key"), params=given.get("query"), **sent
        )


@dataclass
class IsolationData:
    app: Starlette
    own: MerchantSide
    twin: MerchantSide
    theirs: MerchantSide

    async def digest(self, merchant_side: MerchantSide) -> Things:
        return await digest_rows(merchant_side.harness)

    async def load_their_cursors(self) -> None:
        """Add a cursor of each of the other merchant's lists to its ids."""
        self.theirs.things["cursors"] = {
            name: cursor async for name, cursor in _load_cursors(self.theirs)
        }

    async def forget_keys(self) -> None:
        """Delete the idempotency keys of the own merchant and of its twin."""
        for merchant_side in (self.own, self.twin):
            await merchant_side.harness.rows("DELETE FROM idempotency_keys WHERE merchant_id = $1")


async def digest_rows(harness: Harness) -> Things:
    """Return the number and the digest of the merchant's rows in every table except request
    quotas."""
    merchant_id = harness.merchant.merchant_id
    async with harness.resources.database.connection() as connection:
        tables = [row["table_name"] for row in await connection.fetch(_TABLES)]
        rows = await connection.fetch(
            " UNION ALL ".join(
                f"SELECT '{each}' AS name, count(*) AS rows,"
                f" md5(string_agg(t::text, '' ORDER BY t::text)) AS digest"
                f" FROM {each} t WHERE merchant_id = $1"
                for each in tables
            ),
            merchant_id,
        )
    return {row["name"]: (row["rows"], row["digest"]) for row in rows}


async def create_isolation_data(
    closing: AsyncExitStack, resources: Resources, clock: MovableClock, *, is_switched: bool
) -> IsolationData:
    """Return sandbox merchants with scenarios, which are switched to workflows if asked for."""
    application, channels = an_application(resources), [ScriptedChannel()]
    application.channels[:] = channels
    http = await closing.enter_async_context(connect(application.app))
    merchant_sides = []
    for key in ("own", "twin", "theirs"):
        harness = await a_harness(
            resources, clock, a_definition(steps=_STEPS), key=key, channels=channels,
            configuration=_CONFIGURATION, sandbox=True, switched_to_workflows=False,
        )  # fmt: skip
        merchant_side = MerchantSide(harness, await a_client(http, harness))
        await _create(merchant_side, key)
        merchant_sides.append(merchant_side)
    await merchant_sides[0].harness.run()
    for merchant_side in merchant_sides:
        await _create_listed_objects(merchant_side)
        if is_switched:
            await merchant_side.harness.switch()
    return IsolationData(application.app, *merchant_sides)


async def _create(merchant_side: MerchantSide, key: str) -> None:
    """Create two claims, the first with two files, and the names that the merchant chooses."""
    client, things = merchant_side.client, merchant_side.things
    things |= {
        "merchant_id": client.merchant_id, "key": f"{key}-k", "reference_number": f"{key}-1",
        "customer_number": f"{key}-c", "transaction_id": f"{key}-t", "fresh": f"{key}-fresh",
    }  # fmt: skip
    tickets = [(await client.upload(name, a_pdf())).json()["result"]["ticketId"] for name in "ab"]
    things["ticket"] = tickets[0]
    attached = [{"sourceType": "TICKET", "source": each} for each in tickets]
    claim = a_claim(f"{key}-1", customerNumber=f"{key}-c", attachments=attached)
    answer = await client.post("/claims", [claim, a_claim(f"{key}-2")], key=things["key"])
    things["claim_id"] = answer.json()["result"][0]["id"]


async def _create_listed_objects(merchant_side: MerchantSide) -> None:
    """Create two of everything that is listed, so that each list has a cursor."""
    client, things, claim = (
        merchant_side.client,
        merchant_side.things,
        f"/claims/{merchant_side.things['claim_id']}",
    )
    payment = {"amount": 1, "currency": "EUR", "transactionId": things["transaction_id"]}
    paid = await client.post(f"{claim}/payments", payment)
    things["payment_id"] = paid.json()["result"]["id"]
    await client.post(f"{claim}/payments", {**payment, "transactionId": f"{payment} again"})
    # No part of the payment is booked on the fee, so the fee can be deleted.
    fee = await client.post(f"{claim}/fees", {"type": "DUNNING_FEE", "value": "250"})
    things["item_id"] = fee.json()["result"]["item"]["id"]
    things["primary_item_id"] = (await client.get(claim)).json()["result"]["items"][0]["id"]
    arrangement = Arrangement(merchant_side.harness, things["claim_id"])
    await arrangement.reject((await arrangement.ask()).modality_id)
    things["modality_id"] = str((await arrangement.ask()).modality_id)
    for _ in range(2):
        opened = await dispute(merchant_side.harness, things["claim_id"], actor=ERP)
        things["dispute_id"] = str(opened.dispute_id)
    things["file_id"] = str(await give_evidence(merchant_side.harness, opened))
    listed = (await client.get(f"{claim}/attachments")).json()["result"]["items"]
    things["attachment_id"] = listed[0]["id"]
    sent = (await client.get(f"{claim}/communications")).json()["result"]["items"]
    things["reference"] = sent[0]["reference"]
    things["workflow_id"] = (await client.get("/workflows-meta")).json()["result"][0]["id"]
    raised = (await client.get("/events")).json()["result"]["items"]
    things["event_id"] = raised[0]["eventId"]
    things["scenario_id"] = (await client.get("/scenarios")).json()["result"][0]["id"]
    await _create_objects_of_lists(merchant_side)


async def _create_objects_of_lists(merchant_side: MerchantSide) -> None:
    """Create the objects that are listed only across all claims."""
    keys = merchant_side.harness.resources.keys
    requests = await merchant_side.harness.rows(_REQUESTS, merchant_side.things["claim_id"])
    request_id = requests[0]["request_id"]
    merchant_side.things["payment_request_id"] = str(request_id)
    claim_id, payment_id = merchant_side.things["claim_id"], merchant_side.things["payment_id"]
    await merchant_side.harness.rows(_REFUNDS, claim_id, payment_id, request_id)
    [payout, _] = await merchant_side.harness.rows(_PAYOUTS)
    merchant_side.things["payout_id"] = str(payout["record_id"])
    mandates = await merchant_side.harness.rows(
        _MANDATES, claim_id, UUID(merchant_side.things["modality_id"])
    )
    merchant_side.things["mandate_id"] = str(mandates[0]["mandate_id"])
    async with merchant_side.harness.work() as work:
        for name in "ab":
            await suppress(work, keys, "EMAIL", f"{name}@example.org", "MERCHANT")
            wanted = NewEndpoint(f"http://127.0.0.1:9/{name}", ("*",), None)
            added = await add_endpoint(work, keys, wanted, is_development=True)
    merchant_side.things["endpoint_id"] = str(added.endpoint_id)


async def _load_cursors(merchant_side: MerchantSide) -> Any:
    for operation in _lists():
        answer = await merchant_side.send(
            operation, {**merchant_side.things, "key": None, "query": {"limit": 1}}, None
        )
        cursor = answer.json()["result"]["nextCursor"]
        assert cursor is not None, operation.operation_id
        yield operation.operation_id, cursor


def _lists() -> Iterator[Operation]:
    for endpoint in ENDPOINTS:
        if any(each.name == "cursor" for each in endpoint.operation.parameters):
            yield endpoint.operation


def valid_body(operation: Operation, things: Things) -> Any:
    """Return a valid body that contains the merchant's ids."""
    ticket = {"sourceType": "TICKET", "source": things["ticket"]}
    fresh = things["fresh"]
    bodies: dict[str, Any] = {
        "uploadFile": {"friendlyName": (None, "A"), "fileName": ("a.pdf", a_pdf())},
        "createClaims": [a_claim(fresh, attachments=[ticket])],
        "changeClaim": {"email": "new@example.org"},
        "addFee": {"type": "DUNNING_FEE", "value": "250", "itemId": things["primary_item_id"]},
        "addItem": {"reference": "x", "type": "PRIMARY", "value": "1"},
        "recordPayment": {"amount": 1, "currency": "EUR", "transactionId": fresh},
        "refundPayment": {"amount": 1, "effect": "REOPEN"},
        "attachFile": ticket,
        "replaceAttachment": ticket,
        "openDispute": {"type": "DEFECTIVE"},
        "resolveDispute": {"outcome": "ACCEPTED"},
        "assignToWorkflow": {"claimIds": [things["claim_id"]]},
        "assignToScenario": {"claimIds": [things["claim_id"]]},
        "replayEvents": {"since": "2026-03-01T00:00:00Z", "endpointId": things["endpoint_id"]},
        "advanceTestClock": {"advanceTo": "2026-03-03T09:00:00Z"},
    }
    return bodies.get(operation.operation_id)
