"""Simulations of a workflow on one claim: dates and reasons, texts and costs; and that the engine
does the same."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from dunwell.accounts.merchants.actor import COMMAND_LINE
from dunwell.accounts.merchants.configuration import Guards, QuietHours
from dunwell.cases.rollout.trials.simulate import (
    Simulation,
    SimulationScope,
    prepare_simulation,
    simulate,
)
from dunwell.contact.messages.suppression import suppress
from dunwell.core.workflows.definition import Definition
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.children import PRINTER
from tests.support.harness import Harness, a_harness
from tests.support.merchants import CONFIGURATION
from tests.support.texts import a_harness_with_prices, a_texts_definition


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness_with_prices(resources, clock)


async def play(
    harness: Harness, played: SimulationScope | None = None, definition: Definition | None = None
) -> Simulation:
    async with harness.work(COMMAND_LINE) as work:
        prepared = await prepare_simulation(
            work, harness.resources, definition or a_texts_definition(), played or SimulationScope()
        )
    return await simulate(prepared, printer=PRINTER)


def describe(simulation: Simulation) -> list[tuple[str, str]]:
    """Return day and time in the workflow's time zone with channel or kind."""
    return [
        (f"{each.event.at.astimezone(UTC):%m-%d %H:%M}", each.channel or each.kind)
        for each in simulation.steps
    ]


def whys(simulation: Simulation, place: int) -> list[tuple[str, str]]:
    return [(each.code, each.day.isoformat()) for each in simulation.steps[place].reasons]


async def test_a_sample_claim_runs_through_all_steps(harness: Harness) -> None:
    simulation = await play(harness)

    assert describe(simulation) == [
        ("03-02 09:00", "EMAIL"), ("03-02 09:00", "WaitBegun"), ("03-09 09:00", "FeeAdded"),
        ("03-09 09:00", "LETTER"), ("03-09 09:00", "WaitBegun"), ("03-25 09:00", "Archived"),
    ]  # fmt: skip
    # The wait of 14 days starts on the day when the letter can have arrived.
    assert whys(simulation, 4) == [("LETTER_ON_ITS_WAY", "2026-03-11")]
    assert simulation.fees_cents == 250
    assert simulation.contacts == {"EMAIL": 1, "LETTER": 1}
    assert (simulation.cost, simulation.unpriced) == (Decimal("85.05"), {})


async def test_simulated_texts_have_the_balance_of_their_day(harness: Harness) -> None:
    simulation = await play(harness)

    mail, letter = simulation.steps[0].text, simulation.steps[3].text
    assert mail is not None
    assert letter is not None
    assert "104,90\u00a0€" in mail.text
    assert "107,40\u00a0€" in letter.text
    assert (letter.language, letter.units, letter.cost) == ("de", 1, Decimal(85))


async def test_holidays_and_weekdays_that_delay_a_step_are_named(harness: Harness) -> None:
    """After hours on Maundy Thursday: Good Friday, a weekend and Easter Monday are skipped, so the
    contact is on Tuesday."""
    harness.clock.move_to(datetime(2026, 4, 2, 17, tzinfo=UTC))

    simulation = await play(harness, SimulationScope(start_on=date(2026, 4, 2)))

    assert describe(simulation)[0] == ("04-07 07:00", "EMAIL")
    assert whys(simulation, 0) == [
        ("AFTER_HOURS", "2026-04-02"), ("HOLIDAY", "2026-04-03"), ("NO_WEEKDAY", "2026-04-04"),
        ("NO_WEEKDAY", "2026-04-05"), ("HOLIDAY", "2026-04-06"),
    ]  # fmt: skip


async def test_a_wait_of_business_days_lists_the_holidays_within_it(harness: Harness) -> None:
    simulation = await play(harness, SimulationScope(start_on=date(2026, 12, 23)))

    assert describe(simulation)[1:3] == [("12-23 09:00", "WaitBegun"), ("12-31 09:00", "FeeAdded")]
    assert whys(simulation, 1) == [("HOLIDAY", "2026-12-25")]


async def test_a_wait_that_ends_on_a_weekend_is_explained_by_its_last_days(
    harness: Harness,
) -> None:
    steps: list[dict[str, Any]] = [
        {"id": 1, "kind": "WAIT", "name": "Five days", "days": 5},
        {"id": 2, "kind": "COMMUNICATION", "name": "Mail", "channel": "EMAIL",
         "template": "reminder"},
    ]  # fmt: skip

    simulation = await play(harness, definition=a_texts_definition(steps=steps))

    assert describe(simulation)[1] == ("03-09 08:00", "EMAIL")
    assert whys(simulation, 1) == [("NO_WEEKDAY", "2026-03-07"), ("NO_WEEKDAY", "2026-03-08")]


