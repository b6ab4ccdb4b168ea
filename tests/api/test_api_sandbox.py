"""The test clock of sandbox merchants (CONTRACT 12)."""

import pytest

from tests.support.api import Api


async def test_the_test_clock_does_not_run(sandbox: Api) -> None:
    answer = await sandbox.nordwind.get("/test-clock")

    assert answer.json()["result"] == {"now": "2026-03-02T09:00:00.000Z"}


async def test_advancing_the_test_clock_runs_due_steps(sandbox: Api) -> None:
    [claim_id] = await sandbox.nordwind.create()

    moving = {"advanceTo": "2026-03-10T09:00:00Z"}
    answer = await sandbox.nordwind.post("/test-clock", moving)

    result = answer.json()["result"]
    assert result["now"] == "2026-03-10T09:00:00.000Z"
    events = (await sandbox.nordwind.get("/events")).json()["result"]["items"]
    types = sorted(each["type"] for each in events)
    assert types == ["CHECKPOINT_REACHED", "ESCALATED", "FEE_ADDED"]
    assert result["eventsRaised"] == 3
    claim = (await sandbox.nordwind.get(f"/claims/{claim_id}")).json()["result"]
    assert claim["outstanding"] == "10490"


@pytest.mark.parametrize("instant", ["2026-03-02T08:59:59Z", "2026-03-10", "soon", "2026-03-10T09"])
async def test_the_test_clock_is_only_advanced_to_a_later_instant(
    sandbox: Api, instant: str
) -> None:
    answer = await sandbox.nordwind.post("/test-clock", {"advanceTo": instant})

    assert answer.status_code == 422
    assert answer.json()["error"]["details"]["errors"][0]["path"] == "/advanceTo"
    clock = (await sandbox.nordwind.get("/test-clock")).json()["result"]["now"]
    assert clock == "2026-03-02T09:00:00.000Z"


async def test_live_merchants_have_no_test_clock(api: Api) -> None:
    moving = {"advanceTo": "2026-03-10T09:00:00Z"}
    for answer in (
        await api.nordwind.get("/test-clock"),
        await api.nordwind.post("/test-clock", moving),
    ):
        assert (answer.status_code, answer.json()["error"]["type"]) == (409, "InvalidState")
