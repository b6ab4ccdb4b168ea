"""Metrics of waiting work: due steps, and messages by delivery provider."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import check_installation
from dunwell.accounts.merchants.configuration import ChannelSetup
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.operations.alerts.backlog_metrics import BacklogMetrics, compute_message_counts
from dunwell.operations.alerts.store import MessageCount, count_due_steps, count_messages
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import Database
from dunwell.platform.metrics import REGISTRY
from dunwell.platform.resources import Resources
from tests.support.merchants import CONFIGURATION, a_merchant
from tests.support.plans import Explaining, fill

_PROVIDER: dict[str, Any] = {
    "channel": "EMAIL",
    "adapter": "smtp",
    "server": "mail.example.com:587",
}
# A claim for each message, which has waited in the given state for an hour.
_ADD_MESSAGES = """
WITH added AS (
    INSERT INTO claims (merchant_id, reference_number, currency, created_at, updated_at)
    SELECT $1, gen_random_uuid()::text, 'EUR', $5, $5 FROM generate_series(1, $4::integer)
    RETURNING claim_id)
INSERT INTO communications (merchant_id, communication_id, claim_id, run, step_id, place, channel,
                            state, not_before, planned_at, lease_until, provider)
SELECT $1, gen_random_uuid(), claim_id, 1, 1, 0, $3, $2,
       $5::timestamptz - interval '1 hour', $5, $6, $7
FROM added
"""
_ADD_STEPS = """
INSERT INTO claims (merchant_id, reference_number, currency, created_at, updated_at, due_at,
                    workflow_id, workflow_major, next_step_id, held)
SELECT $1, gen_random_uuid()::text, 'EUR', $2, $2, $2, gen_random_uuid(), 1, 1, $4
FROM generate_series(1, $3::integer)
"""
_ADD_NOTICE = """
INSERT INTO debtor_notices (merchant_id, notice_id, claim_id, kind, channel, language, state,
                            due_at, dated_at, created_at, expires_at, settled_at, recipient,
                            body_text)
VALUES ($1, gen_random_uuid(), 1, 'CODE', 'EMAIL', 'de', $2, $3, $4, $4, $4,
        CASE WHEN $3::timestamptz IS NULL THEN $4::timestamptz END, 'a@example.org', 'Text')
