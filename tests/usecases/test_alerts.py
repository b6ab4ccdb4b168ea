"""Alerts on a real database: found in batches over all merchants, sent once, repeated, ended."""

from datetime import timedelta
from typing import Any

import pytest

from dunwell.accounts.installation.alerts.alert import AlertKind
from dunwell.accounts.installation.alerts.store import raise_alert
from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import check_installation
from dunwell.accounts.merchants.actor import COMMAND_LINE
from dunwell.contact.sending.channel import Message, Outcome, Permanent, Temporary
from dunwell.operations.alerts.check_alerts import check_for_alerts, load_alert_overview
from dunwell.operations.alerts.send_alert_emails import send_alert_emails
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import ValidationError
from dunwell.platform.resources import Resources
from tests.support.delivery_providers import a_harness_with_a_provider, report
from tests.support.durations import JUST
from tests.support.harness import Harness, ScriptedDeliveryProvider
from tests.support.rows import insert_row

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
_PROVIDER: dict[str, Any] = {
    "channel": "EMAIL",
    "adapter": "smtp",
    "server": "mail.example.com:587",
}
_ALERTS: dict[str, Any] = {"email": ["ops@example.com", "night@example.com"]}
_MAILS = """
SELECT recipient, subject, body, state, attempts FROM staff_emails
WHERE $1 > 0 ORDER BY 1, 2
"""


class AlertHarness:
    """An installation with one provider and recipients of alerts."""

    def __init__(self, harness: Harness, provider: ScriptedDeliveryProvider) -> None:
        self.harness, self.provider = harness, provider
        self.delivery_providers: dict[str, Any] = {"post": provider}

    async def check(self, later: timedelta = MINUTE) -> int:
        self.harness.clock.advance(later)
        return await check_for_alerts(self.harness.resources, self.delivery_providers.get, "")

    async def send(self) -> list[str]:
        """Return the subjects of the e-mails given to the provider."""
        self.provider.sent.clear()
        await send_alert_emails(self.harness.resources, self.delivery_providers.get)
        return [each.subject or "" for each in self.provider.sent]

    async def list_active(self) -> list[tuple[str, str]]:
        resources = self.harness.resources
        async with resources.database.transaction() as tx:
            view = await load_alert_overview(tx, COMMAND_LINE, resources.clock.now())
        return [(each.kind, each.subject) for each in view.active]

    async def states(self) -> list[str]:
        return [row["state"] for row in await self.harness.rows(_MAILS)]


@pytest.fixture
async def alert_harness(resources: Resources, clock: MovableClock) -> AlertHarness:
    document = {"deliveryProviders": {"post": _PROVIDER}, "alerts": _ALERTS}
    await apply_installation(resources, check_installation(document))
    provider = ScriptedDeliveryProvider()
    return AlertHarness(await a_harness_with_a_provider(resources, clock, provider), provider)


async def test_no_alert_is_sent_without_a_cause(alert_harness: AlertHarness) -> None:
    await alert_harness.harness.create("INV-1", "INV-2")
    await alert_harness.harness.run()
    assert await alert_harness.check() == 0
    assert (await alert_harness.list_active(), await alert_harness.states()) == ([], [])


async def test_a_provider_backlog_is_alerted_once_repeated_and_ended(
    alert_harness: AlertHarness,
) -> None:
    alert_harness.provider.answers = [Temporary(1)] * 3
    await alert_harness.harness.create("INV-1")
    await alert_harness.harness.run()
    for _ in range(2):
        alert_harness.harness.clock.advance(2 * MINUTE)
        await alert_harness.harness.run()
    assert await alert_harness.check() == 0
    assert await alert_harness.check(HOUR) == 1
    assert await alert_harness.list_active() == [("PROVIDER_BACKLOG", "post")]
    [subject, other] = await alert_harness.send()
    assert subject == other
    assert subject.startswith("Dunwell alert: Delivery provider post: unsent messages: 1, ")
    assert [await alert_harness.check() for _ in range(3)] == [0, 0, 0]
    assert await alert_harness.send() == []
    assert await alert_harness.check(DAY) == 1
    assert len(await alert_harness.send()) == 2
    await alert_harness.harness.run()
    assert await alert_harness.check() == 0
    assert await alert_harness.check(15 * MINUTE) == 1
    assert [
        each.startswith("Dunwell alert resolved: Delivery provider post")
        for each in await alert_harness.send()
    ] == [True] * 2
    assert await alert_harness.list_active() == []
    assert await alert_harness.check(2 * DAY) == 0
    assert set(await alert_harness.states()) == {"ACCEPTED"}


