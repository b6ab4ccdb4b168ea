"""A failing webhook endpoint is logged, counted and alerted.

Its merchant is notified once after an hour of failures, and once when it works again.
"""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import check_installation
from dunwell.accounts.merchants.configuration import MerchantContact
from dunwell.core.events.webhooks.delivery import open_webhook_sender
from dunwell.core.events.webhooks.dispatcher import WebhookDispatcher
from dunwell.core.events.webhooks.endpoints import switch_on_endpoint
from dunwell.operations.alerts.check_alerts import check_for_alerts
from dunwell.operations.alerts.endpoint_alerts import EndpointAlerts
from dunwell.operations.alerts.send_alert_emails import send_alert_emails
from dunwell.platform.clock import MovableClock
from dunwell.platform.metrics import REGISTRY
from dunwell.platform.resources import Resources
from tests.support.durations import JUST
from tests.support.harness import ScriptedDeliveryProvider
from tests.support.merchants import CONFIGURATION, a_merchant
from tests.support.receiver import Receiver, a_receiver, answers
from tests.support.webhooks import Outbox, an_outbox

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
_LINE: dict[str, Any] = {"channel": "EMAIL", "adapter": "smtp", "server": "mail.example.com:587"}
_SECRET = "?key=as-good-as-a-password"


@dataclass
class World:
    """Two workers for one merchant's endpoint, which answers 500 until it is repaired."""

    outbox: Outbox
    clock: MovableClock
    dispatcher: WebhookDispatcher
    receiver: Receiver
    provider: ScriptedDeliveryProvider = field(default_factory=ScriptedDeliveryProvider)
    watches: list[EndpointAlerts] = field(default_factory=list)

    async def watch(self, later: timedelta = timedelta(0)) -> list[dict[str, Any]]:
        """Run a round of each worker and return what was logged about endpoints."""
        self.clock.advance(later)
        with capture_logs() as logs:
            for each in self.watches:
                while await each.run_once():
                    pass
        return [dict(each) for each in logs if each["event"] == "webhook endpoint fails"]

    async def told(self) -> list[tuple[str, str]]:
        """Send the waiting e-mails and return their recipients and subjects."""
        self.provider.sent.clear()
        await send_alert_emails(self.outbox.resources, {"post": self.provider}.get)
        return [(each.recipient, each.subject or "") for each in self.provider.sent]

    async def fail(self) -> None:
        await self.outbox.raise_events()
        assert await self.dispatcher.run_once() == 1

    async def repair(self) -> None:
        self.receiver.answering = answers(204)
        self.clock.advance(MINUTE)
        await self.dispatcher.run_once()


@pytest.fixture
async def world(resources: Resources, clock: MovableClock) -> AsyncIterator[World]:
    document = {"deliveryProviders": {"post": _LINE}, "alerts": {"email": ["ops@example.com"]}}
    await apply_installation(resources, check_installation(document))
    outbox = await an_outbox(resources)
    async with (
        a_receiver(answers(500, "out of order")) as receiver,
        open_webhook_sender(allow_loopback=True) as sender,
    ):
        await outbox.add_endpoint(receiver.url + _SECRET)
        dispatcher = WebhookDispatcher(resources, sender, fraction=lambda: 0.5)
        made = World(outbox, clock, dispatcher, receiver)
        made.watches = [EndpointAlerts(resources), EndpointAlerts(resources)]
        yield made


