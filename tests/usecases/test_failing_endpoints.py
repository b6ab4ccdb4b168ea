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
_PROVIDER: dict[str, Any] = {
    "channel": "EMAIL",
    "adapter": "smtp",
    "server": "mail.example.com:587",
}
_SECRET = "?key=as-good-as-a-password"


@dataclass
class FailingEndpointHarness:
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

    async def send_emails(self) -> list[tuple[str, str]]:
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
async def endpoint_harness(
    resources: Resources, clock: MovableClock
) -> AsyncIterator[FailingEndpointHarness]:
    document = {"deliveryProviders": {"post": _PROVIDER}, "alerts": {"email": ["ops@example.com"]}}
    await apply_installation(resources, check_installation(document))
    outbox = await an_outbox(resources)
    async with (
        a_receiver(answers(500, "out of order")) as receiver,
        open_webhook_sender(allow_loopback=True) as sender,
    ):
        await outbox.add_endpoint(receiver.url + _SECRET)
        dispatcher = WebhookDispatcher(resources, sender, fraction=lambda: 0.5)
        endpoint_harness = FailingEndpointHarness(outbox, clock, dispatcher, receiver)
        endpoint_harness.watches = [EndpointAlerts(resources), EndpointAlerts(resources)]
        yield endpoint_harness


