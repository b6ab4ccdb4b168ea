"""Operations on a claim while another operation on it is in progress."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.cases.assignment.assign_claims import assign_to_workflow
from dunwell.cases.intake.create_claims import create_claims
from dunwell.contact.escalation.engine import Engine
from dunwell.contact.sending.channel import Message, Outcome, Temporary
from dunwell.core.claims.claim_holds import expire_holds, lift_holds, open_hold
from dunwell.core.claims.states import HoldKind
from dunwell.core.workflows.drafts.edit_draft import save_draft
from dunwell.core.workflows.drafts.publish_draft import publish_draft
from dunwell.operations.sandbox.advance_clock import advance_clock
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.claims import a_submission
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import Harness, ScriptedChannel, a_harness
from tests.support.waiting import wait_until_blocked

DAY = timedelta(days=1)
_STATES = "SELECT state FROM communications WHERE merchant_id = $1 ORDER BY planned_at, run"


@dataclass
class InterruptedChannel(ScriptedChannel):
    """A channel during whose first call something happens."""

    meanwhile: Callable[[], Awaitable[Any]] | None = None

    async def send(self, message: Message) -> Outcome:
        happening, self.meanwhile = self.meanwhile, None
        if happening is not None:
            await happening()
        return await super().send(message)


async def hold(harness: Harness, claim_id: int, kind: HoldKind, days: int | None = None) -> None:
    async with harness.work() as work:
        await open_hold(work, claim_id, kind, until=work.now + days * DAY if days else None)


async def lift(harness: Harness, claim_id: int, kind: HoldKind) -> None:
    async with harness.work() as work:
        await lift_holds(work, claim_id, kind)


async def due_at(harness: Harness) -> list[Any]:
    return [row["due_at"] for row in await harness.rows(
        "SELECT due_at FROM claims WHERE merchant_id = $1 ORDER BY claim_id")]  # fmt: skip


async def test_a_hold_lifted_while_a_contact_is_planned_makes_nothing_due(
    resources: Resources, clock: MovableClock
) -> None:
    channel = ScriptedChannel([Temporary(60)])
    harness = await a_harness(resources, clock, a_definition(), channels=[channel])
    [claim_id] = await harness.create()
    await harness.run()
    await hold(harness, claim_id, HoldKind.PAUSE)
    await lift(harness, claim_id, HoldKind.PAUSE)
    assert await due_at(harness) == [None]
    clock.advance(timedelta(seconds=60))
    await harness.run()
    assert [row["state"] for row in await harness.rows(_STATES)] == ["ACCEPTED"]


async def test_holds_of_an_unassigned_and_of_a_paid_claim_can_end(
    resources: Resources, clock: MovableClock
) -> None:
    unassigned = await a_harness(resources, clock)
    [claim_id] = await unassigned.create()
    await hold(unassigned, claim_id, HoldKind.PAUSE)
    await lift(unassigned, claim_id, HoldKind.PAUSE)
    paid = await a_harness(resources, clock, a_definition(), key="hansen")
    [paid_id] = await paid.create()
    await hold(paid, paid_id, HoldKind.PAUSE, days=1)
    await paid.pay(paid_id, 10240)
    clock.advance(2 * DAY)
    assert await expire_holds(resources) == 1
    assert await due_at(unassigned) + await due_at(paid) == [None, None]


async def test_a_dispute_opened_while_another_hold_expires_keeps_the_claim_on_hold(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, a_definition())
    [claim_id] = await harness.create()
    await hold(harness, claim_id, HoldKind.PAYMENT_PENDING, days=1)
    clock.advance(DAY)
    async with harness.work() as work:
        await open_hold(work, claim_id, HoldKind.DISPUTE)
        expiring = asyncio.create_task(expire_holds(resources))
        await wait_until_blocked(resources.database, expiring)
    await expiring
    await harness.run()
    assert harness.channels[0].sent == []
    assert [each.kind for each in (await harness.read(claim_id)).holds] == [HoldKind.DISPUTE]


async def test_a_claim_that_cannot_be_stored_stops_no_other_claim_or_merchant(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, a_definition(steps=DOCUMENT["steps"][2:]))
    bad, good = await harness.create("A", "B")
    async with harness.work() as work:
        # The fee of this step exists already, so that the batch cannot be stored.
        await work.tx.execute(
            "INSERT INTO items (merchant_id, claim_id, position, type, value_cents, run, step_id)"
            " VALUES ($1, $2, 1, 'DUNNING_FEE', 250, 1, 3)",
            harness.merchant.merchant_id, bad,
        )  # fmt: skip
    settings = {**DOCUMENT["settings"], "feesNeedContact": False}
    await harness.publish(a_definition(steps=DOCUMENT["steps"][2:], settings=settings), "Fees")
    async with harness.work() as work:
        versions = await work.tx.fetch(
            "SELECT workflow_id FROM workflows WHERE merchant_id = $1 AND name = 'Fees'",
            work.merchant_id,
        )
        await assign_to_workflow(work, versions[0]["workflow_id"], [bad, good])
        await work.tx.execute(
            "UPDATE items SET run = 2 WHERE merchant_id = $1 AND step_id = 3", work.merchant_id
        )
    other = await a_harness(resources, clock, a_definition(), key="hansen")
    await other.create()
    await Engine(resources).run_once()
    assert [event["type"] for event in await harness.events(good)] == [
        "FEE_ADDED",
        "CHECKPOINT_REACHED",
    ]
    assert (await harness.read(bad)).next_step_at == clock.now() + timedelta(hours=1)
    assert [row["state"] for row in await other.rows(_STATES)] == ["PLANNED"]


async def test_a_claim_paid_during_a_channel_outage_is_not_contacted_again(
    resources: Resources, clock: MovableClock
) -> None:
    channel = InterruptedChannel([Temporary(60)])
    harness = await a_harness(resources, clock, a_definition(), channels=[channel], sandbox=True)
    [claim_id] = await harness.create()
    channel.meanwhile = lambda: harness.pay(claim_id, 10240)
    async with harness.work() as work:
        merchant = work.merchant
    await advance_clock(resources, [channel], merchant, SYSTEM, clock.now() + 30 * DAY)
    assert len(channel.sent) == 1
    assert [row["state"] for row in await harness.rows(_STATES)] == ["CANCELLED"]
    async with harness.work() as work:
        assert work.now == clock.now() + 30 * DAY


async def test_a_claim_reassigned_during_a_channel_outage_gets_only_the_new_contact(
    resources: Resources, clock: MovableClock
) -> None:
    channel = InterruptedChannel([Temporary(60)])
    harness = await a_harness(resources, clock, a_definition(), channels=[channel])
    [claim_id] = await harness.create()
    async with harness.work() as work:
        draft = await save_draft(work, "Other", a_definition(snippets={}))
        other = await publish_draft(work, draft.workflow_id)

    async def assign() -> None:
        async with harness.work() as work:
            await assign_to_workflow(work, other.workflow_id, [claim_id])

    channel.meanwhile = assign
    await harness.run_until(clock.now() + timedelta(hours=2))
    assert [row["state"] for row in await harness.rows(_STATES)] == ["CANCELLED", "ACCEPTED"]
    assert [event["type"] for event in await harness.events(claim_id)] == ["ESCALATED"]


async def test_creating_the_same_references_in_opposite_orders_does_not_deadlock(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, a_definition())
    references = [f"INV-{n:03}" for n in range(300)]

    async def create(order: list[str]) -> int:
        async with harness.work() as work:
            results = await create_claims(work, [a_submission(each) for each in order])
        return sum(1 for result in results if result.claim_id is not None)

    for round_number in range(3):
        names = [f"{round_number}-{reference}" for reference in references]
        assert sorted(await asyncio.gather(create(names), create(names[::-1]))) == [0, 300]


async def test_an_absurd_due_date_starts_the_claim_at_once(
    resources: Resources, clock: MovableClock
) -> None:
    settings = {**DOCUMENT["settings"], "processingStart": "DUE_DATE"}
    harness = await a_harness(resources, clock, a_definition(settings=settings))
    item = {"reference": "A", "type": "PRIMARY", "value": "1", "dueDate": "0001-01-01"}
    await harness.create(items=[item])
    assert await due_at(harness) == [clock.now()]