async def test_an_alert_contains_no_personal_data(alert_harness: AlertHarness) -> None:
    alert_harness.provider.answers = [Permanent("refused")] * 12
    await alert_harness.harness.create(*(f"INV-{number}" for number in range(12)))
    await alert_harness.harness.run()
    await alert_harness.check()
    await alert_harness.send()
    kinds = {kind for kind, _ in await alert_harness.list_active()}
    assert kinds == {AlertKind.PROVIDER_FAILING, AlertKind.DESTINATION_FAILING}
    emails = " ".join(str(tuple(row)) for row in await alert_harness.harness.rows(_MAILS))
    for personal in ("Mustermann", "Erika", "inv-1@", "INV-1"):
        assert personal not in emails
    assert "post/example.org: 12 of 12 messages to this destination failed" in emails


async def test_only_one_of_many_workers_checks_in_a_minute(alert_harness: AlertHarness) -> None:
    await alert_harness.check()
    alert_harness.delivery_providers.clear()
    resources = alert_harness.harness.resources
    assert await check_for_alerts(resources, alert_harness.delivery_providers.get, "") == 0
    assert await alert_harness.list_active() == []
    assert await alert_harness.check(timedelta(seconds=45) - JUST) == 0
    assert await alert_harness.check(JUST) == 1
    assert await alert_harness.list_active() == [("PROVIDER_UNUSABLE", "post")]


async def test_a_message_in_doubt_is_alerted_after_a_day(alert_harness: AlertHarness) -> None:
    alert_harness.provider.answers = [ConnectionError()]
    await alert_harness.harness.create("INV-1")
    await alert_harness.harness.run()
    assert await alert_harness.check(DAY - JUST) == 0
    assert await alert_harness.check(MINUTE) == 1
    merchant_id = str(alert_harness.harness.merchant.merchant_id)
    assert await alert_harness.list_active() == [("UNKNOWN_SENDS", merchant_id)]


async def test_messages_on_hold_do_not_count_as_backlog(alert_harness: AlertHarness) -> None:
    alert_harness.provider.answers = [Temporary(1)] * 3
    await alert_harness.harness.create("INV-1")
    await alert_harness.harness.run()
    await alert_harness.harness.rows(
        "UPDATE claims SET held = true WHERE merchant_id = $1 RETURNING 1"
    )
    await alert_harness.check(2 * HOUR)
    assert await alert_harness.list_active() == []


async def test_disabled_webhooks_unread_replies_and_overdue_disputes_are_alerted(
    alert_harness: AlertHarness,
) -> None:
    merchant_id = alert_harness.harness.merchant.merchant_id
    now = alert_harness.harness.clock.now()
    async with alert_harness.harness.resources.database.transaction() as tx:
        for table, values in (
            ("webhook_endpoints", {"disabled_at": now}),
            ("debtor_replies", {"received_at": now, "is_automatic": False}),
            ("disputes", {"state": "OPEN", "overdue_reported_at": now}),
        ):
            await insert_row(tx, table, 1, merchant_id=merchant_id, **values)
    await alert_harness.check()
    assert await alert_harness.list_active() == [("WEBHOOKS_OFF", str(merchant_id))]
    await alert_harness.check(DAY)
    assert {kind for kind, _ in await alert_harness.list_active()} == {
        "WEBHOOKS_OFF", "UNSEEN_REPLIES", "OVERDUE_DISPUTES",
    }  # fmt: skip


async def test_overdue_steps_are_alerted(alert_harness: AlertHarness) -> None:
    await alert_harness.harness.create("INV-1")
    assert await alert_harness.check(HOUR - JUST) == 0
    assert await alert_harness.check(MINUTE) == 1
    assert await alert_harness.list_active() == [("STEPS_LATE", "")]


