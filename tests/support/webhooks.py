"""Endpoints, events and deliveries for tests, without the process that creates events."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import COMMAND_LINE
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.core.events.body import EventActionStep
from dunwell.core.events.event_log import save_events
from dunwell.core.events.payloads import (
    Event,
    EventHead,
    EventReturnData,
    checkpoint_reached,
    payment_refunded,
)
from dunwell.core.events.webhooks.endpoint import NewEndpoint, NewEndpointSecret
from dunwell.core.events.webhooks.endpoints import add_endpoint
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.resources import Resources
from tests.support.merchants import a_merchant

_CLAIM = """
INSERT INTO claims (merchant_id, reference_number, currency, created_at, updated_at)
VALUES ($1, $2, 'EUR', $3, $3)
RETURNING claim_id
"""
A_RETURN = EventReturnData(
    payment_id=UUID(int=5),
    provider_name="sandbox",
    transaction_id="tx-1",
    request_id=None,
    movement_id="re-1",
    amount_cents=240,
    currency="EUR",
)


@dataclass
class Outbox:
    """A merchant whose events a test creates directly."""

    resources: Resources
    merchant: Merchant
    claim_id: int
    raised: int = 0

    @property
    def now(self) -> datetime:
        return self.resources.clock.now()

    def work(self, tx: Connection) -> Work:
        return Work.open(self.resources, tx, self.merchant, COMMAND_LINE)

    def build(self, count: int = 1) -> list[Event]:
        events = []
        for _ in range(count):
            self.raised += 1
            head = EventHead(
                self.resources.ids.new(self.now), self.merchant.merchant_id, self.claim_id,
                self.raised, self.now, "INV-1001",
            )  # fmt: skip
            events.append(
                checkpoint_reached(head, EventActionStep(4, "Ask the ERP"), 14, "Grüße, €")
            )
        return events

    def build_addition(self) -> Event:
        """Return an event of an additional type."""
        head = EventHead(
            self.resources.ids.new(self.now), self.merchant.merchant_id, self.claim_id, None,
            self.now, "INV-1001",
        )  # fmt: skip
        return payment_refunded(head, A_RETURN, "REFUNDED", None)

    async def raise_addition(self) -> Event:
        event = self.build_addition()
        async with self.resources.database.transaction() as tx:
            await save_events(tx, self.merchant.merchant_id, [event], self.now)
        return event

    async def raise_events(self, count: int = 1) -> list[Event]:
        events = self.build(count)
        async with self.resources.database.transaction() as tx:
            await save_events(tx, self.merchant.merchant_id, events, self.now)
        return events

    async def add_endpoint(
        self, url: str, types: tuple[str, ...] = ("*",), authorization: str | None = None
    ) -> NewEndpointSecret:
        async with self.resources.database.transaction() as tx:
            wanted = NewEndpoint(url, types, authorization)
            return await add_endpoint(
                self.work(tx), self.resources.keys, wanted, is_development=True
            )

    async def rows(self, sql: str, *values: Any) -> list[Row]:
        async with self.resources.database.connection() as connection:
            return list(await connection.fetch(sql, self.merchant.merchant_id, *values))

    async def deliveries(self) -> list[tuple[UUID, str, int]]:
        """Return event, state and attempts in the order of events."""
        rows = await self.rows(
            "SELECT event_id, state, attempts FROM deliveries WHERE merchant_id = $1"
            " ORDER BY event_id, endpoint_id"
        )
        return [(row["event_id"], row["state"], row["attempts"]) for row in rows]

    async def endpoint(self, endpoint_id: UUID) -> Row:
        [row] = await self.rows(
            "SELECT * FROM webhook_endpoints WHERE merchant_id = $1 AND endpoint_id = $2",
            endpoint_id,
        )
        return row


async def an_outbox(resources: Resources, key: str = "nordwind") -> Outbox:
    now = resources.clock.now()
    async with resources.database.transaction() as tx:
        merchant = await a_merchant(tx, key, now=now)
        claim_id = await tx.fetchval(_CLAIM, merchant.merchant_id, "INV-1001", now)
    return Outbox(resources, merchant, claim_id)
