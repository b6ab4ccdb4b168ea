"""Alerts on a real database: found in batches over all merchants, sent once, repeated, ended."""

from datetime import timedelta
from typing import Any

import pytest

from dunwell.accounts.installation.alerts.alert import AlertKind
from dunwell.accounts.installation.alerts.store import raise_alert
from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import check_installation
from dunwell.accounts.merchants.actor import COMMAND_LINE
from dunwell.contact.sending.channel import Permanent, Temporary
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
_LINE: dict[str, Any] = {"channel": "EMAIL", "adapter": "smtp", "server": "mail.example.com:587"}
_ALARMS: dict[str, Any] = {"email": ["ops@example.com", "night@example.com"]}
_MAILS = """
SELECT recipient, subject, body, state, attempts FROM staff_emails
WHERE $1 > 0 ORDER BY 1, 2
"""


class World:
    """An installation with one provider and recipients of alerts."""

    def __init__(self, harness: Harness, provider: ScriptedDeliveryProvider) -> None:
        self.harness, self.provider = harness, provider
        self.delivery_providers: dict[str, Any] = {"post": provider}

    async def look(self, later: timedelta = MINUTE) -> int:
        self.harness.clock.advance(later)
        return await check_for_alerts(self.harness.resources, self.delivery_providers.get, "")

    async def send(self) -> list[str]:
        """Return the subjects of the e-mails given to the provider."""
        self.provider.sent.clear()
        await send_alert_emails(self.harness.resources, self.delivery_providers.get)
        return [each.subject or "" for each in self.provider.sent]

    async def standing(self) -> list[tuple[str, str]]:
        resources = self.harness.resources
        async with resources.database.transaction() as tx:
            view = await load_alert_overview(tx, COMMAND_LINE, resources.clock.now())
        return [(each.kind, each.subject) for each in view.active]

    async def states(self) -> list[str]:
        return [row["state"] for row in await self.harness.rows(_MAILS)]


@pytest.fixture
async def world(resources: Resources, clock: MovableClock) -> World:
    document = {"deliveryProviders": {"post": _LINE}, "alerts": _ALARMS}
    await apply_installation(resources, check_installation(document))
    provider = ScriptedDeliveryProvider()
    return World(await a_harness_with_a_provider(resources, clock, provider), provider)


async def test_no_alert_is_sent_without_a_cause(world: World) -> None:
    await world.harness.create("INV-1", "INV-2")
    await world.harness.run()
    assert await world.look() == 0
    assert (await world.standing(), await world.states()) == ([], [])


async def test_a_provider_backlog_is_alerted_once_repeated_and_ended(
    world: World,
) -> None:
    world.provider.answers = [Temporary(1)] * 3
    await world.harness.create("INV-1")
    await world.harness.run()
    for _ in range(2):
        world.harness.clock.advance(2 * MINUTE)
        await world.harness.run()
    assert await world.look() == 0
    assert await world.look(HOUR) == 1
    assert await world.standing() == [("PROVIDER_BACKLOG", "post")]
    [told, other] = await world.send()
    assert told == other
    assert told.startswith("Dunwell alert: Delivery provider post: unsent messages: 1, ")
    assert [await world.look() for _ in range(3)] == [0, 0, 0]
    assert await world.send() == []
    assert await world.look(DAY) == 1
    assert len(await world.send()) == 2
    await world.harness.run()
    assert await world.look() == 0
    assert await world.look(15 * MINUTE) == 1
    assert [
        each.startswith("Dunwell alert resolved: Delivery provider post")
        for each in await world.send()
    ] == [True] * 2
    assert await world.standing() == []
    assert await world.look(2 * DAY) == 0
    assert set(await world.states()) == {"ACCEPTED"}


async def test_an_alert_contains_no_personal_data(world: World) -> None:
    world.provider.answers = [Permanent("refused")] * 12
    await world.harness.create(*(f"INV-{number}" for number in range(12)))
    await world.harness.run()
    await world.look()
    await world.send()
    kinds = {kind for kind, _ in await world.standing()}
    assert kinds == {AlertKind.PROVIDER_FAILING, AlertKind.DESTINATION_FAILING}
    told = " ".join(str(tuple(row)) for row in await world.harness.rows(_MAILS))
    for personal in ("Mustermann", "Erika", "inv-1@", "INV-1"):
        assert personal not in told
    assert "post/example.org: 12 of 12 messages to this destination failed" in told


