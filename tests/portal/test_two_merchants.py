"""No list finds, counts or names another merchant's data."""

import pytest

from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.user import UserRoles
from dunwell.platform.resources import Resources
from tests.support.application import an_application
from tests.support.harness import Harness, a_harness
from tests.support.portal import Clerk, sign_in
from tests.support.portal_data import create_portal_data

_PATHS = (
    "", "/claims", "/claims?hold=DISPUTE", "/disputes", "/disputes?state=ACCEPTED", "/plans",
    "/payments", "/messages", "/suppressions", "/jobs", "/answer-texts",
)  # fmt: skip


@pytest.fixture
async def other(resources: Resources, harness: Harness) -> Harness:
    other = await a_harness(resources, harness.clock, key="other")
    await create_portal_data(other)
    return other


async def test_lists_contain_no_data_of_another_merchant(clerk: Clerk, other: Harness) -> None:
    for path in _PATHS:
        page = await clerk.get(path)
        assert page.status_code == 200
        assert "RE-2026" not in page.text, path
        assert "Mustermann" not in page.text, path


async def test_a_saved_view_is_private_until_it_is_shared(
    clerk: Clerk, staff: Clerk, harness: Harness, claim_id: int
) -> None:
    for name, shared in (("Mine", ""), ("Ours", "yes")):
        page = await clerk.get("/claims?status=IN_PROCESS")
        fields = {"status": "IN_PROCESS", "name": name, "shared": shared}
        token = page.text.partition('name="token" value="')[2].partition('"')[0]
        await clerk.follow(await clerk.post("/views", {"token": token, **fields}))

    mine, theirs = await clerk.get("/claims"), await staff.get("/claims")

    assert ">Mine<" in mine.text
    assert ">Ours<" in mine.text
    assert ">Mine<" not in theirs.text
    assert ">Ours<" in theirs.text


async def test_users_of_one_merchant_are_offered_no_other(
    staff: Clerk, clerk: Clerk, other: Harness
) -> None:
    assert ">other</td>" in (await clerk.get("/portal/merchants?q=othe")).text
    assert ">other</td>" not in (await staff.get("/portal/merchants")).text
    entered = await staff.get("/portal")
    assert entered.headers["Location"] == staff.at("")


async def test_each_membership_has_its_own_permissions(
    resources: Resources, harness: Harness, claim_id: int, other: Harness
) -> None:
    place = UserRoles(
        memberships={
            harness.merchant.merchant_id: Role.AUDITOR,
            other.merchant.merchant_id: Role.MERCHANT_USER,
        }
    )
    person = await sign_in(resources, an_application(resources).app, harness, place)
    [row] = await other.rows("SELECT min(claim_id) AS id FROM claims WHERE merchant_id = $1")
    theirs = f"/portal/m/{other.merchant.merchant_id}/claims/{row['id']}/note"

    assert (await person.get(f"/claims/{claim_id}/note")).status_code == 404
    assert (await person.get(theirs)).status_code == 200
