"""Every page of the portal, for a claim with many events."""

import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.application import an_application
from tests.support.disputes import dispute
from tests.support.harness import Harness, a_harness
from tests.support.portal import Clerk, sign_in

PATHS = (
    "", "/claims", "/claims?status=IN_PROCESS&hold=DISPUTE&least=1&most=5000&due_from=2026-03-01",
    "/claims?q=INV-1001", "/disputes", "/disputes?state=ACCEPTED", "/plans", "/plans?show=all",
    "/payments", "/payments?show=requests", "/payments?on=2026-03-02", "/jobs", "/webhooks",
    "/messages", "/messages?state=FAILED&channel=EMAIL", "/suppressions", "/answer-texts",
    "/replies", "/workflows",
)  # fmt: skip
OF_CLAIM = (
    "", "?show=messages", "/why", "/account", "/account?on=2026-03-01", "/debtor",
    "/debtor?level=link", "/payment", "/dispute", "/pause", "/resume", "/end", "/contact", "/note",
)  # fmt: skip


@pytest.mark.parametrize("language", ["en", "de"])
async def test_every_page_is_rendered(
    clerk: Clerk, harness: Harness, claim_id: int, language: str
) -> None:
    opened = await dispute(harness, claim_id, message="Not <b>mine</b>")
    await clerk.get(f"?lang={language}")
    paths = [*PATHS, *(f"/claims/{claim_id}{each}" for each in OF_CLAIM)]
    paths.append(f"/claims/{claim_id}/disputes/{opened.dispute_id}")

    for path in paths:
        page = await clerk.get(path)
        assert page.status_code == 200, (path, page.text[-600:])
        assert "<b>mine</b>" not in page.text
        assert f'<html lang="{language}"' in page.text or "/debtor" in path


async def test_a_merchant_with_scenarios_has_a_list_of_claims(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, key="hansen", switched_to_workflows=False)
    clerk = await sign_in(resources, an_application(resources).app, harness)
    assert (await clerk.get("/claims")).status_code == 200