"""


@dataclass
class Installation:
    resources: Resources
    clock: MovableClock
    merchant: Merchant
    sandbox: Merchant
    figures: BacklogMetrics

    @property
    def now(self) -> datetime:
        return self.clock.now()

    async def add_steps(self, ago: timedelta, count: int = 1, *, held: bool = False) -> None:
        for each in (self.merchant, self.sandbox):
            await self._write(_ADD_STEPS, each.merchant_id, self.now - ago, count, held)

    async def add_messages(
        self, state: str, channel: str, count: int, *, lease_until: datetime | None = None,
        provider: str | None = None,
    ) -> None:  # fmt: skip
        for each in (self.merchant, self.sandbox):
            await self._write(
                _ADD_MESSAGES,
                each.merchant_id,
                state,
                channel,
                count,
                self.now,
                lease_until,
                provider,
            )

    async def add_notice(self, state: str, due_at: datetime | None) -> None:
        for each in (self.merchant, self.sandbox):
            await self._write(_ADD_NOTICE, each.merchant_id, state, due_at, self.now)

    async def _write(self, statement: str, *values: object) -> None:
        async with self.resources.database.connection() as connection:
            # The referenced rows, such as workflows, are not needed here.
            await connection.execute("SET session_replication_role = replica")
            await connection.execute(statement, *values)
            await connection.execute("RESET session_replication_role")


@pytest.fixture
async def installation(resources: Resources, clock: MovableClock) -> Installation:
    await apply_installation(
        resources, check_installation({"deliveryProviders": {"post": _PROVIDER}})
    )
    channels = {"EMAIL": ChannelSetup(provider="post"), "LETTER": ChannelSetup()}
    by_line = msgspec.structs.replace(CONFIGURATION, channels=channels)
    async with resources.database.transaction() as tx:
        merchant = await a_merchant(tx, now=clock.now(), configuration=by_line)
        sandbox = await a_merchant(
            tx, "probe", now=clock.now(), configuration=by_line, sandbox=True
        )
    return Installation(resources, clock, merchant, sandbox, BacklogMetrics(resources))


def read_figure(name: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(name, labels)


def read_messages(provider: str) -> list[float | None]:
    states = ("planned", "leased", "unknown")
    return [read_figure("dunwell_messages", provider=provider, state=each) for each in states]


async def test_due_steps_are_counted_with_the_age_of_the_oldest(
    installation: Installation,
) -> None:
    await installation.figures.run_once()
    assert read_figure("dunwell_steps_due") == 0
    assert read_figure("dunwell_steps_oldest_due_seconds") == 0
    await installation.add_steps(timedelta(minutes=10))
    await installation.add_steps(timedelta(minutes=3), 4)
    await installation.add_steps(timedelta(hours=9), held=True)
    await installation.add_steps(-timedelta(seconds=1))
    await installation.figures.run_once()
    assert read_figure("dunwell_steps_due") == 5
    assert read_figure("dunwell_steps_oldest_due_seconds") == 600


async def test_messages_are_counted_by_delivery_provider_and_state(
    installation: Installation,
) -> None:
    later = installation.now + timedelta(seconds=10)
    await installation.add_messages("PLANNED", "EMAIL", 4)
    await installation.add_messages("ATTACHMENT_MISSING", "EMAIL", 1)
    await installation.add_messages("PLANNED", "EMAIL", 2, lease_until=later)
    await installation.add_messages("HANDED_OVER", "EMAIL", 3, lease_until=later)
    await installation.add_messages("UNKNOWN", "EMAIL", 1)
    await installation.add_messages("UNKNOWN", "EMAIL", 2, provider="gone")
    await installation.add_messages("ACCEPTED", "EMAIL", 9, provider="post")
    await installation.add_messages("PLANNED", "LETTER", 6)
    await installation.add_notice("PLANNED", later)
    await installation.add_notice("HANDED_OVER", later)
    await installation.add_notice("ACCEPTED", None)
    await installation.figures.run_once()
    assert read_messages("post") == [6, 6, 1]
    assert read_messages("_other") == [0, 0, 2]
    assert read_messages("_none") == [6, 0, 0]


async def test_a_removed_delivery_provider_has_no_metric(
    installation: Installation, resources: Resources
) -> None:
    await apply_installation(
        resources,
        check_installation({"deliveryProviders": {"post": _PROVIDER, "spare": _PROVIDER}}),
    )
    await installation.figures.run_once()
    assert read_messages("spare") == [0, 0, 0]
    await apply_installation(
        resources, check_installation({"deliveryProviders": {"post": _PROVIDER}})
    )
    await installation.figures.run_once()
    assert read_messages("spare") == [None, None, None]


def test_at_most_fifty_delivery_providers_have_a_label() -> None:
    providers = [f"provider-{number:03}" for number in range(51)]
    messages = [MessageCount(each, "planned", 1) for each in [*providers, "removed"]]
    counts = compute_message_counts(messages, providers)
    assert len({label for label, _ in counts}) == 52
    assert counts["provider-049", "planned"] == 1
    assert ("provider-050", "planned") not in counts
    assert counts["_other", "planned"] == 2


async def test_counting_stops_at_the_limit(installation: Installation, database: Database) -> None:
    await installation.add_steps(timedelta(minutes=3), 4)
    await installation.add_steps(timedelta(minutes=10))
    await installation.add_messages("PLANNED", "EMAIL", 4)
    async with database.connection() as connection:
        steps = await count_due_steps(connection, installation.now, 3)
        messages = await count_messages(connection, installation.now, 3)
    assert steps.count == 3
    assert steps.oldest == installation.now - timedelta(minutes=10)
    assert messages == [MessageCount("post", "planned", 3)]


async def test_counting_reads_only_waiting_rows(
    installation: Installation, database: Database
) -> None:
    settled = "ACCEPTED", "EMAIL", 20_000, installation.now, None, "post"
    await fill(
        database, _ADD_MESSAGES, installation.merchant.merchant_id, *settled,
        tables="claims, communications, debtor_notices",
    )  # fmt: skip
    await installation.add_steps(timedelta(minutes=1), 5)
    await installation.add_messages("PLANNED", "EMAIL", 5)
    async with database.connection() as connection:
        explaining = Explaining(connection)
        await count_due_steps(explaining, installation.now, 100_000)
        await count_messages(explaining, installation.now, 100_000)
    assert not {"claims", "communications"} & explaining.tables_read_whole, explaining.plans
    # With few merchants, the index per merchant may be as good as the one over all.
    used = {each.removesuffix("_anywhere") for each in explaining.indexes}
    assert used >= {
        "claims_due", "communications_planned", "communications_handed_over",
        "communications_unknown",
    }, explaining.plans  # fmt: skip
    assert explaining.rows_read < 100, explaining.plans