async def test_unmatched_reports_are_alerted_from_ten_on(alert_harness: AlertHarness) -> None:
    await alert_harness.harness.create("INV-1")
    await alert_harness.harness.run()
    for number in range(10):
        await alert_harness.check()
        assert await alert_harness.list_active() == []
        await report(
            alert_harness.harness,
            alert_harness.provider,
            provider_message_id=str(number),
            reference=None,
        )
        await alert_harness.harness.rows(
            "UPDATE delivery_reports SET outcome = 'UNMATCHED', due_at = NULL"
            " WHERE $1 > 0 RETURNING 1"
        )
    await alert_harness.check()
    assert await alert_harness.list_active() == [("UNMATCHED_REPORTS", "post")]


@pytest.mark.parametrize("is_looked_at", [False, True])
async def test_reviewed_reports_and_messages_raise_no_alert(
    alert_harness: AlertHarness, *, is_looked_at: bool
) -> None:
    now = alert_harness.harness.clock.now()
    looked = {"read_at": now, "read_by": "user"} if is_looked_at else {}
    async with alert_harness.harness.resources.database.transaction() as tx:
        await insert_row(
            tx, "inbound_sms", 1, provider="sms", kind="UNMATCHED", merchant_id=None,
            received_at=now,
            **looked,
        )  # fmt: skip
        for number in range(1, 11):
            await insert_row(
                tx, "delivery_reports", number, provider="post", state="FAILED", cause="OTHER",
                merchant_id=None, communication_id=None, outcome="UNMATCHED", received_at=now,
                due_at=None, **looked,
            )  # fmt: skip
    await alert_harness.check()
    strange = {("UNMATCHED_SMS", "sms"), ("UNMATCHED_REPORTS", "post")}
    assert strange & set(await alert_harness.list_active()) == (set() if is_looked_at else strange)


async def test_an_alert_about_an_incident_is_sent_once_and_never_ends(
    alert_harness: AlertHarness,
) -> None:
    resources = alert_harness.harness.resources
    for subject in ("one", "one", "two"):
        async with resources.database.transaction() as tx:
            now = resources.clock.now()
            await raise_alert(tx, AlertKind.BREAK_GLASS, subject, now, resources.ids)
    assert await alert_harness.check() == 2
    assert len(await alert_harness.send()) == 2
    assert await alert_harness.check(3 * DAY) == 0
    assert await alert_harness.list_active() == []


async def test_an_alert_email_without_an_answer_is_not_sent_again(
    alert_harness: AlertHarness,
) -> None:
    await alert_harness.harness.create("INV-1")
    await alert_harness.check(2 * HOUR)
    alert_harness.provider.answers = [ConnectionError(), Temporary(1)]
    assert len(await alert_harness.send()) == 2
    assert sorted(await alert_harness.states()) == ["PLANNED", "UNKNOWN"]
    assert await alert_harness.send() == []
    alert_harness.harness.clock.advance(MINUTE)
    assert len(await alert_harness.send()) == 1
    assert sorted(await alert_harness.states()) == ["ACCEPTED", "UNKNOWN"]


async def test_an_alert_email_of_a_dead_worker_is_not_sent_again(
    alert_harness: AlertHarness,
) -> None:
    await alert_harness.harness.create("INV-1")
    await alert_harness.check(2 * HOUR)
    resources = alert_harness.harness.resources

    class _DyingProvider(ScriptedDeliveryProvider):
        async def send(self, message: Message) -> Outcome:
            raise SystemExit

    with pytest.raises(SystemExit):
        await send_alert_emails(resources, {"post": _DyingProvider()}.get)
    assert sorted(await alert_harness.states()) == ["HANDED_OVER", "PLANNED"]
    assert len(await alert_harness.send()) == 1
    alert_harness.harness.clock.advance(3 * MINUTE - JUST)
    assert await alert_harness.send() == []
    assert sorted(await alert_harness.states()) == ["ACCEPTED", "HANDED_OVER"]
    alert_harness.harness.clock.advance(JUST)
    assert await alert_harness.send() == []
    assert sorted(await alert_harness.states()) == ["ACCEPTED", "UNKNOWN"]


