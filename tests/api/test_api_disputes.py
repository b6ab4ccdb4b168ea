"""Disputes are opened, resolved and listed."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.configuration import DisputeReason, DisputeSettings
from dunwell.cases.disputes.dispute import render_case_number
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.api import Answer, Api, an_api
from tests.support.disputes import REJECTED, dispute, resolve, withdraw
from tests.support.harness import ERP
from tests.support.merchants import CONFIGURATION

OWN = msgspec.structs.replace(
    CONFIGURATION, disputes=DisputeSettings((DisputeReason("WRONG_SIZE", {"de": "Falsche Größe"}),))
)


async def open_one(api: Api, claim_id: int, **changes: Any) -> Answer:
    given = {"type": "AMOUNT_WRONG", "message": "ten too much", **changes}
    answer = await api.nordwind.post(f"/claims/{claim_id}/disputes", given)
    assert answer.status_code == 200, answer.text
    opened: Answer = answer.json()["result"]
    return opened


async def read(api: Api, claim_id: int) -> Answer:
    claim: Answer = (await api.nordwind.get(f"/claims/{claim_id}")).json()["result"]
    return claim


async def list_all(api: Api, claim_id: int) -> list[Answer]:
    listed = (await api.nordwind.get(f"/claims/{claim_id}/disputes")).json()["result"]
    assert listed["nextCursor"] is None
    found: list[Answer] = listed["items"]
    return found


async def test_a_merchants_dispute_puts_the_claim_on_hold_and_publishes_an_event(api: Api) -> None:
    [claim_id] = await api.nordwind.create()

    opened = await open_one(api, claim_id)

    assert opened == {
        "id": opened["id"], "claimId": claim_id, "type": "AMOUNT_WRONG", "reason": None,
        "label": None, "message": "ten too much", "answers": {}, "files": [], "state": "OPEN",
        "caseNumber": render_case_number(UUID(opened["id"])), "openedBy": "MERCHANT",
        "openedAt": "2026-03-02T09:00:00.000Z", "resolvedAt": None,
        "resolution": None, "claimEnded": None,
    }  # fmt: skip
    assert await list_all(api, claim_id) == [opened]
    [hold] = (await read(api, claim_id))["holds"]
    assert hold["kind"] == "DISPUTE"
    [event] = (await api.nordwind.get("/events")).json()["result"]["items"]
    assert event["claim"]["disputeReason"] == {"type": "AMOUNT_WRONG", "disputeId": opened["id"]}


async def test_a_custom_reason_has_the_type_other_and_the_merchants_label(
    resources: Resources, clock: MovableClock
) -> None:
    async with an_api(resources, clock, configuration=OWN) as api:
        [claim_id] = await api.nordwind.create()
        opened = await open_one(api, claim_id, type="WRONG_SIZE")
        [event] = (await api.nordwind.get("/events")).json()["result"]["items"]
    assert [opened[name] for name in ("type", "reason", "label", "message")] == [
        "OTHER", "WRONG_SIZE", "Falsche Größe", "ten too much",
    ]  # fmt: skip
    assert event["claim"]["disputeReason"] == {
        "type": "OTHER", "message": "Falsche Größe", "disputeId": opened["id"],
    }  # fmt: skip


async def test_an_accepted_dispute_withdraws_the_claim(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    opened = await open_one(api, claim_id)
    path = f"/claims/{claim_id}/disputes/{opened['id']}/resolve"

    answer = await api.nordwind.post(path, {"outcome": "ACCEPTED", "message": "Right you are."})

    assert answer.json()["result"] == {
        **opened, "state": "ACCEPTED", "resolvedAt": "2026-03-02T09:00:00.000Z",
        "resolution": "Right you are.", "claimEnded": True,
    }  # fmt: skip
    claim = await read(api, claim_id)
    assert (claim["status"], claim["holds"], claim["nextStepAt"]) == ("WITHDRAWN", [], None)
    again = await api.nordwind.post(path, {"outcome": "ACCEPTED"})
    assert (again.status_code, again.content) == (200, answer.content)


async def test_a_claim_can_continue_after_an_accepted_dispute(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    opened = await open_one(api, claim_id)
    path = f"/claims/{claim_id}/disputes/{opened['id']}/resolve"

    answer = await api.nordwind.post(path, {"outcome": "ACCEPTED", "endClaim": False})

    assert answer.json()["result"]["claimEnded"] is False
    claim = await read(api, claim_id)
    # The claim waits until the debtor has the answer, and some days longer.
    [hold] = claim["holds"]
    assert (claim["status"], hold["kind"], hold["until"]) == ("CREATED", "DISPUTE", None)


async def test_another_outcome_is_refused_with_the_disputes_state(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    opened = await open_one(api, claim_id)
    path = f"/claims/{claim_id}/disputes/{opened['id']}/resolve"
    await api.nordwind.post(path, {"outcome": "REJECTED"})

    answer = await api.nordwind.post(path, {"outcome": "ACCEPTED"})

    assert answer.status_code == 409
    error = answer.json()["error"]
    assert (error["type"], error["details"]) == ("InvalidState", {"state": "REJECTED"})
    assert (await read(api, claim_id))["status"] == "CREATED"


async def test_a_dispute_that_its_debtor_withdrew_is_listed_and_cannot_be_resolved(
    api: Api,
) -> None:
    [claim_id] = await api.nordwind.create()
    theirs = await withdraw(api.harness, await dispute(api.harness, claim_id))

    [listed] = await list_all(api, claim_id)
    answer = await api.nordwind.post(
        f"/claims/{claim_id}/disputes/{theirs.dispute_id}/resolve", {"outcome": "REJECTED"}
    )

    assert (listed["openedBy"], listed["state"]) == ("DEBTOR", "WITHDRAWN")
    assert answer.json()["error"]["details"] == {"state": "WITHDRAWN"}


async def find(api: Api, **params: Any) -> Any:
    answer = await api.nordwind.get("/disputes", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]


async def find_ids(api: Api, **params: Any) -> list[str]:
    return [each["id"] for each in (await find(api, **params))["items"]]


async def test_the_list_across_claims_adds_the_reference_number_and_the_answer_date(
    api: Api,
) -> None:
    [claim_id] = await api.nordwind.create()
    await dispute(api.harness, claim_id)
    [listed] = await list_all(api, claim_id)
    assert await find(api) == {
        "items": [listed | {"referenceNumber": "INV-1001", "answerBy": "2026-03-16"}],
        "nextCursor": None,
    }


async def test_filters_select_open_and_overdue_disputes(api: Api, clock: MovableClock) -> None:
    first, second = await api.nordwind.create("A-1", "A-2")
    answered, late = await dispute(api.harness, first), await dispute(api.harness, second)
    await resolve(api.harness, answered, REJECTED)
    clock.advance(timedelta(days=15))
    await api.nordwind.obtain_token()
    young = await dispute(api.harness, first, "DEFECTIVE", "a hole", actor=ERP)
    assert await find_ids(api, state="OPEN") == [str(young.dispute_id), str(late.dispute_id)]
    assert await find_ids(api, state="REJECTED") == [str(answered.dispute_id)]
    assert await find_ids(api, overdue="true") == [str(late.dispute_id)]
    assert await find_ids(api, overdue="true", state="OPEN") == [str(late.dispute_id)]
    assert await find_ids(api, overdue="true", state="REJECTED") == []
    assert len(await find_ids(api, overdue="false")) == 3
