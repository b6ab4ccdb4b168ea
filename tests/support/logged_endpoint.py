"""A merchant's webhook endpoint with a log that contains every case that a page must
distinguish."""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from dunwell.core.events.body import EventActionStep
from dunwell.core.events.event_log import save_events
from dunwell.core.events.payloads import EventHead, checkpoint_reached
from dunwell.core.events.webhooks.endpoint import NewEndpoint, NewEndpointSecret
from dunwell.core.events.webhooks.endpoints import add_endpoint
from tests.support.harness import Harness

NO_ONE = "http://127.0.0.1:1/hooks"


@dataclass(frozen=True)
class LoggedEndpoint:
    """`ids` are those of the events, oldest first: acknowledged, given up, retried, not
    attempted."""

    new: NewEndpointSecret
    ids: list[UUID]

    @property
    def path(self) -> str:
        return f"/webhooks/{self.new.endpoint_id}"

    @property
    def given_up(self) -> str:
        return f"{self.path}/deliveries/{self.ids[1]}"


async def an_endpoint(harness: Harness, url: str = NO_ONE) -> NewEndpointSecret:
    async with harness.work() as work:
        return await add_endpoint(
            work, harness.resources.keys, NewEndpoint(url, ("*",)), is_development=True
        )


async def a_logged_endpoint(
    harness: Harness, claim_id: int, response_text: str = "said", url: str = NO_ONE
) -> LoggedEndpoint:
    """Return such an endpoint. `response_text` is the beginning of the endpoint's response when it
    refuses."""
    new = await an_endpoint(harness, url)
    now, merchant_id = harness.clock.now(), harness.merchant.merchant_id
    events = [
        checkpoint_reached(
            EventHead(
                harness.resources.ids.new(now), merchant_id, claim_id, 700 + number, now, "R"
            ),
            EventActionStep(4, "Ask the ERP"), 14, f"Grüße <{number}>",
        )
        for number in range(4)
    ]  # fmt: skip
    async with harness.work() as work:
        await save_events(work.tx, merchant_id, events, now + timedelta(days=1))
    ids = [each.event_id for each in events]
    for place, (state, statuses) in enumerate(
        (("DELIVERED", (500, 204)), ("GIVEN_UP", (500,) * 3), ("PENDING", (503,)))
    ):
        for number, status in enumerate(statuses, 1):
            await harness.rows(
                "INSERT INTO delivery_attempts (merchant_id, endpoint_id, event_id, attempt, at,"
                " duration_ms, status, response) VALUES ($1, $2, $3, $4, $5, 1240, $6, $7)",
                new.endpoint_id, ids[place], number, now + timedelta(seconds=number), status,
                response_text if status >= 300 else None,
            )  # fmt: skip
        await harness.rows(
            "UPDATE deliveries SET state = $3, attempts = $4,"
            " due_at = CASE WHEN $3 = 'PENDING' THEN due_at END"
            " WHERE merchant_id = $1 AND event_id = $2",
            ids[place], state, len(statuses),
        )  # fmt: skip
    return LoggedEndpoint(new, ids)