async def test_a_slow_provider_gets_each_alert_email_once_from_two_workers(
    alert_harness: AlertHarness,
) -> None:
    document = {
        "deliveryProviders": {"post": _PROVIDER},
        "alerts": {"email": [f"ops{number}@example.com" for number in range(5)]},
    }
    await apply_installation(alert_harness.harness.resources, check_installation(document))
    await alert_harness.harness.create("INV-1")
    await alert_harness.check(2 * HOUR)
    resources, clock = alert_harness.harness.resources, alert_harness.harness.clock
    recipients: list[str] = []

    class _SlowProvider(ScriptedDeliveryProvider):
        async def send(self, message: Message) -> Outcome:
            recipients.append(message.recipient)
            clock.advance(timedelta(seconds=50))
            if len(recipients) == 4:
                await send_alert_emails(resources, {"post": alert_harness.provider}.get)
            return await super().send(message)

    alert_harness.provider.sent.clear()
    await send_alert_emails(resources, {"post": _SlowProvider()}.get)

    recipients += [each.recipient for each in alert_harness.provider.sent]
    assert sorted(recipients) == [f"ops{number}@example.com" for number in range(5)]
    assert set(await alert_harness.states()) == {"ACCEPTED"}


async def test_an_alert_about_failures_covers_one_day(alert_harness: AlertHarness) -> None:
    alert_harness.provider.answers = [Permanent("refused")] * 12
    await alert_harness.harness.create(*(f"INV-{number}" for number in range(12)))
    await alert_harness.harness.run()
    await alert_harness.check(DAY - MINUTE)
    failing = ("PROVIDER_FAILING", "post")
    assert failing in await alert_harness.list_active()
    # A quarter of an hour after it was found last.
    await alert_harness.check(2 * MINUTE)
    assert failing in await alert_harness.list_active()
    await alert_harness.check(13 * MINUTE)
    assert failing not in await alert_harness.list_active()


async def test_an_alert_email_waits_for_a_provider(alert_harness: AlertHarness) -> None:
    await alert_harness.harness.create("INV-1")
    await alert_harness.check(2 * HOUR)
    kept = alert_harness.delivery_providers.pop("post")
    assert await alert_harness.send() == []
    alert_harness.delivery_providers["post"] = kept
    alert_harness.harness.clock.advance(MINUTE)
    assert len(await alert_harness.send()) == 2


async def test_without_recipients_alerts_are_shown_only_in_the_portal(
    alert_harness: AlertHarness,
) -> None:
    resources = alert_harness.harness.resources
    await apply_installation(resources, check_installation({"alerts": {"email": []}}))
    await alert_harness.harness.create("INV-1")
    assert await alert_harness.check(2 * HOUR) == 0
    assert await alert_harness.list_active() == [("STEPS_LATE", "")]
    # A recipient configured later is notified of alerts that are still active.
    await apply_installation(resources, check_installation({"alerts": _ALERTS}))
    assert await alert_harness.check() == 1


async def test_the_provider_of_alert_emails_must_exist(alert_harness: AlertHarness) -> None:
    resources = alert_harness.harness.resources
    with pytest.raises(ValidationError) as refused:
        await apply_installation(resources, check_installation({"alerts": {"provider": "other"}}))
    assert [each.path for each in refused.value.faults] == ["/alerts/provider"]


async def test_old_alerts_and_emails_are_deleted(alert_harness: AlertHarness) -> None:
    async def count() -> tuple[int, int]:
        [row] = await alert_harness.harness.rows(
            "SELECT (SELECT count(*) FROM alerts), (SELECT count(*) FROM staff_emails) WHERE $1 > 0"
        )
        return row[0], row[1]

    resources = alert_harness.harness.resources
    async with resources.database.transaction() as tx:
        await raise_alert(tx, AlertKind.BREAK_GLASS, "one", resources.clock.now(), resources.ids)
    await alert_harness.check(JUST)
    await alert_harness.check(90 * DAY - JUST)
    assert await count() == (1, 2)
    await alert_harness.check()
    assert await count() == (0, 0)


async def test_a_missing_alert_check_is_noticed_after_ten_minutes(
    alert_harness: AlertHarness,
) -> None:
    async def is_stale() -> bool:
        async with alert_harness.harness.resources.database.transaction() as tx:
            return (
                await load_alert_overview(tx, COMMAND_LINE, alert_harness.harness.clock.now())
            ).is_stale

    assert await is_stale()
    await alert_harness.check()
    alert_harness.harness.clock.advance(10 * MINUTE - JUST)
    assert not await is_stale()
    alert_harness.harness.clock.advance(JUST)
    assert await is_stale()