def read_figure(name: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(name, labels)


async def test_a_merchant_is_notified_after_an_hour_of_failures_and_when_it_works_again(
    world: World,
) -> None:
    await world.fail()
    await world.watch(HOUR - JUST)
    assert await world.told() == []
    await world.watch(JUST)
    origin = world.receiver.url.removesuffix("/hooks")
    assert await world.told() == [("hilfe@nordwind.example", f"Gestörte Webhooks: {origin}")]
    for _ in range(3):
        await world.watch(HOUR)
    assert await world.told() == []
    await world.repair()
    await world.watch()
    assert await world.told() == [
        ("hilfe@nordwind.example", f"Webhooks funktionieren wieder: {origin}")
    ]
    await world.watch(HOUR)
    assert await world.told() == []
    world.receiver.answering = answers(500)
    await world.fail()
    await world.watch(HOUR)
    assert [subject for _, subject in await world.told()] == [f"Gestörte Webhooks: {origin}"]


async def test_the_email_contains_only_the_origin_and_a_link(world: World) -> None:
    await world.fail()
    await world.watch(HOUR)
    await world.told()
    [message] = world.provider.sent
    [endpoint] = await world.outbox.rows("SELECT * FROM webhook_endpoints WHERE merchant_id = $1")
    public_url = world.outbox.resources.settings.public_url
    address = (
        f"{public_url}/portal/m/{world.outbox.merchant.merchant_id}"
        f"/webhooks/{endpoint['endpoint_id']}"
    )
    text = message.body_text
    assert "Gestört seit 2026-" in text
    assert "HTTP-Status 500" in text
    assert address in text
    assert message.language == "de"
    for secret in ("/hooks", "as-good-as-a-password", "out of order", "ops@example.com"):
        assert secret not in text + (message.subject or "")


async def test_each_merchant_is_notified_only_of_its_own_endpoints(
    world: World, resources: Resources
) -> None:
    contact = MerchantContact(email="help@hansen.example")
    hansen = msgspec.structs.replace(CONFIGURATION, language="en", contact=contact)
    await world.outbox.rows(
        "INSERT INTO webhook_endpoints (merchant_id, endpoint_id, url, types, secret_sealed,"
        " created_at) SELECT $1, gen_random_uuid(), 'https://own.example/' || n, '{*}', '', now()"
        " FROM generate_series(1, 2) n RETURNING 1"
    )
    async with resources.database.transaction() as tx:
        other = await a_merchant(tx, "hansen", now=world.clock.now(), configuration=hansen)
        sandbox = await a_merchant(tx, "probe", now=world.clock.now(), sandbox=True)
        for merchant_id in (other.merchant_id, sandbox.merchant_id):
            await tx.execute(
                "INSERT INTO webhook_endpoints (merchant_id, endpoint_id, url, types,"
                " secret_sealed, created_at)"
                " VALUES ($1, gen_random_uuid(), 'https://their.example/x', '{*}', '', now())",
                merchant_id,
            )
        now = world.clock.now()
        await tx.execute("UPDATE webhook_endpoints SET first_failure_at = $1", now)
    await world.watch(HOUR)
    told = dict(await world.told())
    assert told.keys() == {"hilfe@nordwind.example", "help@hansen.example"}
    assert told["help@hansen.example"] == "Failing webhooks: https://their.example"
    texts = {each.recipient: each.body_text + (each.subject or "") for each in world.provider.sent}
    assert "their.example" not in texts["hilfe@nordwind.example"]
    assert texts["hilfe@nordwind.example"].count("https://own.example\n") == 2
    assert "own.example" not in texts["help@hansen.example"]
    assert "nordwind" not in texts["help@hansen.example"]


async def test_enabling_or_removing_an_endpoint_is_not_notified_as_working(world: World) -> None:
    await world.fail()
    await world.watch(HOUR)
    assert len(await world.told()) == 1
    [row] = await world.outbox.rows(
        "UPDATE webhook_endpoints SET disabled_at = first_failure_at WHERE merchant_id = $1"
        " RETURNING endpoint_id"
    )
    async with world.outbox.resources.database.transaction() as tx:
        await switch_on_endpoint(world.outbox.work(tx), row["endpoint_id"])
    await world.watch(HOUR)
    assert await world.told() == []
    await world.outbox.rows(
        "UPDATE webhook_endpoints SET removed_at = now() WHERE merchant_id = $1 RETURNING 1"
    )
    await world.repair()
    await world.watch(HOUR)
    assert await world.told() == []


async def test_without_an_email_provider_the_merchant_is_notified_later(world: World) -> None:
    resources = world.outbox.resources
    await apply_installation(resources, check_installation({"deliveryProviders": {}}))
    await world.fail()
    await world.watch(HOUR)
    await apply_installation(resources, check_installation({"deliveryProviders": {"post": _LINE}}))
    assert await world.told() == []
    await world.watch(MINUTE)
    assert len(await world.told()) == 1


async def test_a_failing_endpoint_is_logged_once_an_hour_across_workers(world: World) -> None:
    await world.fail()
    [provider] = await world.watch()
    assert (provider["merchant_id"], provider["status"]) == (world.outbox.merchant.merchant_id, 500)
    assert "url" not in provider
    assert "hooks" not in json.dumps(provider)
    assert await world.watch(HOUR - JUST) == []
    assert len(await world.watch(JUST)) == 1
    await world.repair()
    assert await world.watch(2 * HOUR) == []


async def test_the_operator_has_an_alert_until_the_endpoint_works(world: World) -> None:
    async def look(later: timedelta) -> list[tuple[str, str]]:
        world.clock.advance(later)
        await check_for_alerts(world.outbox.resources, {"post": world.provider}.get, "")
        rows = await world.outbox.rows(
            "SELECT kind, subject FROM alerts WHERE ended_at IS NULL AND $1 > 0"
        )
        return [(row["kind"], row["subject"]) for row in rows]

    await world.fail()
    assert await look(HOUR - JUST) == []
    merchant_id = str(world.outbox.merchant.merchant_id)
    assert await look(MINUTE) == [("WEBHOOKS_FAILING", merchant_id)]
    told = await world.told()
    assert [recipient for recipient, _ in told] == ["ops@example.com"]
    assert "nordwind: failing webhook endpoints: 1" in told[0][1]
    await world.repair()
    assert await look(20 * MINUTE) == []


async def test_metrics_show_failures_and_undelivered_events(world: World) -> None:
    before = read_figure("dunwell_webhook_tries_failed_total", answer="5xx") or 0
    await world.fail()
    await world.watch(10 * MINUTE)
    [row] = await world.outbox.rows(
        "SELECT endpoint_id FROM webhook_endpoints WHERE merchant_id = $1"
    )
    endpoint = str(row["endpoint_id"])
    assert read_figure("dunwell_webhook_tries_failed_total", answer="5xx") == before + 1
    assert read_figure("dunwell_webhook_endpoints_failing", state="FAILING") == 1
    assert read_figure("dunwell_webhook_events_undelivered", endpoint=endpoint) == 1
    oldest = read_figure("dunwell_webhook_events_oldest_seconds", endpoint=endpoint)
    assert oldest == pytest.approx(600, abs=1)
    await world.repair()
    await world.watch()
    assert read_figure("dunwell_webhook_endpoints_failing", state="FAILING") == 0
    assert read_figure("dunwell_webhook_events_undelivered", endpoint=endpoint) is None
