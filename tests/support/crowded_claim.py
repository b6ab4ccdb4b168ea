"""A merchant with many rows in every table, around one claim."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from tests.support.api import Api
from tests.support.files import a_pdf

# The history of one claim: `size` rows of each kind, and the maximum number of attachments.
PARTS = """
INSERT INTO items (merchant_id, claim_id, position, type, value_cents, reference)
SELECT {merchant_id}, {claim_id}, 10 + n, 'PRIMARY', 100, 'more ' || n
FROM generate_series(1, {size}) n;

INSERT INTO payments (merchant_id, payment_id, claim_id, amount_cents, currency, transaction_id,
                      paid_at, recorded_at)
SELECT {merchant_id}, gen_random_uuid(), {claim_id}, 1, 'EUR', 'bulk ' || n, '{now}', '{now}'
FROM generate_series(1, {size}) n;

INSERT INTO allocations (merchant_id, claim_id, payment_id, item_id, amount_cents)
SELECT p.merchant_id, p.claim_id, p.payment_id, i.item_id, 1
FROM payments p
JOIN items i ON i.merchant_id = p.merchant_id AND i.claim_id = p.claim_id AND i.position = 11
WHERE p.merchant_id = {merchant_id} AND p.claim_id = {claim_id};

INSERT INTO payment_movements (merchant_id, record_id, provider, movement_id, kind, claim_id,
                               payment_id, amount_cents, currency, booked_cents, moved_at,
                               recorded_at)
SELECT merchant_id, gen_random_uuid(), 'bank:giro', 'bulk ' || payment_id, 'PAID', claim_id,
       payment_id, 1, 'EUR', 1, paid_at, recorded_at
FROM payments
WHERE merchant_id = {merchant_id} AND claim_id = {claim_id};

WITH asked AS (
    INSERT INTO payment_requests (merchant_id, request_id, claim_id, provider, provider_name,
                                  amount_cents, currency, reference, state, created_at, settled_at)
    VALUES ({merchant_id}, gen_random_uuid(), {claim_id}, 'sandbox', 'sandbox', 1, 'EUR', 'x',
            'FAILED', '{now}', '{now}')
    RETURNING merchant_id, request_id
)
INSERT INTO payment_refunds (merchant_id, refund_id, claim_id, payment_id, request_id,
                             amount_cents, currency, effect, state, provider, actor_kind,
                             created_at)
SELECT p.merchant_id, gen_random_uuid(), p.claim_id, p.payment_id, asked.request_id, 1, 'EUR',
       'REOPEN', 'REFUSED', 'sandbox', 'CREDENTIAL', '{now}'
FROM payments p, asked
WHERE p.merchant_id = {merchant_id} AND p.claim_id = {claim_id};

INSERT INTO holds (merchant_id, claim_id, hold_id, kind, since, lifted_at, actor_kind)
SELECT {merchant_id}, {claim_id}, gen_random_uuid(), 'PAUSE', '{now}', '{now}', 'CREDENTIAL'
FROM generate_series(1, {size}) n;

INSERT INTO disputes (merchant_id, dispute_id, claim_id, type, state, hold_id, actor_kind,
                      opened_at, resolved_at)
SELECT {merchant_id}, gen_random_uuid(), {claim_id}, 'DEFECTIVE', 'WITHDRAWN', gen_random_uuid(),
       'DEBTOR', timestamptz '{now}' - n * interval '1 minute', '{now}'
FROM generate_series(1, {size}) n;

INSERT INTO payment_modalities (merchant_id, modality_id, claim_id, type, state, amount_cents,
                                paid_before_cents, deferred_until, requested_at, actor_kind,
                                answered_at, ended_at, ended_reason)
SELECT {merchant_id}, gen_random_uuid(), {claim_id}, 'PAYMENT_DEFEREMENT', 'REJECTED', 100, 0,
       '2026-03-20', timestamptz '{now}' - n * interval '40 days', 'DEBTOR', '{now}', '{now}',
       'REJECTED'
FROM generate_series(1, {size}) n;

WITH chosen AS (
    SELECT modality_id
    FROM payment_modalities m
    WHERE merchant_id = {merchant_id} AND claim_id = {claim_id}
      AND NOT EXISTS (
          SELECT FROM instalments i
          WHERE i.merchant_id = {merchant_id} AND i.modality_id = m.modality_id)
    ORDER BY modality_id
    LIMIT 1
), due AS (
    INSERT INTO instalments (merchant_id, modality_id, number, due_on, amount_cents)
    SELECT {merchant_id}, modality_id, n, '2026-03-20', 1
    FROM chosen CROSS JOIN generate_series(1, {size}) n
), given AS (
    INSERT INTO mandates (merchant_id, mandate_id, claim_id, modality_id, creditor_id, reference,
                          account_sealed, account_shown, text, language, signed_at, signed_on,
                          actor_kind, state, expires_on, ended_at, ended_reason)
    SELECT {merchant_id}, gen_random_uuid(), {claim_id}, modality_id, 'X',
           {claim_id} || '-' || to_char(n, 'FM00000'), '', 'DE', 'x', 'en', '{now}', '2026-03-02',
           'DEBTOR', 'REVOKED', '2029-03-02', '{now}', 'REVOKED'
    FROM chosen CROSS JOIN generate_series(1, {size}) n
    RETURNING mandate_id, modality_id, reference
)
INSERT INTO debit_collections (merchant_id, collection_id, mandate_id, claim_id, modality_id,
                               instalment, due_on, collected_on, amount_cents, currency, state,
                               end_to_end_id, cancel_reason, changed_at)
