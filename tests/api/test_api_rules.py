"""Assignment rules seen by a merchant: at creation and by start assignment."""

from typing import Any

from dunwell.cases.assignment.rules import RuleSet
from dunwell.cases.assignment.rules_draft import publish_rules
from tests.support.api import Api
from tests.support.claims import a_claim
from tests.support.rules import a_rule


async def rule(api: Api, *, default: bool = False, **when: Any) -> None:
    """One rule with these conditions for the published workflow."""
    workflow_id = api.version.workflow_id
    rules = RuleSet(workflow_id if default else None, (a_rule("one", workflow_id, **when),))
    async with api.harness.work() as work:
        await publish_rules(work, rules)


async def read(api: Api, claim_id: int) -> Any:
    answer = await api.nordwind.get(f"/claims/{claim_id}")
    return answer.json()["result"]["assignment"]


async def test_a_created_claim_has_what_its_rule_says(api: Api) -> None:
    await rule(api, country="DE")
    [german] = await api.nordwind.create("A-1", address={"country": "DE"})
    [other] = await api.nordwind.create("A-2")

    assert (await read(api, german))["workflowId"] == str(api.version.workflow_id)
    assert await read(api, other) is None


async def test_start_assignment_applies_the_rules_of_now(api: Api) -> None:
    await rule(api, country="AT")
    [claim_id] = await api.nordwind.create("A-1", address={"country": "DE"})
    path = f"/assignments/claim/{claim_id}"

    assert (await api.nordwind.post(path)).json()["result"] == {"claimId": claim_id}

    await rule(api, country=["AT", "DE"])
    expected = {"claimId": claim_id, "workflowId": str(api.version.workflow_id)}
    for _ in range(2):
        answer = await api.nordwind.post(path)
        assert (answer.status_code, answer.json()["result"]) == (200, expected)


async def test_a_claim_of_another_currency_is_told_so_when_created(api: Api) -> None:
    await rule(api, default=True)

    answer = await api.nordwind.post("/claims", [a_claim("A-9", currency="USD")])

    [created] = answer.json()["result"]

    assert [each["code"] for each in created["result"]["warnings"]] == ["OTHER_CURRENCY"]
    assert await read(api, created["id"]) is None