async def test_only_one_of_many_workers_checks_in_a_minute(world: World) -> None:
    await world.look()
    world.delivery_providers.clear()
    resources = world.harness.resources
    assert await check_for_alerts(resources, world.delivery_providers.get, "") == 0
    assert await world.standing() == []
    assert await world.look(timedelta(seconds=45) - JUST) == 0
    assert await world.look(JUST) == 1
    assert await world.standing() == [("PROVIDER_UNUSABLE", "post")]


async def test_a_message_in_doubt_is_alerted_after_a_day(world: World) -> None:
    world.provider.answers = [ConnectionError()]
    await world.harness.create("INV-1")
    await world.harness.run()
    assert await world.look(DAY - JUST) == 0
    assert await world.look(MINUTE) == 1
    merchant_id = str(world.harness.merchant.merchant_id)
    assert await world.standing() == [("UNKNOWN_SENDS", merchant_id)]


async def test_messages_on_hold_do_not_count_as_backlog(world: World) -> None:
    world.provider.answers = [Temporary(1)] * 3
    await world.harness.create("INV-1")
    await world.harness.run()
    await world.harness.rows("UPDATE claims SET held = true WHERE merchant_id = $1 RETURNING 1")
    await world.look(2 * HOUR)
    assert await world.standing() == []


async def test_disabled_webhooks_unread_replies_and_overdue_disputes_are_alerted(
    world: World,
) -> None:
    merchant_id = world.harness.merchant.merchant_id
    now = world.harness.clock.now()
    async with world.harness.resources.database.transaction() as tx:
        for table, values in (
            ("webhook_endpoints", {"disabled_at": now}),
            ("debtor_replies", {"received_at": now, "is_automatic": False}),
            ("disputes", {"state": "OPEN", "overdue_reported_at": now}),
        ):
            await insert_row(tx, table, 1, merchant_id=merchant_id, **values)
    await world.look()
    assert await world.standing() == [("WEBHOOKS_OFF", str(merchant_id))]
    await world.look(DAY)
    assert {kind for kind, _ in await world.standing()} == {
        "WEBHOOKS_OFF", "UNSEEN_REPLIES", "OVERDUE_DISPUTES",
    }  # fmt: skip


async def test_overdue_steps_are_alerted(world: World) -> None:
    await world.harness.create("INV-1")
    assert await world.look(HOUR - JUST) == 0
    assert await world.look(MINUTE) == 1
    assert await world.standing() == [("STEPS_LATE", "")]


async def test_unmatched_reports_are_alerted_from_ten_on(world: World) -> None:
    await world.harness.create("INV-1")
    await world.harness.run()
    for number in range(10):
        await world.look()
        assert await world.standing() == []
        await report(world.harness, world.provider, provider_message_id=str(number), reference=None)
        await world.harness.rows(
            "UPDATE delivery_reports SET outcome = 'UNMATCHED', due_at = NULL"
            " WHERE $1 > 0 RETURNING 1"
        )
    await world.look()
    assert await world.standing() == [("UNMATCHED_REPORTS", "post")]


@pytest.mark.parametrize("is_looked_at", [False, True])
async def test_reviewed_reports_and_messages_raise_no_alert(
    world: World, *, is_looked_at: bool
) -> None:
    now = world.harness.clock.now()
    looked = {"read_at": now, "read_by": "user"} if is_looked_at else {}
    async with world.harness.resources.database.transaction() as tx:
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
    await world.look()
    strange = {("UNMATCHED_SMS", "sms"), ("UNMATCHED_REPORTS", "post")}
    assert strange & set(await world.standing()) == (set() if is_looked_at else strange)


async def test_an_alert_about_an_incident_is_sent_once_and_never_ends(world: World) -> None:
    resources = world.harness.resources
    for subject in ("one", "one", "two"):
        async with resources.database.transaction() as tx:
            now = resources.clock.now()
            await raise_alert(tx, AlertKind.BREAK_GLASS, subject, now, resources.ids)
    assert await world.look() == 2
    assert len(await world.send()) == 2
    assert await world.look(3 * DAY) == 0
    assert await world.standing() == []


