"""Messages that name a pay-by date, which follows from the claim's own forecast."""

from datetime import timedelta
from typing import Any

import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import a_harness
from tests.support.recorded_statements import a_counted_database

DAY = timedelta(days=1)
BODY = "Hallo {{ outstanding }} {{ landing.url }}\n\nBitte zahlen Sie bis {{ payBy }}. Danke."
_TEXTS = {"subject": {"de": "Offen", "en": "Open"}, "body": {"de": BODY, "en": BODY}}
TEMPLATES = {"reminder": {"EMAIL": _TEXTS}}
EMAIL = {"kind": "COMMUNICATION", "channel": "EMAIL", "template": "reminder"}
FEE = {"kind": "FEE", "type": "DUNNING_FEE", "value": "250"}
LARGE = {"outstanding": {"min": "20000"}}


def _define(*steps: dict[str, Any], templates: Any = TEMPLATES) -> Any:
    return a_definition(
        steps=[{"id": n, "name": f"Step {n}", **s} for n, s in enumerate(steps, start=1)],
        templates=templates,
    )


def wait(days: int) -> dict[str, Any]:
    return {"kind": "WAIT", "days": days}


# The first message is sent on Monday, 2 March 2026.
@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([wait(14), FEE], "Bitte zahlen Sie bis 10. März 2026. Danke."),
        ([wait(7), FEE], "\n\nDanke."),
        ([wait(14), {**FEE, "when": LARGE}, wait(7), EMAIL], "bis 17. März 2026. Danke."),
    ],
)
async def test_a_message_names_the_last_day_whose_transfer_is_recorded_in_time(
    steps: list[dict[str, Any]], expected: str, resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, _define(EMAIL, *steps))
    await harness.create()
    await harness.run()
    [message] = harness.channels[0].sent
    assert expected in message.body_text
    assert message.body_html is not None
    assert ("Bitte zahlen" in message.body_html) is ("zahlen" in expected or "bis" in expected)


async def test_no_step_runs_before_a_transfer_of_that_day_is_recorded(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, _define(EMAIL, wait(14), FEE, EMAIL, wait(30)))
    [claim_id] = await harness.create()
    await harness.run_until(clock.now() + 13 * DAY)
    assert len(harness.channels[0].sent) == 1
    assert (await harness.read(claim_id)).balance.total_cents == 10240
    await harness.run_until(clock.now() + DAY)
    _, second = harness.channels[0].sent
    # The date of the last contact precedes the archiving on Wednesday, 15 April.
    assert "Bitte zahlen Sie bis 9. April 2026." in second.body_text


async def test_pay_by_dates_are_per_claim_and_need_a_constant_number_of_statements(
    resources: Resources, clock: MovableClock
) -> None:
    steps = (EMAIL, wait(14), {**FEE, "when": LARGE}, wait(7), EMAIL)
    large = [{"reference": "R", "type": "PRIMARY", "value": "50000"}]
    counts = []
    async with a_counted_database(resources, clock) as (over, statements):
        harness = await a_harness(over, clock, _define(*steps))
        for round_ in range(3):
            await harness.create(*(f"S-{round_}-{n}" for n in range(2 + 5 * round_)))
            await harness.create(*(f"L-{round_}-{n}" for n in range(2 + 5 * round_)), items=large)
            harness.channels[0].sent.clear()
            await statements.take()
            await harness.run()
            sent = await statements.take()
            counts.append(sum("contact_guards" in each and "LATERAL" not in each for each in sent))
            days = {m.body_text.split("bis ")[1][:8] for m in harness.channels[0].sent}
            assert days == {"17. März", "10. März"}
    assert counts[1] == counts[2]


async def test_templates_without_a_pay_by_date_compute_none(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_counted_database(resources, clock) as (over, statements):
        harness = await a_harness(over, clock, _define(EMAIL, templates=DOCUMENT["templates"]))
        await harness.create()
        await harness.run()
        without = await statements.take()
        await harness.publish(_define(EMAIL), "Naming")
        await harness.create("INV-2")
        await harness.run()
        naming = await statements.take()
    asked = "SELECT identity_digest, contacted_on\nFROM contact_guards\nWHERE merchant_id"
    assert [sum(asked in each for each in sent) for sent in (without, naming)] == [0, 1]
