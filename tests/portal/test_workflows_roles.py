"""Permissions of the pages of workflows, route by role: without the permission the page is missing
and nothing happens, and another merchant's workflow is not found."""

from collections.abc import Mapping

import pytest

from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.user import UserRoles
from dunwell.core.workflows.drafts.edit_draft import PartEdit, edit_draft
from dunwell.core.workflows.store import load_workflows
from dunwell.interfaces.portal.application import ROUTES
from dunwell.interfaces.portal.render.addresses import PATHS
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from dunwell.platform.text.differences import compute_revision
from tests.support.application import an_application
from tests.support.definitions import a_definition
from tests.support.harness import Harness, a_harness
from tests.support.portal import Clerk, read_fields, sign_in

_ALL = set(Role)
_OPERATORS = {Role.ADMIN, Role.OPERATOR}
_EDIT = {"GET": _OPERATORS, "POST": _OPERATORS}
# Page -> method -> its roles. Users who may only read are redirected from the editor.
_FOR: Mapping[str, Mapping[str, set[Role]]] = {
    "workflows": {"GET": _ALL, "POST": _OPERATORS},
    "workflow": {"GET": _ALL, "POST": _OPERATORS},
    "workflow_manage": _EDIT,
    "workflow_settings": _EDIT,
    "workflow_step_new": _EDIT,
    "workflow_step": _EDIT,
    "workflow_publish": _EDIT,
    "workflow_preview": _EDIT,
    "workflow_discard": _EDIT,
    "workflow_history": {"GET": _ALL},
    "workflow_compare": {"GET": _ALL},
    "workflow_file": _EDIT,
    "workflow_version": {"GET": _ALL, "POST": _OPERATORS},
    "workflow_download": {"GET": _ALL},
    "switch": _EDIT,
}
_STATE = """
SELECT (SELECT json_agg(w ORDER BY w.workflow_id) FROM workflows w WHERE merchant_id = $1)::text,
       (SELECT json_agg(v ORDER BY v.version_id) FROM workflow_versions v
        WHERE merchant_id = $1)::text,
       (SELECT json_agg(c ORDER BY c.change_id) FROM workflow_draft_changes c
        WHERE merchant_id = $1)::text,
       (SELECT count(*) FROM jobs WHERE merchant_id = $1),
       (SELECT count(*) FROM audit_log WHERE merchant_id = $1)
"""


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness(resources, clock, a_definition())


@pytest.fixture
async def things(harness: Harness) -> Mapping[str, str]:
    """Values for the addresses and the forms."""
    async with harness.work() as work:
        [workflow] = await load_workflows(work.tx, work.merchant_id)
        added = PartEdit("snippets/x", compute_revision(None), {"de": "Neu", "en": "New"})
        edited = await edit_draft(work, workflow.workflow_id, added)
    return {
        "merchant_id": str(harness.merchant.merchant_id), "workflow_id": str(workflow.workflow_id),
        "step_id": "2", "version": "v1.0", "form": "yaml", "kind": "WAIT", "step": "2",
        "known_draft": str(edited.version_id), "known_newest": str(edited.version_id),
        "do": "check", "days": "7", "name": "Wait", "text": "steps: 3",
    }  # fmt: skip


async def sit_down(harness: Harness, role: Role) -> Clerk:
    at_one = role in (Role.AUDITOR, Role.MERCHANT_USER)
    place = (
        UserRoles(memberships={harness.merchant.merchant_id: role}) if at_one else UserRoles(role)
    )
    return await sign_in(harness.resources, an_application(harness.resources).app, harness, place)


async def find_token(clerk: Clerk) -> str:
    page = await clerk.get("/portal/account")
    return read_fields(page.text.replace("sign-out", ""))["token"]


def test_each_page_of_workflows_is_listed_here() -> None:
    assert {each for each in PATHS if each.startswith(("workflow", "switch"))} == _FOR.keys()


@pytest.mark.parametrize("role", Role)
async def test_each_page_is_available_to_its_roles_only(
    harness: Harness, things: Mapping[str, str], role: Role
) -> None:
    clerk = await sit_down(harness, role)
    token = await find_token(clerk)
    for name, by_method in _FOR.items():
        assert by_method.keys() == ROUTES[PATHS[name]].keys(), name
        for method, roles in by_method.items():
            path = PATHS[name].format_map(things)
            before = await harness.rows(_STATE)
            if method == "GET":
                answer = await clerk.get(path)
            elif role in roles and name in ("workflow_publish", "workflow_discard"):
                continue
            else:
                answer = await clerk.post(path, {**things, "token": token})
            if role in roles:
                assert answer.status_code in (200, 303, 409, 422), (name, method)
            else:
                assert answer.status_code == 404, (name, method, answer.text[-400:])
                assert await harness.rows(_STATE) == before, (name, method)


async def test_forms_from_other_origins_or_without_a_token_are_refused(
    harness: Harness, things: Mapping[str, str]
) -> None:
    clerk = await sit_down(harness, Role.ADMIN)
    token, before = await find_token(clerk), await harness.rows(_STATE)
    foreign = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}
    for name, by_method in _FOR.items():
        path = PATHS[name].format_map(things)
        if "POST" in by_method:
            assert (await clerk.post(path, dict(things))).status_code == 403, name
            answer = await clerk.post(path, {**things, "token": token}, headers=foreign)
            assert answer.status_code == 403, name
    assert await harness.rows(_STATE) == before


async def test_another_merchants_workflow_is_not_found_below_the_own_merchant(
    resources: Resources, harness: Harness, things: Mapping[str, str]
) -> None:
    own = await a_harness(resources, harness.clock, key="own")
    clerk = await sit_down(own, Role.ADMIN)
    token, before = await find_token(clerk), await harness.rows(_STATE)
    there = {**things, "merchant_id": str(own.merchant.merchant_id)}
    for name, by_method in _FOR.items():
        if "workflow_id" not in PATHS[name]:
            continue
        for method in by_method:
            path = PATHS[name].format_map(there)
            fields = {**things, "token": token}
            answer = await (clerk.get(path) if method == "GET" else clerk.post(path, fields))
            assert answer.status_code == 404, (name, method)
    assert await harness.rows(_STATE) == before
