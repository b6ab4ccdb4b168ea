"""Two engines and two dispatchers of one merchant on one database, in any order of actions.

Between their rounds people and programs act; no step is skipped or repeated, and nothing is sent
twice (promise 12).
"""

import asyncio
import itertools
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar, TypeVar

import msgspec
import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from structlog.testing import capture_logs

from dunwell.accounts.merchants.configuration import ChannelSetup
from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.escalation.engine import Engine
from dunwell.contact.sending.channel import Accepted, Permanent, Temporary
from dunwell.platform.clock import MovableClock
from dunwell.platform.config import Settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Database
from dunwell.platform.embedded.postgres import EmbeddedPostgres
from dunwell.platform.ids import RandomIds
from dunwell.platform.resources import Resources
from tests.faults.installation import ROUNDS
from tests.support.gated_channels import GatedChannel, SentMessages
from tests.support.harness import a_harness
from tests.support.merchant_ids import use_next_merchant_ids
from tests.support.merchants import CONFIGURATION
from tests.support.process_completion import list_active, run_to_the_end
from tests.support.process_invariants import ClaimInvariants
from tests.support.process_simulation import DEBTORS, NAMES, ProcessSimulation, SimulatedDispatcher
from tests.support.process_variants import SHAPES, VARIANTS

T = TypeVar("T")
EXAMPLES, STEPS = 18, 40
# A Friday afternoon before Easter: contact hours end soon; business days and the clock change
# follow.
_START = datetime(2026, 3, 27, 15, 30, tzinfo=UTC)
_SETUPS: Any = {name: ChannelSetup(adapter="outbox") for name in ("EMAIL", "SMS")}
_CONFIGURATION = msgspec.structs.replace(CONFIGURATION, channels=_SETUPS)
# In minutes: a minute, past a lease, hours, a night, days, and an outage longer than the late
# policy.
_PAUSES = (1, 3, 60, 16 * 60, 24 * 60, 3 * 24 * 60, 8 * 24 * 60, 40 * 24 * 60)
_ANSWERS = (Accepted(), Temporary(60), Permanent("gone"), ConnectionResetError())


@dataclass
class MachineEnvironment:
    """An event loop and connections of its own, because a state machine is not asynchronous."""

    loop: asyncio.AbstractEventLoop
    database: Database
    settings: Settings
    keys: "itertools.count[int]" = field(default_factory=itertools.count)

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    async def prepare(self) -> None:
        """Use merchant ids that no other test uses, because they are cache keys."""
        async with self.database.connection() as connection:
            await use_next_merchant_ids(connection)

    async def open_simulation(self) -> ProcessSimulation:
        key = str(next(self.keys))
        clock = MovableClock(_START)
        resources = Resources(
            self.settings, self.database, clock, RandomIds(), KeyRing(self.settings.secret_key)
        )
        harness = await a_harness(
            resources, clock, key=key, configuration=_CONFIGURATION, channels=[]
        )
        sent_messages = SentMessages()
        dispatchers = [_open_dispatcher(resources, sent_messages) for _ in range(2)]
        return ProcessSimulation(
            harness, sent_messages, [Engine(resources), Engine(resources)], dispatchers
        )


def _open_dispatcher(resources: Resources, sent_messages: SentMessages) -> SimulatedDispatcher:
    gate = asyncio.Event()
    channels = [
        GatedChannel(sent_messages, "EMAIL", gate),
        GatedChannel(sent_messages, "SMS", gate),
    ]
    return SimulatedDispatcher(MessageDispatcher(resources, channels), channels, gate)


_PERSONS = st.integers(0, len(DEBTORS) - 1)
_WORKFLOWS = st.sampled_from(NAMES)
_DESKS = st.integers(0, 1)
_SOME = st.integers(0, 7)