SELECT {merchant_id}, gen_random_uuid(), mandate_id, {claim_id}, modality_id, n, '2026-03-20',
       '2026-03-20', 1, 'EUR', 'CANCELLED', gen_random_uuid()::text, 'MANDATE_ENDED', '{now}'
FROM given CROSS JOIN generate_series(1, {size}) n
WHERE reference = {claim_id} || '-00001';

WITH sent AS (
    INSERT INTO communications (merchant_id, communication_id, claim_id, run, step_id, place,
                                channel, state, not_before, planned_at, settled_at)
    SELECT {merchant_id}, gen_random_uuid(), {claim_id}, 0, n, 0, 'EMAIL', 'ACCEPTED',
           '{now}', timestamptz '{now}' - n * interval '1 minute', '{now}'
    FROM generate_series(1, {size}) n
    RETURNING merchant_id, communication_id
)
INSERT INTO communication_contents (merchant_id, communication_id, recipient, language, body_text)
SELECT merchant_id, communication_id, 'e@example.org', 'de', 'text'
FROM sent;

INSERT INTO events (merchant_id, event_id, claim_id, sequence, type, occurred_at, body)
SELECT merchant_id, gen_random_uuid(), claim_id, 1000 + n, type, occurred_at, body
FROM events, generate_series(1, {size}) n
WHERE merchant_id = {merchant_id} AND claim_id = {claim_id} AND sequence = 1;

INSERT INTO attachments (merchant_id, claim_id, attachment_id, ticket_id, position, created_at)
SELECT {merchant_id}, {claim_id}, gen_random_uuid(), '{ticket_id}', 10 + n,
       timestamptz '{now}' - n * interval '1 minute'
FROM generate_series(1, least({size}, 18)) n
"""
# Other rows of the merchant: published workflows, scenarios if the merchant has any, endpoints.
_SURROUNDINGS = """
WITH model AS (
    SELECT * FROM workflow_versions WHERE merchant_id = {merchant_id} LIMIT 1
), made AS (
    INSERT INTO workflows (merchant_id, workflow_id, name, created_at)
    SELECT {merchant_id}, gen_random_uuid(), 'Bulk ' || gen_random_uuid(), '{now}'
    FROM generate_series(1, {size}) n
    RETURNING workflow_id
), scenarios AS (
    INSERT INTO scenarios (merchant_id, workflow_id, reserved_version_id, created_at)
    SELECT {merchant_id}, made.workflow_id, gen_random_uuid(), '{now}'
    FROM made, model
    WHERE model.state = 'SCENARIO'
)
INSERT INTO workflow_versions (merchant_id, version_id, workflow_id, state, major, minor,
                               definition, created_at, published_at)
SELECT {merchant_id}, gen_random_uuid(), made.workflow_id, state, major, minor, definition,
       created_at, published_at
FROM made, model;

INSERT INTO webhook_endpoints (merchant_id, endpoint_id, url, types, secret_sealed, created_at)
SELECT {merchant_id}, gen_random_uuid(), 'https://hooks.example.org/' || gen_random_uuid(),
       '{{*}}', '', '{now}'
FROM generate_series(1, {size}) n
"""


@dataclass(frozen=True, slots=True)
class CrowdedClaim:
    """Claims, of which the first has `size` rows of every kind, and the ticket of an upload."""

    size: int
    claim_ids: list[int]
    ticket_id: str

    @property
    def claim_id(self) -> int:
        return self.claim_ids[0]

    @property
    def ticket(self) -> dict[str, Any]:
        return {"sourceType": "TICKET", "source": self.ticket_id}


async def a_crowded_claim(api: Api, size: int) -> CrowdedClaim:
    """Create `size` claims of Nordwind in process, the first with `size` rows of every kind, and
    `size` workflows and endpoints."""
    uploaded = await api.nordwind.upload("a.pdf", a_pdf())
    ticket_id = uploaded.json()["result"]["ticketId"]
    claim_ids = await api.nordwind.create(*(f"{ticket_id}-{n}" for n in range(size)))
    await api.harness.run()
    given = {
        "merchant_id": api.nordwind.merchant_id, "claim_id": claim_ids[0], "size": size,
        "ticket_id": ticket_id, "now": api.resources.clock.now(),
    }  # fmt: skip
    async with api.resources.database.connection() as connection:
        await connection.execute(PARTS.format(**given))
        await connection.execute(_SURROUNDINGS.format(**given))
    return CrowdedClaim(size, claim_ids, ticket_id)


async def find_id(api: Api, statement: str, claim_id: int) -> UUID | int:
    """Return the id that the statement finds. $1 is the merchant Nordwind and $2 the claim."""
    [row] = await api.harness.rows(statement, claim_id)
    found: UUID | int = row[0]
    return found