async def test_an_alert_email_without_an_answer_is_not_sent_again(world: World) -> None:
    await world.harness.create("INV-1")
    await world.look(2 * HOUR)
    world.provider.answers = [ConnectionError(), Temporary(1)]
    assert len(await world.send()) == 2
    assert sorted(await world.states()) == ["PLANNED", "UNKNOWN"]
    assert await world.send() == []
    world.harness.clock.advance(MINUTE)
    assert len(await world.send()) == 1
    assert sorted(await world.states()) == ["ACCEPTED", "UNKNOWN"]


async def test_an_alert_email_of_a_dead_worker_is_not_sent_again(world: World) -> None:
    await world.harness.create("INV-1")
    await world.look(2 * HOUR)
    resources = world.harness.resources

    def die(_name: str) -> None:
        raise SystemExit

    with pytest.raises(SystemExit):
        await send_alert_emails(resources, die)
    world.harness.clock.advance(3 * MINUTE - JUST)
    assert await world.send() == []
    assert set(await world.states()) == {"HANDED_OVER"}
    world.harness.clock.advance(JUST)
    assert await world.send() == []
    assert set(await world.states()) == {"UNKNOWN"}


async def test_an_alert_about_failures_covers_one_day(world: World) -> None:
    world.provider.answers = [Permanent("refused")] * 12
    await world.harness.create(*(f"INV-{number}" for number in range(12)))
    await world.harness.run()
    await world.look(DAY - MINUTE)
    failing = ("PROVIDER_FAILING", "post")
    assert failing in await world.standing()
    # A quarter of an hour after it was found last.
    await world.look(2 * MINUTE)
    assert failing in await world.standing()
    await world.look(13 * MINUTE)
    assert failing not in await world.standing()


async def test_an_alert_email_waits_for_a_provider(world: World) -> None:
    await world.harness.create("INV-1")
    await world.look(2 * HOUR)
    kept = world.delivery_providers.pop("post")
    assert await world.send() == []
    world.delivery_providers["post"] = kept
    world.harness.clock.advance(MINUTE)
    assert len(await world.send()) == 2


async def test_without_recipients_alerts_are_shown_only_in_the_portal(world: World) -> None:
    resources = world.harness.resources
    await apply_installation(resources, check_installation({"alerts": {"email": []}}))
    await world.harness.create("INV-1")
    assert await world.look(2 * HOUR) == 0
    assert await world.standing() == [("STEPS_LATE", "")]
    # A recipient configured later is notified of alerts that are still active.
    await apply_installation(resources, check_installation({"alerts": _ALARMS}))
    assert await world.look() == 1


async def test_the_provider_of_alert_emails_must_exist(world: World) -> None:
    resources = world.harness.resources
    with pytest.raises(ValidationError) as refused:
        await apply_installation(resources, check_installation({"alerts": {"provider": "other"}}))
    assert [each.path for each in refused.value.faults] == ["/alerts/provider"]


async def test_old_alerts_and_emails_are_deleted(world: World) -> None:
    async def count() -> tuple[int, int]:
        [row] = await world.harness.rows(
            "SELECT (SELECT count(*) FROM alerts), (SELECT count(*) FROM staff_emails) WHERE $1 > 0"
        )
        return row[0], row[1]

    resources = world.harness.resources
    async with resources.database.transaction() as tx:
        await raise_alert(tx, AlertKind.BREAK_GLASS, "one", resources.clock.now(), resources.ids)
    await world.look(JUST)
    await world.look(90 * DAY - JUST)
    assert await count() == (1, 2)
    await world.look()
    assert await count() == (0, 0)


async def test_a_missing_alert_check_is_noticed_after_ten_minutes(world: World) -> None:
    async def is_stale() -> bool:
        async with world.harness.resources.database.transaction() as tx:
            return (await load_alert_overview(tx, COMMAND_LINE, world.harness.clock.now())).is_stale

    assert await is_stale()
    await world.look()
    world.harness.clock.advance(10 * MINUTE - JUST)
    assert not await is_stale()
    world.harness.clock.advance(JUST)
    assert await is_stale()
