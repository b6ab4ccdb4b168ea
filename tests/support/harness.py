"""A merchant with a workflow on a real database. A test runs its workers step by step."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from dunwell.accounts.installation.delivery_providers import ProviderPace
from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import Actor, build_credential_actor
from dunwell.accounts.merchants.configuration import Channel
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import ALL_RIGHTS
from dunwell.accounts.merchants.store import load_merchant
from dunwell.cases.assignment.rules import RuleSet
from dunwell.cases.assignment.rules_draft import publish_rules
from dunwell.cases.intake.create_claims import create_claims
from dunwell.cases.modalities.sweep_modalities import sweep_modalities
from dunwell.cases.payments.record_payment import NewPayment, RecordedPayment, record_payment
from dunwell.cases.rollout.scenarios.save_scenario import save_scenario
from dunwell.cases.rollout.scenarios.switch_to_workflows import SwitchReport, switch_to_workflows
from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.escalation.engine import Engine
from dunwell.contact.sending.channel import Accepted, Message, Outcome
from dunwell.core.claims.access import ClaimView, get_claim
from dunwell.core.claims.claim_holds import expire_holds
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.drafts.edit_draft import save_draft
from dunwell.core.workflows.drafts.publish_draft import publish_draft
from dunwell.core.workflows.store import load_current
from dunwell.core.workflows.versions.versions import Version
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.children import PRINTER
from tests.support.claims import a_submission
from tests.support.merchants import a_merchant
from tests.support.published import RecordedPublication, record_publication

ERP = build_credential_actor("erp", ALL_RIGHTS)
# Workflows that tests in this process have published, by everything on which their rows depend.
_PUBLISHED: dict[tuple[object, ...], RecordedPublication] = {}


@dataclass
class ScriptedChannel:
    """A channel that returns the results in its script and then accepts every message; it records
    the messages."""

    answers: list[Outcome | Exception] = field(default_factory=list)
    channel: Channel = "EMAIL"
    name: str = "outbox"
    is_repeatable: bool = True
    sent: list[Message] = field(default_factory=list)

    async def send(self, message: Message) -> Outcome:
        self.sent.append(message)
        answer = self.answers.pop(0) if self.answers else Accepted()
        if isinstance(answer, Exception):
            raise answer
        return answer


@dataclass
class ScriptedDeliveryProvider(ScriptedChannel):
    """The same channel as a delivery provider. It also returns scripted answers to later status
    requests."""

    name: str = "post"
    is_repeatable: bool = False
    pace: ProviderPace = field(default_factory=ProviderPace)

    async def close(self) -> None:
        """There is nothing to close."""


@dataclass
class QueryableDeliveryProvider(ScriptedDeliveryProvider):
    outcomes: dict[UUID, bool] = field(default_factory=dict)

    async def look_up_outcomes(self, communication_ids: Sequence[UUID]) -> dict[UUID, bool]:
        return {each: self.outcomes[each] for each in communication_ids if each in self.outcomes}


@dataclass
class Harness:
    """A merchant, its published workflow, an engine and a dispatcher."""

    resources: Resources
    clock: MovableClock
    merchant: Merchant
    channels: list[ScriptedChannel]
    # The delivery providers of an installation file, by name.
    delivery_providers: dict[str, ScriptedDeliveryProvider] = field(default_factory=dict)
    is_published: bool = False

    @asynccontextmanager
    async def work(self, actor: Actor = ERP) -> AsyncIterator[Work]:
        async with self.resources.database.transaction() as tx:
            merchant = await load_merchant(tx, self.merchant.merchant_id)
            assert merchant is not None
            yield Work.open(self.resources, tx, merchant, actor)

    async def publish(self, definition: Definition, name: str = "Standard") -> Version:
        """Publish the definition and return the current version, which becomes the default. For a
        merchant with scenarios, publish a scenario."""
        is_first, self.is_published = not self.is_published, True
        key = (name, msgspec.json.encode(definition), self.clock.now(), self.merchant.sandbox_now)
        async with self.work() as work:
            if is_first and work.merchant.switched_to_workflows and key in _PUBLISHED:
                recorded = _PUBLISHED[key]
                ids = [work.ids.new(self.clock.now()) for _ in recorded.ids]
                return await recorded.insert_for(work.tx, work.merchant_id, ids)
            version = await _publish(work, name, definition)
            await publish_rules(work, RuleSet(default=version.workflow_id))
            if is_first and work.merchant.switched_to_workflows:
                record = await record_publication(work.tx, work.merchant_id, version)
                if record is not None:
                    _PUBLISHED[key] = record
        return version

    async def switch(self) -> SwitchReport:
        async with self.work() as work:
            return await switch_to_workflows(work)

    async def create(self, *references: str, **changes: Any) -> list[int]:
        """Create claims with these references and return their ids. Several claims get a debtor
        each, unless `changes` say who the debtor is."""
        if len(references) > 1 and "email" not in changes:
            people = [{"email": f"{each.lower()}@example.org"} for each in references]
        else:
            people = [{}] * max(1, len(references))
        claims = [
            a_submission(reference, **person, **changes)
            for reference, person in zip(references or ["INV-1001"], people, strict=True)
        ]
        async with self.work() as work:
            results = await create_claims(work, claims)
        return [result.claim_id for result in results if result.claim_id is not None]

    async def run(self) -> None:
        """Do everything that is due now, as the worker's loops would."""
        engine, dispatcher = (
            Engine(self.resources),
            MessageDispatcher(
                self.resources,
                self.channels,
                find_provider=self.delivery_providers.get,
                printer=PRINTER,
            ),
        )
        done = 1
        while done or not dispatcher.is_idle:
            done = await sweep_modalities(self.resources)
            done += await expire_holds(self.resources)
            done += await engine.run_once()
            done += await dispatcher.run_once()
        await dispatcher.close()

    async def run_until(self, instant: datetime) -> None:
        """Advance hour by hour to the instant and do what falls due."""
        await self.run()
        while self.clock.now() < instant:
            self.clock.move_to(min(instant, self.clock.now() + timedelta(hours=1)))
            await self.run()

    async def read(self, claim_id: int) -> ClaimView:
        async with self.work() as work:
            return await get_claim(work, claim_id)

    async def pay(self, claim_id: int, cents: int, transaction_id: str = "tx-1") -> RecordedPayment:
        async with self.work() as work:
            payment = NewPayment(cents, "EUR", transaction_id)
            return await record_payment(work, claim_id, payment)

    async def events(self, claim_id: int) -> list[dict[str, Any]]:
        """Return the bodies of the claim's events in order, without additional types."""
        rows = await self.rows(
            "SELECT body FROM events WHERE merchant_id = $1 AND claim_id = $2"
            " AND sequence IS NOT NULL ORDER BY sequence",
            claim_id,
        )
        return [msgspec.json.decode(row["body"]) for row in rows]

    async def additions(self, claim_id: int) -> list[dict[str, Any]]:
        """Return the bodies of the claim's events of additional types in order."""
        rows = await self.rows(
            "SELECT body FROM events WHERE merchant_id = $1 AND claim_id = $2"
            " AND sequence IS NULL ORDER BY event_id",
            claim_id,
        )
        return [msgspec.json.decode(row["body"]) for row in rows]

    async def rows(self, statement: str, *values: object) -> Sequence[Any]:
        """Return the rows of a query whose parameter $1 is the merchant."""
        async with self.resources.database.connection() as connection:
            return list(await connection.fetch(statement, self.merchant.merchant_id, *values))


async def _publish(work: Work, name: str, definition: Definition) -> Version:
    if work.merchant.switched_to_workflows:
        draft = await save_draft(work, name, definition)
        return await publish_draft(work, draft.workflow_id)
    saved = await save_scenario(work, name, definition)
    version = await load_current(work.tx, work.merchant_id, saved.workflow_id)
    assert version is not None
    return version


async def a_harness(
    resources: Resources, clock: MovableClock, definition: Definition | None = None, **given: Any
) -> Harness:
    """Return a merchant with its workflow. `given` holds the channels and arguments of
    a_merchant."""
    channels = given.pop("channels", None) or [ScriptedChannel()]
    providers = given.pop("delivery_providers", {})
    async with resources.database.transaction() as tx:
        merchant = await a_merchant(tx, now=clock.now(), **given)
    harness = Harness(resources, clock, merchant, channels, providers)
    if definition is not None:
        await harness.publish(definition)
    return harness
