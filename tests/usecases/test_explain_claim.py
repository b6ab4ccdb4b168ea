"""The explanation of a claim's present state in every situation."""

import json
import re
from datetime import timedelta

import pytest

from dunwell.cases.assignment.rules import Rule, RuleSet
from dunwell.cases.assignment.rules_draft import publish_rules
from dunwell.contact.escalation.engine import Engine
from dunwell.core.claims.claim_holds import open_hold
from dunwell.core.claims.states import HoldKind
from dunwell.core.workflows.definition import Condition, IntegerBounds
from dunwell.operations.claim_status.explain_claim import explain_claim
from dunwell.operations.claim_status.views import (
    ClaimExplanation,
    ExplainedNextContact,
    render_explanation,
)
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from dunwell.platform.text.wire import convert_to_json, render_instant
from tests.support.channels import a_harness_with_channels
from tests.support.command_line import CommandLine
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import Harness, a_harness

LETTERS_LATER = a_definition(
    steps=[
        *DOCUMENT["steps"],
        {
            "id": 6, "name": "Second reminder", "kind": "COMMUNICATION", "channel": "EMAIL",
            "template": "reminder", "when": {"outstanding": {"min": "999999"}},
        },
        {
            "id": 7, "name": "Last reminder", "kind": "COMMUNICATION", "channel": "EMAIL",
            "template": "reminder",
        },
    ]
)  # fmt: skip


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness(resources, clock, LETTERS_LATER)


async def explain(harness: Harness, claim_id: int) -> ClaimExplanation:
    async with harness.work() as work:
        return await explain_claim(work, harness.resources.keys, claim_id)


async def test_the_explanation_of_a_waiting_claim_has_past_and_coming_steps(
    harness: Harness, clock: MovableClock
) -> None:
    [claim_id] = await harness.create()
    await harness.run()
    explanation = await explain(harness, claim_id)
    assert [(step.name, step.reason) for step in explanation.history] == [
        ("First reminder", "sent by EMAIL"),
        ("Wait a week", "started"),
    ]
    assert explanation.next_step is not None
    assert (explanation.next_step.name, explanation.next_step.at) == (
        "Dunning fee", render_instant(clock.now() + timedelta(days=7)),
    )  # fmt: skip
    assert explanation.next_step.reason == 'The wait "Wait a week" ends at this time.'
    assert explanation.next_contacts == (
        # Twenty-one days later at the same local time, after the change to summer time.
        ExplainedNextContact("2026-03-23T09:00:00.000Z", "EMAIL", 7, "Last reminder"),
    )


async def test_the_explanation_lists_rules_that_matched_and_did_not_match(harness: Harness) -> None:
    [row] = await harness.rows("SELECT workflow_id FROM workflows WHERE merchant_id = $1")
    standard = row["workflow_id"]
    rules = (
        Rule("Large", standard, Condition(outstanding=IntegerBounds(min="50000"))),
        Rule("Any", standard),
        Rule("Never", standard),
    )
    async with harness.work() as work:
        await publish_rules(work, RuleSet(rules=rules))
    [claim_id] = await harness.create()
    explained = (await explain(harness, claim_id)).rules
    assert [(r.name, r.outcome, r.unmet) for r in explained.rules] == [
        ("Large", "UNMET", ("outstanding",)),
        ("Any", "MATCHED", ()),
        ("Never", "NOT_REACHED", ()),
    ]
    assert (explained.version, explained.chosen) == (2, "Standard")


async def test_a_hold_without_an_end_is_named_and_nothing_is_forecast(harness: Harness) -> None:
    [claim_id] = await harness.create()
    await harness.run()
    async with harness.work() as work:
        await open_hold(work, claim_id, HoldKind.DISPUTE)
    explanation = await explain(harness, claim_id)
    [hold] = explanation.holds
    assert (hold.kind, hold.by) == ("DISPUTE", "CREDENTIAL")
    assert hold.reason == "the claim is disputed, since 2026-03-02 10:00 Europe/Berlin"
    assert explanation.next_step is not None
    assert explanation.next_step.at is None
    assert explanation.next_contacts == ()


