"""The forecast of a claim matches what the engine does when every contact is accepted."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from dunwell.contact.escalation.forecast.forecast import forecast
from dunwell.contact.escalation.prepared_workflow import prepare_workflow_for_timezone
from dunwell.contact.escalation.schedule import (
    ContactPlanned,
    StepFacts,
    StepOutcome,
    WorkflowPosition,
)
from dunwell.core.claims.conditions import ConditionFacts
from dunwell.operations.sandbox.advance_clock import advance_clock
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import ERP, Harness, a_harness

# A Monday, 10:00 in Berlin; Easter is on 5 April.
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
SPAN = timedelta(days=90)
SETTINGS = DOCUMENT["settings"]
EMAIL = {"kind": "COMMUNICATION", "channel": "EMAIL", "template": "reminder"}
FEE = {"kind": "FEE", "type": "DUNNING_FEE", "value": "250"}
CHECKPOINT = {"kind": "CHECKPOINT", "offset": 1, "message": "here"}

DEFINITIONS: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "usual": (SETTINGS, DOCUMENT["steps"]),
    "starts with the due date": (
        {**SETTINGS, "processingStart": "DUE_DATE"},
        [EMAIL, {"kind": "WAIT", "days": 3}, EMAIL],
    ),
    "business days over Easter": (
        SETTINGS,
        [EMAIL, {"kind": "WAIT", "businessDays": 21}, EMAIL, {"kind": "WAIT", "businessDays": 5}],
    ),
    "waits that end at night and on a Sunday, over the change of clocks": (
        {**SETTINGS, "contactHours": {"weekdays": ["SAT"], "from": "02:15", "to": "02:45"}},
        [EMAIL, {"kind": "WAIT", "days": 22}, FEE, {**EMAIL, "send": "IMMEDIATE"}, EMAIL],
    ),
    "guards that fees and days change": (
        SETTINGS,
        [
            {**FEE, "value": "1"}, EMAIL, {"kind": "WAIT", "days": 1}, FEE,
            {**EMAIL, "when": {"outstanding": {"min": "10490"}}}, {"kind": "WAIT", "days": 5},
            {**EMAIL, "when": {"itemType": "DUNNING_FEE"}},
            {**CHECKPOINT, "when": {"primaryAgeDays": {"max": 25}}}, {"kind": "WAIT", "days": 2},
            {**EMAIL, "when": {"outstanding": {"min": "10490"}, "total": {"max": "10490"}}},
        ],
    ),
    "fees without contact, and a channel nobody has": (
        {**SETTINGS, "feesNeedContact": False},
        [FEE, {**EMAIL, "channel": "SMS", "fallbacks": ["EMAIL"]}, {**EMAIL, "channel": "LETTER"}],
    ),
}  # fmt: skip

# Archiving is ordered after every step.
_HISTORY = """
SELECT step_id, outcome, at FROM step_history WHERE merchant_id = $1 AND step_id > 0
UNION ALL
SELECT 1000, status, updated_at FROM claims WHERE merchant_id = $1 AND status = 'ARCHIVED'
"""


@pytest.mark.parametrize("name", DEFINITIONS)
async def test_the_forecast_of_a_claim_matches_what_the_engine_does(
    name: str, resources: Resources, clock: MovableClock
) -> None:
    settings, kinds = DEFINITIONS[name]
    steps = [{"id": n, "name": f"Step {n}", **kind} for n, kind in enumerate(kinds, start=1)]
    document = {**DOCUMENT["templates"], "reminder": _TEMPLATE}
    definition = a_definition(settings=settings, steps=steps, templates=document)
    clock.move_to(START)
    harness = await a_harness(resources, clock, definition, sandbox=True)
    await harness.create(items=[{**_ITEM, "dueDate": "2026-03-09"}])
    forecast_steps = await _forecast_steps(harness, definition)
    await advance_clock(resources, harness.channels, harness.merchant, ERP, START + SPAN)
    happened = [(row["at"], row["step_id"], row["outcome"]) for row in await harness.rows(_HISTORY)]
    assert forecast_steps == sorted(happened)
    assert forecast_steps[-1][2] == "ARCHIVED"


_ITEM = {"reference": "INV-1001", "type": "PRIMARY", "value": "10240", "itemDate": "2026-02-10"}
_BODY = {"de": "{{ landing.url }}", "en": "{{ landing.url }}"}
_TEMPLATE = {
    **DOCUMENT["templates"]["reminder"],
    "SMS": {"body": _BODY},
    "LETTER": {"subject": _BODY, "body": _BODY},
}


async def _forecast_steps(harness: Harness, definition: Any) -> list[tuple[datetime, int, str]]:
    [row] = await harness.rows("SELECT next_step_id, due_at FROM claims WHERE merchant_id = $1")
    condition = ConditionFacts(
        outstanding_cents=10240, total_cents=10240, today=START.date(),
        first_primary_on=date(2026, 3, 9), item_types=frozenset({"PRIMARY"}),
    )  # fmt: skip
    forecast_steps = forecast(
        prepare_workflow_for_timezone(definition, "Europe/Berlin"),
        WorkflowPosition(row["next_step_id"], row["due_at"]),
        StepFacts(condition, has_reached=False, usable_channels=frozenset({"EMAIL"})),
        START,
        until=START + SPAN,
    )
    return sorted(
        (e.at, e.step.id if e.step else 1000, _name_outcome(e.outcome)) for e in forecast_steps
    )


def _name_outcome(outcome: StepOutcome) -> str:
    if isinstance(outcome, ContactPlanned):
        return "DONE"
    named = {"Skipped": "SKIPPED", "NobodyReachable": "FAILED", "Archived": "ARCHIVED"}
    return named.get(type(outcome).__name__, "DONE")
