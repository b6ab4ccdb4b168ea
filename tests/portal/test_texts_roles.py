"""Permissions of the pages of templates: without the permission the page is missing, and another
merchant's workflow is not found."""

from collections.abc import Mapping

import pytest

from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.user import UserRoles
from dunwell.interfaces.portal.application import ROUTES
from dunwell.interfaces.portal.render.addresses import PATHS
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.application import an_application
from tests.support.harness import Harness, a_harness
from tests.support.portal import Clerk, read_fields, sign_in
from tests.support.texts import a_harness_with_prices, a_texts_harness

_OPERATORS = {Role.ADMIN, Role.OPERATOR}
_MAIL = "template=reminder&channel=EMAIL&language=de"
_LETTER = "template=reminder&channel=LETTER&language=de"
# Page -> its query, and its methods.
_PAGES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "texts": ("", ("GET",)),
    "text": (_MAIL, ("GET", "POST")),
    "text_preview": (_MAIL, ("GET", "POST")),
    "text_mail": (_MAIL, ("GET",)),
    "text_sheet": (_LETTER, ("GET",)),
    "simulate": ("", ("GET",)),
}
_STATE = """
SELECT (SELECT json_agg(v ORDER BY version_id)
        FROM workflow_versions v WHERE merchant_id = $1)::text,
       (SELECT count(*) FROM audit_log WHERE merchant_id = $1)
"""


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness_with_prices(resources, clock)


@pytest.fixture
async def workflow_id(harness: Harness) -> str:
    return (await a_texts_harness(harness)).rpartition("/")[2]


async def sit_down(harness: Harness, role: Role) -> tuple[Clerk, str]:
    """Sign in, and return the token of the forms too."""
    at_one = role in (Role.AUDITOR, Role.MERCHANT_USER)
    place = (
        UserRoles(memberships={harness.merchant.merchant_id: role}) if at_one else UserRoles(role)
    )
    clerk = await sign_in(harness.resources, an_application(harness.resources).app, harness, place)
    page = await clerk.get("/portal/account")
    return clerk, read_fields(page.text.replace("sign-out", ""))["token"]


def at(harness: Harness, name: str, workflow_id: str) -> str:
    ids = {"merchant_id": harness.merchant.merchant_id, "workflow_id": workflow_id, "page": 1}
    return f"{PATHS[name].format_map(ids)}?{_PAGES[name][0]}"


def _typed(token: str) -> dict[str, str]:
    return {"token": token, "do": "save", "body": "Neu", "subject": "Neu", "revision": "x"}


@pytest.mark.parametrize("role", Role)
async def test_each_page_is_only_for_users_who_configure(
    harness: Harness, workflow_id: str, role: Role
) -> None:
    clerk, token = await sit_down(harness, role)
    for name, (_, methods) in _PAGES.items():
        assert (*methods,) == (*ROUTES[PATHS[name]],), name
        for method in methods:
            before, address = await harness.rows(_STATE), at(harness, name, workflow_id)
            if method == "GET":
                answer = await clerk.get(address)
            else:
                answer = await clerk.post(address, _typed(token))
            if role in _OPERATORS:
                assert answer.status_code in (200, 303, 409), (name, method)
            else:
                assert answer.status_code == 404, (name, method)
                assert "Page not found" in answer.text
                assert await harness.rows(_STATE) == before, (name, method)


async def test_another_merchants_texts_are_not_found_below_the_own_merchant(
    resources: Resources, harness: Harness, workflow_id: str
) -> None:
    own = await a_harness(resources, harness.clock, key="own")
    clerk, token = await sit_down(own, Role.ADMIN)
    before = await harness.rows(_STATE)
    for name, (_, methods) in _PAGES.items():
        for method in methods:
            address = at(own, name, workflow_id)
            answer = await (
                clerk.get(address) if method == "GET" else clerk.post(address, _typed(token))
            )
            assert answer.status_code == 404, (name, method)
    assert await harness.rows(_STATE) == before


async def test_forms_from_other_origins_or_without_a_token_are_refused(
    harness: Harness, workflow_id: str
) -> None:
    clerk, token = await sit_down(harness, Role.ADMIN)
    before = await harness.rows(_STATE)
    foreign = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}
    for name in ("text", "text_preview"):
        address = at(harness, name, workflow_id)
        assert (await clerk.post(address, _typed(""))).status_code == 403
        answer = await clerk.post(address, _typed(token), headers=foreign)
        assert answer.status_code == 403
    assert await harness.rows(_STATE) == before