@pytest.mark.parametrize("kind", [HoldKind.DISPUTE, HoldKind.PAYMENT_PENDING, HoldKind.PAUSE])
async def test_a_contact_of_a_claim_on_hold_is_not_announced(
    harness: Harness, kind: HoldKind
) -> None:
    [claim_id] = await harness.create()
    await Engine(harness.resources).run_once()
    before = await explain(harness, claim_id)
    async with harness.work() as work:
        await open_hold(work, claim_id, kind, until=work.now + timedelta(days=3))
    explanation = await explain(harness, claim_id)
    assert before.contact is not None
    assert before.contact.reason == "it is about to be sent"
    assert explanation.contact is not None
    assert (explanation.contact.state, explanation.contact.until) == ("PLANNED", None)
    assert explanation.contact.reason == (
        "not sent while the claim is on hold; sending continues when no hold is left"
    )
    assert explanation.next_step is not None
    assert (explanation.next_step.at, explanation.next_step.reason) == (
        None,
        explanation.contact.reason,
    )
    assert "about to be sent" not in str(explanation)


async def test_a_contact_of_an_ended_claim_is_not_announced(harness: Harness) -> None:
    [claim_id] = await harness.create()
    await Engine(harness.resources).run_once()
    await harness.pay(claim_id, 10240)
    explanation = await explain(harness, claim_id)
    assert "about to be sent" not in str(explanation)


async def test_the_explanation_names_the_guard_that_holds_a_contact(harness: Harness) -> None:
    first, second = await harness.create("A", "B", email="same@example.org")
    await harness.run()
    explanation = [await explain(harness, each) for each in (first, second)]
    held = next(each for each in explanation if each.contact)
    assert held.contact is not None
    assert held.contact.held_by == "GUARD_DAY"
    assert held.contact.until == "2026-03-03T08:00:00.000Z"
    assert held.contact.reason == (
        "held back until 2026-03-03 09:00 Europe/Berlin: the debtor was already contacted "
        "on that day, for this or another claim"
    )
    assert [each.step_id for each in held.next_contacts] == [1, 7]


async def test_the_explanation_of_an_ended_claim_has_only_its_end(harness: Harness) -> None:
    [claim_id] = await harness.create()
    await harness.run()
    await harness.pay(claim_id, 10240)
    explanation = await explain(harness, claim_id)
    assert explanation.reason == "The claim is collected. The debtor is no longer contacted."
    assert (explanation.next_step, explanation.next_contacts) == (None, ())


async def test_the_explanation_of_an_unassigned_claim_says_that_no_workflow_runs(
    harness: Harness,
) -> None:
    async with harness.work() as work:
        await publish_rules(work, RuleSet(default=None))
    [claim_id] = await harness.create()
    explanation = await explain(harness, claim_id)
    assert explanation.assignment is None
    assert explanation.reason == "No workflow is running because the claim is not assigned."


async def test_the_command_prints_the_explanation(harness: Harness, dunwell: CommandLine) -> None:
    [claim_id] = await harness.create()
    await harness.run()
    printed = dunwell.run("explain", "nordwind", str(claim_id)).stdout
    # The command uses the real clock, so only the format of future steps is known.
    assert re.sub(r"\w{3} [-0-9]+ [0-9:]+(?=  EMAIL)", "THEN", printed) == (
        f"Claim {claim_id}: IN_PROCESS\n"
        'Workflow: "Standard" v1.0, chosen by rules 1\n'
        "Rules 1, for the claim as it is now:\n"
        "  default: taken\n"
        "History:\n"
        "  Mon 2026-03-02 10:00  First reminder: sent by EMAIL\n"
        "  Mon 2026-03-02 10:00  Wait a week: started\n"
        "Next: Dunning fee (FEE), Mon 2026-03-09 10:00\n"
        '  The wait "Wait a week" ends at this time.\n'
        "Next contacts, if nothing is paid:\n"
        "  THEN  EMAIL   Last reminder\n"
    )


async def test_the_json_of_the_command_has_the_names_of_the_api(
    harness: Harness, dunwell: CommandLine
) -> None:
    [claim_id] = await harness.create()
    await harness.run()
    printed = json.loads(dunwell.run("explain", "nordwind", str(claim_id), "--json").stdout)
    explanation = convert_to_json(render_explanation(await explain(harness, claim_id)))
    # The command uses the real clock.
    del printed["nextContacts"][0]["at"], explanation["nextContacts"][0]["at"]
    assert printed == explanation


async def test_the_explanation_shows_when_a_contact_stops_waiting_for_an_attachment(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_channels(resources, clock, "EMAIL", attachments="REQUIRED")
    [claim_id] = await harness.create()
    await harness.run()
    explanation = await explain(harness, claim_id)
    assert explanation.contact is not None
    assert explanation.contact.state == "ATTACHMENT_MISSING"
    assert explanation.contact.until == render_instant(clock.now() + timedelta(days=7))
    assert explanation.next_contacts == ()