async def test_a_contact_due_before_the_contact_hours_waits_until_they_start(
    harness: Harness,
) -> None:
    harness.clock.move_to(datetime(2026, 3, 3, 4, tzinfo=UTC))

    simulation = await play(harness)

    assert describe(simulation)[0] == ("03-03 08:00", "EMAIL")
    assert whys(simulation, 0) == [("BEFORE_HOURS", "2026-03-03")]


async def test_guards_and_quiet_hours_that_delay_a_step_are_named(
    resources: Resources, clock: MovableClock
) -> None:
    guards = Guards(max_contacts_per_day=1, quiet_hours=QuietHours("17:00", "11:00"))
    configuration = msgspec.structs.replace(CONFIGURATION, guards=guards)
    harness = await a_harness_with_prices(resources, clock, configuration=configuration)
    steps: list[dict[str, Any]] = [
        {"id": number, "kind": "COMMUNICATION", "name": f"Mail {number}", "channel": "EMAIL",
         "template": "reminder"}
        for number in (1, 2)
    ]  # fmt: skip

    simulation = await play(harness, definition=a_texts_definition(steps=steps))

    assert describe(simulation)[:2] == [("03-02 10:00", "EMAIL"), ("03-03 10:00", "EMAIL")]
    assert whys(simulation, 0) == [("QUIET_HOURS", "2026-03-02")]
    assert ("GUARD_DAY", "2026-03-02") in whys(simulation, 1)


async def test_a_stored_claim_is_simulated_with_its_own_facts(harness: Harness) -> None:
    """The e-mail address is suppressed, so an SMS is sent. Without a postal address, no letter is
    sent."""
    [claim_id] = await harness.create("A-1", mobileNumber="+4915112345678")
    async with harness.work() as work:
        await suppress(work, harness.resources.keys, "EMAIL", "erika@example.org", "DEBTOR")

    simulation = await play(harness, SimulationScope(claim_id))

    assert [each.channel or each.kind for each in simulation.steps][:4] == [
        "SMS", "WaitBegun", "FeeAdded", "NobodyReachable",
    ]  # fmt: skip
    assert simulation.cost == Decimal("7.5")
    assert await harness.rows("SELECT FROM communications WHERE merchant_id = $1") == []


async def test_missing_texts_and_prices_are_reported(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    definition = a_texts_definition(templates={})

    simulation = await play(harness, definition=definition)

    assert simulation.steps[0].text is not None
    assert simulation.steps[0].text.refused == "NO_TEXT"
    assert (simulation.cost, simulation.unpriced) == (Decimal(0), {"EMAIL": 1})


async def test_the_engine_behaves_as_simulated(resources: Resources, clock: MovableClock) -> None:
    """Over Easter, with a fallback, fees, and a step with a condition on the amount."""
    clock.move_to(datetime(2026, 4, 2, 12, tzinfo=UTC))
    steps: list[dict[str, Any]] = [
        {"kind": "COMMUNICATION", "name": "First", "channel": "EMAIL", "template": "reminder"},
        {"kind": "WAIT", "name": "Two days", "businessDays": 2},
        {"kind": "FEE", "name": "Fee", "type": "DUNNING_FEE", "value": "250"},
        {"kind": "COMMUNICATION", "name": "Small", "channel": "EMAIL", "template": "reminder",
         "when": {"outstanding": {"max": "10250"}}},
        {"kind": "COMMUNICATION", "name": "Second", "channel": "EMAIL", "template": "reminder"},
        {"kind": "COMMUNICATION", "name": "At once", "channel": "EMAIL", "template": "reminder",
         "send": "IMMEDIATE"},
        {"kind": "WAIT", "name": "A week", "days": 7},
    ]  # fmt: skip
    texts = msgspec.to_builtins(a_texts_definition().templates)
    email = {"reminder": {"EMAIL": texts["reminder"]["EMAIL"]}}
    numbered = [{"id": number, **each} for number, each in enumerate(steps, 1)]
    definition = a_texts_definition(templates=email, steps=numbered)
    harness = await a_harness(resources, clock, definition)
    [claim_id] = await harness.create("A-1")

    simulation = await play(harness, SimulationScope(claim_id), definition)
    await harness.run_until(clock.now() + timedelta(days=20))

    simulated_contacts = [
        (each.outcome.step.id, each.event.at) for each in simulation.steps if each.channel
    ]
    rows = await harness.rows(
        "SELECT step_id, handed_over_at FROM communications WHERE merchant_id = $1"
        " AND state = 'ACCEPTED' ORDER BY handed_over_at"
    )
    assert [(row["step_id"], row["handed_over_at"]) for row in rows] == simulated_contacts
    assert [step_id for step_id, _ in simulated_contacts] == [1, 5, 6]
    view = await harness.read(claim_id)
    assert view.balance.outstanding_cents == 10490 - 250 + simulation.fees_cents
    assert (view.status, view.updated_at) == ("ARCHIVED", simulation.ends_at)