class ProcessMachine(RuleBasedStateMachine):
    environment: ClassVar[MachineEnvironment]

    def __init__(self) -> None:
        super().__init__()
        self.do = self.environment.do
        self.simulation = self.do(self.environment.open_simulation())
        self.truths = ClaimInvariants(self.simulation)

    @initialize(shape=st.integers(0, SHAPES - 1), people=st.lists(_PERSONS, min_size=1, max_size=3))
    def begin(self, shape: int, people: list[int]) -> None:
        self.do(self.simulation.begin(shape))
        for person in people:
            self.do(self.simulation.create(person))

    def claim(self, index: int) -> int:
        return self.simulation.claim_ids[index % len(self.simulation.claim_ids)]

    @rule(person=_PERSONS)
    @precondition(lambda self: len(self.simulation.claim_ids) < 8)
    def create(self, person: int) -> None:
        self.do(self.simulation.create(person))

    @rule(name=_WORKFLOWS, variant=st.integers(0, VARIANTS - 1))
    def publish_minor(self, name: str, variant: int) -> None:
        self.do(self.simulation.publish(name, self.simulation.shapes[name], variant))

    @rule(name=_WORKFLOWS, by=st.integers(1, SHAPES - 1))
    def publish_major(self, name: str, by: int) -> None:
        self.do(self.simulation.publish(name, (self.simulation.shapes[name] + by) % SHAPES, 0))

    @rule(name=_WORKFLOWS, shape=st.integers(0, SHAPES - 1))
    def save_draft(self, name: str, shape: int) -> None:
        self.do(self.simulation.draft(name, shape))

    @rule(name=_WORKFLOWS)
    def discard_draft(self, name: str) -> None:
        self.do(self.simulation.discard(name))

    @rule(name=_WORKFLOWS, is_enabled=st.booleans())
    def deactivate(self, name: str, is_enabled: bool) -> None:
        self.do(self.simulation.enable(name, is_enabled=is_enabled))

    @rule(index=_SOME, name=_WORKFLOWS)
    def reassign(self, index: int, name: str) -> None:
        self.do(self.simulation.assign(self.claim(index), name))

    @rule(index=_SOME)
    def pay_or_reverse(self, index: int) -> None:
        self.do(self.simulation.pay(self.claim(index)))

    @rule(index=_SOME, days=st.sampled_from([0, 1, 4, 40]))
    def hold(self, index: int, days: int) -> None:
        self.do(self.simulation.hold(self.claim(index), days))

    @rule(index=_SOME)
    def lift(self, index: int) -> None:
        self.do(self.simulation.lift(self.claim(index)))

    @rule(minutes=st.sampled_from(_PAUSES))
    def wait(self, minutes: int) -> None:
        self.simulation.advance(minutes)

    @rule(index=_SOME)
    def report_late_failure(self, index: int) -> None:
        self.do(self.simulation.fail_late(index))

    @rule(index=_SOME, was_sent=st.booleans())
    def settle_unknown(self, index: int, was_sent: bool) -> None:
        self.do(self.simulation.settle(index, was_sent=was_sent))

    @rule(channel=st.sampled_from(["EMAIL", "SMS"]), answer=st.sampled_from(_ANSWERS))
    def prepare_answer(self, channel: Any, answer: Any) -> None:
        self.simulation.sent_messages.answers.setdefault(channel, []).append(answer)

    @rule(which=_DESKS)
    def run_engine(self, which: int) -> None:
        self.do(self.simulation.run_engine(which))

    @rule(which=_DESKS)
    def begin_dispatch(self, which: int) -> None:
        self.do(self.simulation.begin_dispatch(which))

    @rule(which=_DESKS, minutes=st.sampled_from(_PAUSES))
    def bounce_all_while_others_leave(self, which: int, minutes: int) -> None:
        self.do(self.simulation.run_all())
        self.simulation.advance(minutes)
        self.do(self.simulation.run_engine(which))
        self.do(self.simulation.begin_dispatch(which))
        self.do(self.simulation.fail_all_late())

    @rule(which=_DESKS)
    def finish_dispatch(self, which: int) -> None:
        self.do(self.simulation.finish_dispatch(which))

    @rule()
    def run_all(self) -> None:
        self.do(self.simulation.run_all())

    @rule(name=_WORKFLOWS, variant=st.integers(0, VARIANTS - 1))
    def run_all_while_publishing_a_minor(self, name: str, variant: int) -> None:
        publishing = self.simulation.publish(name, self.simulation.shapes[name], variant)
        self.do(self.simulation.run_all(publishing))

    @rule(index=_SOME, what=st.sampled_from(["pay", "hold", "assign"]))
    def run_all_while_a_claim_changes(self, index: int, what: str) -> None:
        claim_id, world = self.claim(index), self.simulation
        if what == "pay":
            changing = world.pay(claim_id)
        elif what == "hold":
            changing = world.hold(claim_id, 4)
        else:
            changing = world.assign(claim_id, "Other")
        self.do(world.run_all(changing))

    @rule(index=_SOME, minutes=st.sampled_from(_PAUSES))
    def pass_time(self, index: int, minutes: int) -> None:
        """The most frequent action: time passes and all due work is done."""
        for _ in range(2):
            self.do(self.simulation.run_all())
        self.simulation.advance(minutes)
        self.do(self.simulation.run_all())

    @invariant()
    def all_is_true(self) -> None:
        self.do(self.truths.check())

    def teardown(self) -> None:
        try:
            if self.simulation.claim_ids:
                self.do(run_to_the_end(self.simulation))
                self.do(self.truths.check())
                assert self.do(list_active(self.simulation)) == []
        finally:
            self.do(self.simulation.close())


@pytest.fixture
def environment(postgres: EmbeddedPostgres, settings: Settings) -> Iterator[MachineEnvironment]:
    loop = asyncio.new_event_loop()
    database = loop.run_until_complete(Database.open(postgres.url, size=8))
    made = MachineEnvironment(loop, database, settings)
    loop.run_until_complete(made.prepare())
    with capture_logs():  # Failing channels log a lot.
        yield made
    loop.run_until_complete(database.close())
    loop.close()


def test_no_step_is_skipped_or_repeated_in_any_order_of_actions(
    environment: MachineEnvironment,
) -> None:
    effort = hypothesis_settings(
        max_examples=EXAMPLES * len(ROUNDS),
        stateful_step_count=STEPS,
        suppress_health_check=list(HealthCheck),
        # The order of tasks is not drawn, so that a stored example might not be reproducible.
        database=None,
    )
    ProcessMachine.environment = environment
    run_state_machine_as_test(ProcessMachine, settings=effort)
