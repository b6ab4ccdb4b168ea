"""One merchant with two engines and two dispatchers on one database, run in any order, and what a
test has to remember: which claims were paid, which version was newest, and the observed steps of
each run."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from dunwell.cases.assignment.assign_claims import assign_to_workflow
from dunwell.cases.assignment.rules import RuleSet
from dunwell.cases.assignment.rules_draft import publish_rules
from dunwell.cases.payments.reversals import reverse_payment
from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.escalation.contacts.outcomes.record_outcomes import resolve_unknown_contact
from dunwell.contact.escalation.engine import Engine
from dunwell.contact.escalation.reports.delivery_reports import report_failure
from dunwell.core.claims.claim_holds import expire_holds, lift_holds, open_hold
from dunwell.core.claims.states import HoldKind
from dunwell.core.workflows.change_workflow import activate_workflow, deactivate_workflow
from dunwell.core.workflows.drafts.edit_draft import discard_draft, save_draft
from dunwell.core.workflows.drafts.publish_draft import publish_draft
from dunwell.core.workflows.versions.versions import Version
from dunwell.platform.errors import InvalidState
from tests.support.gated_channels import GatedChannel, SentMessages
from tests.support.harness import Harness
from tests.support.process_variants import a_variant

NAMES = ("Standard", "Other")
DEBTORS: tuple[dict[str, Any], ...] = (
    {"email": "ada@example.org", "mobileNumber": "+4915111111111"},
    {"email": "ada@example.org", "mobileNumber": "+4915133333333"},
    {"email": None, "mobileNumber": "+4915122222222"},
    {"email": "bob@example.org", "mobileNumber": "+4915122222222"},
    {"email": None, "mobileNumber": None},
)


@dataclass
class SimulatedDispatcher:
    """A dispatcher with its own channels, and its current pass."""

    dispatcher: MessageDispatcher
    channels: list[GatedChannel]
    gate: asyncio.Event
    task: "asyncio.Task[int] | None" = None


@dataclass
class ProcessSimulation:
    harness: Harness
    sent_messages: SentMessages
    engines: list[Engine]
    dispatchers: list[SimulatedDispatcher]
    claim_ids: list[int] = field(default_factory=list)
    paid: dict[int, UUID] = field(default_factory=dict)
    # Versions by tag, and the newest version of each workflow and major after each operation.
    versions: dict[str, Version] = field(default_factory=dict)
    shapes: dict[str, int] = field(default_factory=dict)
    current: dict[tuple[UUID, int], set[UUID]] = field(default_factory=dict)
    count: int = 0

    @property
    def merchant_id(self) -> int:
        return self.harness.merchant.merchant_id

    async def begin(self, shape: int) -> None:
        """Publish both workflows; claims are assigned to the first."""
        for name in NAMES:
            await self.publish(name, shape, 0)
        async with self.harness.work() as work:
            await publish_rules(work, RuleSet(default=self.workflow_id(NAMES[0])))

    async def create(self, person: int) -> None:
        self.count += 1
        self.claim_ids += await self.harness.create(f"INV-{self.count}", **DEBTORS[person])

    async def publish(self, name: str, shape: int, variant: int) -> None:
        """Publish a minor version if the shape is that of the previous version, otherwise a major
        version."""
        self.count += 1
        tag = f"t{self.count}"
        async with self.harness.work() as work:
            draft = await save_draft(work, name, a_variant(shape, variant, tag))
            version = await publish_draft(work, draft.workflow_id)
        self._check_number(name, shape, version)
        self.versions[tag], self.shapes[name] = version, shape
        self.current.setdefault((version.workflow_id, version.major), set()).add(version.version_id)

    def _check_number(self, name: str, shape: int, version: Version) -> None:
        if name not in self.shapes:
            assert version.name == "v1.0"
            return
        earlier = [v for v in self.versions.values() if v.workflow_id == version.workflow_id]
        last = max(earlier, key=lambda each: (each.major, each.minor))
        is_minor = self.shapes[name] == shape
        expected = (last.major, last.minor + 1) if is_minor else (last.major + 1, 0)
        assert (version.major, version.minor) == expected

    def workflow_id(self, name: str) -> UUID:
        index = NAMES.index(name)
        return list(dict.fromkeys(v.workflow_id for v in self.versions.values()))[index]

    async def draft(self, name: str, shape: int) -> None:
        async with self.harness.work() as work:
            await save_draft(work, name, a_variant(shape, 0, "never published"))

    async def discard(self, name: str) -> None:
        try:
            async with self.harness.work() as work:
                await discard_draft(work, self.workflow_id(name))
        except InvalidState as refusal:
            assert "no draft" in refusal.message  # noqa: PT017 - the one refusal there may be

    async def enable(self, name: str, *, is_enabled: bool) -> None:
        change = activate_workflow if is_enabled else deactivate_workflow
        async with self.harness.work() as work:
            await change(work, self.workflow_id(name))

    async def assign(self, claim_id: int, name: str) -> None:
        async with self.harness.work() as work:
            await assign_to_workflow(work, self.workflow_id(name), [claim_id])

    async def pay(self, claim_id: int) -> None:
        """Pay everything that is open, or reverse the payment if the claim is paid."""
        self.count += 1
        async with self.harness.work() as work:
            if claim_id in self.paid:
                await reverse_payment(work, claim_id, self.paid.pop(claim_id))
                return
        balance = (await self.harness.read(claim_id)).balance
        if balance.outstanding_cents:
            cents, name = balance.outstanding_cents, f"tx-{self.count}"
            self.paid[claim_id] = (await self.harness.pay(claim_id, cents, name)).payment.payment_id

    async def hold(self, claim_id: int, days: int) -> None:
        try:
            async with self.harness.work() as work:
                until = work.now + timedelta(days=days) if days else None
                await open_hold(work, claim_id, HoldKind.DISPUTE, until=until)
        except InvalidState as refusal:
            assert "in process" in refusal.message  # noqa: PT017 - the same

    async def lift(self, claim_id: int) -> None:
        async with self.harness.work() as work:
            await lift_holds(work, claim_id, HoldKind.DISPUTE)

    async def fail_late(self, index: int) -> None:
        """Report a bounce of an accepted message."""
        for key in (await self.list_contacts("ACCEPTED"))[index:][:1]:
            await self._bounce(key)

    async def fail_all_late(self) -> None:
        for key in await self.list_contacts("ACCEPTED"):
            await self._bounce(key)

    async def _bounce(self, key: UUID) -> None:
        async with self.harness.work() as work:
            await report_failure(work, self.harness.resources.keys, key, "bounced")

    async def settle(self, index: int, *, was_sent: bool) -> None:
        for key in (await self.list_contacts("UNKNOWN"))[index:][:1]:
            if not was_sent:
                self.sent_messages.possibly_sent.discard(key)
            async with self.harness.work() as work:
                await resolve_unknown_contact(work, key, was_sent=was_sent)

    async def list_contacts(self, state: str) -> list[UUID]:
        rows = await self.harness.rows(
            "SELECT communication_id FROM communications WHERE merchant_id = $1 AND state = $2"
            " ORDER BY communication_id",
            state,
        )
        return [row["communication_id"] for row in rows]

    async def begin_dispatch(self, which: int) -> None:
        """Start a pass: its messages are sent, but no result arrives yet."""
        simulated = self.dispatchers[which]
        if simulated.task is not None:
            return
        simulated.gate.clear()
        self.sent_messages.arrived.clear()
        simulated.task = self._start(simulated)
        arrival = asyncio.create_task(self.sent_messages.arrived.wait())
        await asyncio.wait([simulated.task, arrival], return_when=asyncio.FIRST_COMPLETED)
        arrival.cancel()
        if simulated.task.done():
            await self.finish_dispatch(which)

    async def finish_dispatch(self, which: int) -> None:
        simulated = self.dispatchers[which]
        simulated.gate.set()
        if simulated.task is not None:
            task, simulated.task = simulated.task, None
            await task

    def _start(self, simulated: SimulatedDispatcher) -> "asyncio.Task[int]":
        for channel in simulated.channels:
            channel.closed = set(self.paid)
        return asyncio.create_task(simulated.dispatcher.run_merchant(self.merchant_id))

    async def run_engine(self, which: int) -> int:
        await expire_holds(self.harness.resources, self.merchant_id)
        return await self.engines[which].run_set(self.merchant_id)

    async def run_all(self, *others: Coroutine[Any, Any, None]) -> None:
        """Run both engines, the idle dispatchers and the other coroutines at the same time."""
        rounds: list[Any] = [self.run_engine(0), self.run_engine(1), *others]
        for simulated in self.dispatchers:
            if simulated.task is None:
                simulated.gate.set()
                rounds.append(self._start(simulated))
        await asyncio.gather(*rounds)

    def advance(self, minutes: int) -> None:
        self.harness.clock.advance(timedelta(minutes=minutes))

    async def close(self) -> None:
        for which, simulated in enumerate(self.dispatchers):
            await self.finish_dispatch(which)
            await simulated.dispatcher.close()
