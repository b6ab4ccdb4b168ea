"""Permissions of the pages of webhooks, payments and suppressions, route by role, with existing
objects: without the permission the page is missing and nothing happens."""

from collections.abc import Mapping
from datetime import date

import pytest

from dunwell.accounts.merchants.actor import debtor_actor
from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.user import UserRoles
from dunwell.cases.payments.choice import PaymentChoice, PaymentChoiceKind
from dunwell.cases.payments.requests.announce_transfer import AnnouncedTransfer, announce_transfer
from dunwell.contact.messages.suppression import suppress
from dunwell.interfaces.portal.application import ROUTES
from dunwell.interfaces.portal.render.addresses import PATHS
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.application import an_application
from tests.support.definitions import a_definition
from tests.support.harness import Harness, a_harness
from tests.support.logged_endpoint import a_logged_endpoint
from tests.support.portal import Clerk, read_fields, sign_in
from tests.support.transfers import taking

_ALL = {Role.ADMIN, Role.OPERATOR, Role.AUDITOR, Role.MERCHANT_USER}
_OPERATORS = {Role.ADMIN, Role.OPERATOR}
_STAFF = _OPERATORS | {Role.MERCHANT_USER}
# Page -> method -> its roles.
_FOR = {
    "endpoints": {"GET": _OPERATORS},
    "endpoint": {"GET": _OPERATORS},
    "endpoint_test": {"GET": _OPERATORS, "POST": _OPERATORS},
    "endpoint_secret": {"GET": _OPERATORS, "POST": _OPERATORS},
    "endpoint_on": {"GET": _OPERATORS, "POST": _OPERATORS},
    "endpoint_replay": {"GET": _OPERATORS, "POST": _OPERATORS},
    "delivery": {"GET": _OPERATORS, "POST": _OPERATORS},
    "payments": {"GET": _ALL},
    "payment_find": {"GET": _STAFF},
    "payment_request": {"GET": _ALL, "POST": _STAFF},
    "payment": {"GET": _ALL, "POST": _STAFF},
    "suppressions": {"GET": _ALL, "POST": _OPERATORS},
    "suppression": {"GET": _OPERATORS, "POST": _OPERATORS},
}
_STATE = """
SELECT (SELECT json_agg(d ORDER BY d.event_id) FROM deliveries d WHERE merchant_id = $1)::text,
       (SELECT json_agg(e) FROM webhook_endpoints e WHERE merchant_id = $1)::text,
       (SELECT json_agg(p) FROM payments p WHERE merchant_id = $1)::text,
       (SELECT json_agg(r) FROM payment_requests r WHERE merchant_id = $1)::text,
       (SELECT json_agg(s) FROM suppressions s WHERE merchant_id = $1)::text,
       (SELECT count(*) FROM audit_log WHERE merchant_id = $1 AND action <> 'claim.look')
"""


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness(resources, clock, a_definition(), configuration=taking())


@pytest.fixture
async def things(harness: Harness, claim_id: int) -> Mapping[str, str]:
    """Values for the addresses."""
    hooked = await a_logged_endpoint(harness, claim_id)
    paid = await harness.pay(claim_id, 240)
    async with harness.work() as work:
        await suppress(work, harness.resources.keys, "EMAIL", "erika@example.org", "DEBTOR")
    async with harness.work(debtor_actor("session-1")) as work:
        sent = AnnouncedTransfer(PaymentChoice(PaymentChoiceKind.WHOLE, 10000), date(2026, 3, 2))
        request_id = await announce_transfer(work, claim_id, sent)
    [row] = await harness.rows("SELECT address_digest FROM suppressions WHERE merchant_id = $1")
    return {
        "merchant_id": str(harness.merchant.merchant_id), "channel": "EMAIL",
        "endpoint_id": str(hooked.new.endpoint_id), "event_id": str(hooked.ids[1]),
        "payment_id": str(paid.payment.payment_id), "request_id": str(request_id),
        "digest": row["address_digest"].hex(),
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
            else:
                answer = await clerk.post(path, {"token": token})
            if role in roles:
                assert answer.status_code in (200, 303, 409, 422), (name, method)
            else:
                assert answer.status_code == 404, (name, method)
                assert "Page not found" in answer.text
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
            fields = {"reason": "OTHER", "do": "end", "since": "2026-01-01"}
            assert (await clerk.post(path, fields)).status_code == 403, name
            answer = await clerk.post(path, {**fields, "token": token}, headers=foreign)
            assert answer.status_code == 403, name
    assert await harness.rows(_STATE) == before


async def test_another_merchants_objects_are_not_found_below_the_own_merchant(
    resources: Resources, harness: Harness, things: Mapping[str, str]
) -> None:
    own = await a_harness(resources, harness.clock, key="own")
    clerk = await sit_down(own, Role.ADMIN)
    token, before = await find_token(clerk), await harness.rows(_STATE)
    there = {**things, "merchant_id": str(own.merchant.merchant_id)}
    for name, by_method in _FOR.items():
        if "_id}" not in PATHS[name].replace("{merchant_id}", "") and "digest" not in PATHS[name]:
            continue
        for method in by_method:
            path = PATHS[name].format_map(there)
            fields = {
                "token": token, "since": "2026-01-01", "reason": "OTHER", "do": "end",
                "known_seen": "2026-03-02T09:00:00+00:00", "known_secret": "x",
                "revision": "2026-03-02T09:00:00+00:00",
            }  # fmt: skip
            answer = await (clerk.get(path) if method == "GET" else clerk.post(path, fields))
            # The list reports a suppression that no longer exists.
            allowed = (404, 303) if (name, method) == ("suppression", "POST") else (404,)
            assert answer.status_code in allowed, (name, method)
    assert await harness.rows(_STATE) == before
