"""Assigning disputes and plan requests, and filtering lists by the assignee."""

from typing import Any
from uuid import UUID

import pytest

from dunwell.accounts.merchants.actor import Interface, Origin, build_user_actor
from dunwell.accounts.merchants.rights import ROLE_RIGHTS, Role
from dunwell.accounts.users.user import UserRoles
from dunwell.cases.disputes.answer_dispute import assign_dispute
from dunwell.cases.disputes.dispute import ClaimDispute
from dunwell.cases.modalities.answer_modality import assign_modality
from dunwell.platform.errors import InsufficientScope, InvalidState, NotFound, ValidationError
from dunwell.platform.resources import Resources
from tests.support.application import an_application
from tests.support.disputes import REJECTED, answer, dispute
from tests.support.harness import Harness, a_harness
from tests.support.portal import Clerk, read_fields, sign_in
from tests.support.portal_data import PortalData, create_portal_data


def _path(opened: ClaimDispute) -> str:
    return f"/claims/{opened.claim_id}/disputes/{opened.dispute_id}"


async def _find_user(harness: Harness, clerk: Clerk) -> UUID:
    """Return the id of the clerk, whose name the page shows."""
    page = (await clerk.get("/disputes")).text
    name = page.partition("<summary><bdi>")[2].partition("</bdi>")[0]
    async with harness.resources.database.connection() as connection:
        found: UUID = await connection.fetchval("SELECT user_id FROM users WHERE name = $1", name)
    return found


async def _assign(clerk: Clerk, path: str, to: UUID | None, known: UUID | None = None) -> str:
    shown = await clerk.get(path)
    token = shown.text.partition('name="token" value="')[2].partition('"')[0]
    fields = {
        "token": token, "assignee": str(to or ""), "known_assignee": str(known or ""),
    }  # fmt: skip
    return (await clerk.follow(await clerk.post(f"{path}/assignee", fields))).text


async def _find_assignee(harness: Harness) -> UUID | None:
    [row] = await harness.rows("SELECT assignee_id FROM disputes WHERE merchant_id = $1")
    found: UUID | None = row["assignee_id"]
    return found


async def test_a_dispute_is_assigned_to_oneself_then_to_a_colleague_then_to_no_one(
    clerk: Clerk, staff: Clerk, harness: Harness, claim_id: int
) -> None:
    opened = await dispute(harness, claim_id)
    me, colleague = await _find_user(harness, clerk), await _find_user(harness, staff)

    assert "Assigned." in await _assign(clerk, _path(opened), me)
    assert await _find_assignee(harness) == me
    await _assign(clerk, _path(opened), colleague, me)
    assert await _find_assignee(harness) == colleague
    await _assign(clerk, _path(opened), None, colleague)
    assert await _find_assignee(harness) is None

    rows = await harness.rows(
        "SELECT subject, before, after, details FROM audit_log WHERE merchant_id = $1"
        " AND action = 'dispute.assign' ORDER BY audit_id"
    )
    changes: list[Any] = [(row["before"]["assignee"], row["after"]["assignee"]) for row in rows]
    assert changes == [(None, str(me)), (str(me), str(colleague)), (str(colleague), None)]
    assert rows[0]["subject"] == f"claim:{claim_id}"


async def test_the_second_of_two_simultaneous_assignments_gets_a_conflict(
    clerk: Clerk, staff: Clerk, harness: Harness, claim_id: int
) -> None:
    opened = await dispute(harness, claim_id)
    me, colleague = await _find_user(harness, clerk), await _find_user(harness, staff)
    await _assign(staff, _path(opened), colleague)

    page = await _assign(clerk, _path(opened), me)

    assert "someone else has assigned the case" in page
    assert await _find_assignee(harness) == colleague


async def test_the_inbox_filters_by_own_and_unassigned_disputes(
    clerk: Clerk, staff: Clerk, harness: Harness, claim_id: int
) -> None:
    [second, third] = await harness.create("INV-2002", "INV-3003")
    mine, theirs = await dispute(harness, claim_id), await dispute(harness, second)
    await dispute(harness, third)
    me, colleague = await _find_user(harness, clerk), await _find_user(harness, staff)
    await _assign(clerk, _path(mine), me)
    await _assign(clerk, _path(theirs), colleague)

    async def list_shown(whose: str) -> list[str]:
        page = (await clerk.get(f"/disputes?whose={whose}")).text
        return [each for each in ("INV-1001", "INV-2002", "INV-3003") if each in page]

    assert await list_shown("mine") == ["INV-1001"]
    assert await list_shown("nobodys") == ["INV-3003"]
    assert await list_shown("") == ["INV-1001", "INV-2002", "INV-3003"]


@pytest.mark.parametrize("how", ["ended", "without the right"])
async def test_disputes_of_a_deactivated_user_count_as_unassigned(
    clerk: Clerk, staff: Clerk, harness: Harness, claim_id: int, how: str
) -> None:
    opened = await dispute(harness, claim_id)
    gone = await _find_user(harness, staff)
    await _assign(clerk, _path(opened), gone)
    assert "INV-1001" not in (await clerk.get("/disputes?whose=nobodys")).text

    statement = (
        "UPDATE users SET ended_at = now() WHERE user_id = $1"
        if how == "ended"
        else "UPDATE memberships SET role = 'AUDITOR' WHERE user_id = $1"
    )
    async with harness.resources.database.connection() as connection:
        await connection.execute(statement, gone)

    assert "INV-1001" in (await clerk.get("/disputes?whose=nobodys")).text
    page = (await clerk.get(_path(opened))).text
    assert "This user can no longer respond here." in page
    assert ">deactivated</span>" in page
    me = await _find_user(harness, clerk)
    await _assign(clerk, _path(opened), me, gone)
    assert await _find_assignee(harness) == me