def read_figure(name: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(name, labels)


async def test_a_merchant_is_notified_after_an_hour_of_failures_and_when_it_works_again(
    endpoint_harness: FailingEndpointHarness,
) -> None:
    await endpoint_harness.fail()
    await endpoint_harness.watch(HOUR - JUST)
    assert await endpoint_harness.send_emails() == []
    await endpoint_harness.watch(JUST)
    origin = endpoint_harness.receiver.url.removesuffix("/hooks")
    assert await endpoint_harness.send_emails() == [
        ("hilfe@nordwind.example", f"Gestörte Webhooks: {origin}")
    ]
    for _ in range(3):
        await endpoint_harness.watch(HOUR)
    assert await endpoint_harness.send_emails() == []
    await endpoint_harness.repair()
    await endpoint_harness.watch()
    assert await endpoint_harness.send_emails() == [
        ("hilfe@nordwind.example", f"Webhooks funktionieren wieder: {origin}")
    ]
    await endpoint_harness.watch(HOUR)
    assert await endpoint_harness.send_emails() == []
    endpoint_harness.receiver.answering = answers(500)
    await endpoint_harness.fail()
    await endpoint_harness.watch(HOUR)
    assert [subject for _, subject in await endpoint_harness.send_emails()] == [
        f"Gestörte Webhooks: {origin}"
    ]


async def test_the_email_contains_only_the_origin_and_a_link(
    endpoint_harness: FailingEndpointHarness,
) -> None:
    await endpoint_harness.fail()
    await endpoint_harness.watch(HOUR)
    await endpoint_harness.send_emails()
    [message] = endpoint_harness.provider.sent
    [endpoint] = await endpoint_harness.outbox.rows(
        "SELECT * FROM webhook_endpoints WHERE merchant_id = $1"
    )
    public_url = endpoint_harness.outbox.resources.settings.public_url
    address = (
        f"{public_url}/portal/m/{endpoint_harness.outbox.merchant.merchant_id}"
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
    endpoint_harness: FailingEndpointHarness, resources: Resources
) -> None:
    contact = MerchantContact(email="help@hansen.example")
    hansen = msgspec.structs.replace(CONFIGURATION, language="en", contact=contact)
    await endpoint_harness.outbox.rows(
        "INSERT INTO webhook_endpoints (merchant_id, endpoint_id, url, types, secret_sealed,"
        " created_at) SELECT $1, gen_random_uuid(), 'https://own.example/' || n, '{*}', '', now()"
        " FROM generate_series(1, 2) n RETURNING 1"
    )
    async with resources.database.transaction() as tx:
        other = await a_merchant(
            tx, "hansen", now=endpoint_harness.clock.now(), configuration=hansen
        )
        sandbox = await a_merchant(tx, "probe", now=endpoint_harness.clock.now(), sandbox=True)
        for merchant_id in (other.merchant_id, sandbox.merchant_id):
            await tx.execute(
                "INSERT INTO webhook_endpoints (merchant_id, endpoint_id, url, types,"
                " secret_sealed, created_at)"
                " VALUES ($1, gen_random_uuid(), 'https://their.example/x', '{*}', '', now())",
                merchant_id,
            )
        now = endpoint_harness.clock.now()
        await tx.execute("UPDATE webhook_endpoints SET first_failure_at = $1", now)
    await endpoint_harness.watch(HOUR)
    send_emails = dict(await endpoint_harness.send_emails())
    assert send_emails.keys() == {"hilfe@nordwind.example", "help@hansen.example"}
    assert send_emails["help@hansen.example"] == "Failing webhooks: https://their.example"
    texts = {
        each.recipient: each.body_text + (each.subject or "")
        for each in endpoint_harness.provider.sent
    }
    assert "their.example" not in texts["hilfe@nordwind.example"]
    assert texts["hilfe@nordwind.example"].count("https://own.example\n") == 2
    assert "own.example" not in texts["help@hansen.example"]
    assert "nordwind" not in texts["help@hansen.example"]


async def test_enabling_or_removing_an_endpoint_is_not_notified_as_working(
    endpoint_harness: FailingEndpointHarness,
) -> None:
    await endpoint_harness.fail()
    await endpoint_harness.watch(HOUR)
    assert len(await endpoint_harness.send_emails()) == 1
    [row] = await endpoint_harness.outbox.rows(
        "UPDATE webhook_endpoints SET disabled_at = first_failure_at WHERE merchant_id = $1"
        " RETURNING endpoint_id"
    )
    async with endpoint_harness.outbox.resources.database.transaction() as tx:
        await switch_on_endpoint(endpoint_harness.outbox.work(tx), row["endpoint_id"])
    await endpoint_harness.watch(HOUR)
    assert await endpoint_harness.send_emails() == []
    await endpoint_harness.outbox.rows(
        "UPDATE webhook_endpoints SET removed_at = now() WHERE merchant_id = $1 RETURNING 1"
    )
    await endpoint_harness.repair()
    await endpoint_harness.watch(HOUR)
    assert await endpoint_harness.send_emails() == []


async def test_without_an_email_provider_the_merchant_is_notified_later(
    endpoint_harness: FailingEndpointHarness,
) -> None:
    resources = endpoint_harness.outbox.resources
    await apply_installation(resources, check_installation({"deliveryProviders": {}}))
    await endpoint_harness.fail()
    await endpoint_harness.watch(HOUR)
    await apply_installation(
        resources, check_installation({"deliveryProviders": {"post": _PROVIDER}})
    )
    assert await endpoint_harness.send_emails() == []
    await endpoint_harness.watch(MINUTE)
    assert len(await endpoint_harness.send_emails()) == 1


async def test_a_failing_endpoint_is_logged_once_an_hour_across_workers(
    endpoint_harness: FailingEndpointHarness,
) -> None:
    await endpoint_harness.fail()
    [provider] = await endpoint_harness.watch()
    assert (provider["merchant_id"], provider["status"]) == (
        endpoint_harness.outbox.merchant.merchant_id,
        500,
    )
    assert "url" not in provider
    assert "hooks" not in json.dumps(provider)
    assert await endpoint_harness.watch(HOUR - JUST) == []
    assert len(await endpoint_harness.watch(JUST)) == 1
    await endpoint_harness.repair()
    assert await endpoint_harness.watch(2 * HOUR) == []


async def test_the_operator_has_an_alert_until_the_endpoint_works(
    endpoint_harness: FailingEndpointHarness,
) -> None:
    async def list_alerts(later: timedelta) -> list[tuple[str, str]]:
        endpoint_harness.clock.advance(later)
        await check_for_alerts(
            endpoint_harness.outbox.resources, {"post": endpoint_harness.provider}.get, ""
        )
        rows = await endpoint_harness.outbox.rows(
            "SELECT kind, subject FROM alerts WHERE ended_at IS NULL AND $1 > 0"
        )
        return [(row["kind"], row["subject"]) for row in rows]

    await endpoint_harness.fail()
    assert await list_alerts(HOUR - JUST) == []
    merchant_id = str(endpoint_harness.outbox.merchant.merchant_id)
    assert await list_alerts(MINUTE) == [("WEBHOOKS_FAILING", merchant_id)]
    send_emails = await endpoint_harness.send_emails()
    assert [recipient for recipient, _ in send_emails] == ["ops@example.com"]
    assert "nordwind: failing webhook endpoints: 1" in send_emails[0][1]
    await endpoint_harness.repair()
    assert await list_alerts(20 * MINUTE) == []


async def test_metrics_show_failures_and_undelivered_events(
    endpoint_harness: FailingEndpointHarness,
) -> None:
    before = read_figure("dunwell_webhook_tries_failed_total", answer="5xx") or 0
    await endpoint_harness.fail()
    await endpoint_harness.watch(10 * MINUTE)
    [row] = await endpoint_harness.outbox.rows(
        "SELECT endpoint_id FROM webhook_endpoints WHERE merchant_id = $1"
    )
    endpoint = str(row["endpoint_id"])
    assert read_figure("dunwell_webhook_tries_failed_total", answer="5xx") == before + 1
    assert read_figure("dunwell_webhook_endpoints_failing", state="FAILING") == 1
    assert read_figure("dunwell_webhook_events_undelivered", endpoint=endpoint) == 1
    oldest = read_figure("dunwell_webhook_events_oldest_seconds", endpoint=endpoint)
    assert oldest == pytest.approx(600, abs=1)
    await endpoint_harness.repair()
    await endpoint_harness.watch()
    assert read_figure("dunwell_webhook_endpoints_failing", state="FAILING") == 0
    assert read_figure("dunwell_webhook_events_undelivered", endpoint=endpoint) is None
