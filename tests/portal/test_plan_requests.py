"""Requests for plans and deferrals in the portal: their due dates, and which are overdue."""

from datetime import timedelta

import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.application import an_application
from tests.support.documents import read_text
from tests.support.harness import a_harness
from tests.support.modalities import OFFERING, PLAN, Arrangement
from tests.support.portal import Clerk, sign_in

DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("days", "is_today", "is_overdue"),
    [(0, False, False), (3, True, False), (4, False, True)],
)
async def test_a_request_is_listed_with_its_due_date_and_later_as_overdue(
    resources: Resources, clock: MovableClock, days: int, is_today: bool, is_overdue: bool
) -> None:
    """The request is made on Monday, 2 March 2026; three business days later is Thursday."""
    harness = await a_harness(resources, clock, configuration=OFFERING)
    [claim_id] = await harness.create("INV-1001")
    asked = await Arrangement(harness, claim_id).ask(PLAN)
    clock.advance(days * DAY)
    clerk: Clerk = await sign_in(resources, an_application(resources).app, harness)

    for path in ("/plans", f"/claims/{claim_id}/plans/{asked.modality_id}"):
        page = read_text((await clerk.get(path)).text)
        assert "Respond by" in page
        assert "5 Mar 2026" in page
        assert (" overdue" in page) is is_overdue
        assert (" today" in page) is is_today
    start = read_text((await clerk.get("")).text)
    assert ("1 overdue" in start) is is_overdue
    assert "5 Mar 2026" not in read_text((await clerk.get("/plans?show=all")).text)


async def test_an_answered_request_has_no_due_date_and_is_not_overdue(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, configuration=OFFERING)
    [claim_id] = await harness.create("INV-1001")
    approved = await Arrangement(harness, claim_id).agree(PLAN)
    clock.advance(10 * DAY)
    clerk: Clerk = await sign_in(resources, an_application(resources).app, harness)

    page = read_text((await clerk.get(f"/claims/{claim_id}/plans/{approved.modality_id}")).text)
    assert "Respond by" not in page
    assert "overdue" not in page + read_text((await clerk.get("")).text)