async def test_only_users_who_may_answer_disputes_can_be_assigned(
    clerk: Clerk, resources: Resources, harness: Harness, claim_id: int
) -> None:
    opened = await dispute(harness, claim_id)
    other = await a_harness(resources, harness.clock, key="other")
    app = an_application(resources).app
    stranger = await sign_in(
        resources,
        app,
        other,
        UserRoles(memberships={other.merchant.merchant_id: Role.MERCHANT_USER}),
    )
    reader = await sign_in(resources, app, harness, UserRoles(Role.AUDITOR))

    page = (await clerk.get(_path(opened))).text
    for person in (stranger, reader):
        user_id = await _find_user(harness, person)
        assert str(user_id) not in page
        assert "this user cannot respond here" in await _assign(clerk, _path(opened), user_id)
    assert "this user cannot respond here" in await _assign(clerk, _path(opened), UUID(int=5))
    assert await _find_assignee(harness) is None
    # Users who may only read see the assignee but no form.
    assert "/assignee" not in (await reader.get(_path(opened))).text


async def test_a_merchants_staff_sees_only_its_own_colleagues(
    clerk: Clerk, staff: Clerk, harness: Harness, claim_id: int
) -> None:
    opened = await dispute(harness, claim_id)
    operator, own = await _find_user(harness, clerk), await _find_user(harness, staff)
    assert str(operator) not in (await staff.get(_path(opened))).text
    assert str(own) in (await clerk.get(_path(opened))).text


async def test_an_answered_dispute_cannot_be_assigned(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    opened = await dispute(harness, claim_id)
    me = await _find_user(harness, clerk)
    await answer(harness, opened, REJECTED)
    async with harness.work() as work:
        with pytest.raises(InvalidState):
            await assign_dispute(work, claim_id, opened.dispute_id, me, expected_id=None)
    assert await _find_assignee(harness) is None


@pytest.fixture
async def portal_data(resources: Resources, harness: Harness) -> PortalData:
    return await create_portal_data(await a_harness(resources, harness.clock, key="world"))


async def test_a_plan_request_is_assigned_and_filtered_like_a_dispute(
    resources: Resources, portal_data: PortalData
) -> None:
    harness, path = (
        portal_data.harness,
        f"/claims/{portal_data.plan_claim_id}/plans/{portal_data.plan_id}",
    )
    app = an_application(resources).app
    clerk, staff = await sign_in(resources, app, harness), await sign_in(resources, app, harness)
    me, colleague = await _find_user(harness, clerk), await _find_user(harness, staff)
    reference = "RE-2026-1004"

    assert "Assigned." in await _assign(clerk, path, me)
    assert reference in (await clerk.get("/plans?whose=mine")).text
    assert reference not in (await clerk.get("/plans?whose=nobodys")).text
    assert reference not in (await staff.get("/plans?whose=mine")).text
    assert "someone else has assigned the case" in await _assign(staff, path, colleague)
    [row] = await harness.rows("SELECT assignee_id FROM payment_modalities WHERE merchant_id = $1")
    assert row["assignee_id"] == me
    [entry] = await harness.rows(
        "SELECT before, after FROM audit_log WHERE merchant_id = $1 AND action = 'modality.assign'"
    )
    assert (entry["before"], entry["after"]) == ({"assignee": None}, {"assignee": str(me)})

    async with harness.resources.database.connection() as connection:
        await connection.execute("UPDATE users SET ended_at = now() WHERE user_id = $1", me)
    assert reference in (await staff.get("/plans?whose=nobodys")).text


async def test_assigning_needs_the_permission_and_access_to_the_claim(
    portal_data: PortalData,
) -> None:
    harness, opened = portal_data.harness, portal_data.disputed
    origin = Origin(Interface.PORTAL)
    actor = build_user_actor(str(UUID(int=1)), ROLE_RIGHTS[Role.AUDITOR], origin)
    async with harness.work(actor) as work:
        with pytest.raises(InsufficientScope):
            await assign_dispute(work, opened.claim_id, opened.dispute_id, None, expected_id=None)
        with pytest.raises(InsufficientScope):
            await assign_modality(
                work, portal_data.plan_claim_id, portal_data.plan_id, None, expected_id=None
            )
    async with harness.work() as work:
        with pytest.raises(NotFound):
            await assign_dispute(
                work, portal_data.plan_claim_id, opened.dispute_id, None, expected_id=None
            )
        with pytest.raises(NotFound):
            await assign_modality(
                work, opened.claim_id, portal_data.plan_id, None, expected_id=None
            )
        with pytest.raises(ValidationError):
            await assign_modality(
                work, portal_data.plan_claim_id, portal_data.plan_id, UUID(int=9), expected_id=None
            )


async def test_a_reason_with_control_characters_is_not_sent_to_the_debtor(
    resources: Resources, portal_data: PortalData
) -> None:
    path = f"/claims/{portal_data.plan_claim_id}/plans/{portal_data.plan_id}"
    clerk = await sign_in(resources, an_application(resources).app, portal_data.harness)
    fields = {**read_fields((await clerk.get(path)).text), "outcome": "reject"}
    refused = await clerk.post(path, {**fields, "reason": "Three rates\x85 at most"})
    assert refused.status_code == 422
    assert "This text contains an invisible control character. Remove it." in refused.text
    assert "Three rates" in refused.text
    [row] = await portal_data.harness.rows(
        "SELECT state FROM payment_modalities WHERE merchant_id = $1"
    )
    assert row["state"] == "REQUESTED"
