"""Sensitive actions in the portal: every route is guarded or listed as ordinary, what the guard
asks for, and that the interrupted form is kept."""

import ast
import html
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.user import UserRoles
from dunwell.interfaces.portal.application import ROUTES
from dunwell.interfaces.portal.render.addresses import PATHS
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.durations import JUST
from tests.support.merchants import AT_NOON, a_merchant
from tests.support.passkeys import SoftwarePasskey
from tests.support.portal_sign_in import (
    ORIGIN,
    SignInPages,
    SignInVisitor,
    build_sign_in_pages,
    read_hidden,
)
from tests.support.users import PASSWORD, JoinedUser, a_new_user, invite, join

TEN_MINUTES = timedelta(minutes=10)
# Guarded routes, by the name of their page, with their action.
GUARDED = {
    "people_invite": "INVITE_USER", "people_user": "CHANGE_ROLE", "people_reset": "RESET_USER",
    "people_end": "DEACTIVATE_USER", "credentials": "CREDENTIALS", "credential": "CREDENTIALS",
    "settings_webhooks": "WEBHOOKS", "endpoint_secret": "WEBHOOK_SECRET",
    "settings_changes": "MERCHANT_FILE", "settings_section": "BANK_ACCOUNT",
    "merchant_new": "NEW_MERCHANT", "bank_new": "BANK_ACCOUNT", "bank_setup": "BANK_ACCOUNT",
}  # fmt: skip
# Routes for signing in and for one's own account, whose forms ask for the password themselves.
_OF_ONESELF = {
    "sign_in", "second", "recovery", "passkey", "passkey_ask", "sso_logout", "sign_out",
    "invitation", "invitation_passkey", "invitation_ask", "account", "account_sessions",
    "account_password", "account_app", "account_passkey", "account_passkey_ask", "account_factor",
    "account_codes", "account_codes_away", "account_confirm_ask",
}  # fmt: skip
# Routes that grant no access and show no secret. Signing a user out must be quick in an emergency.
_ORDINARY = {
    "people_sessions", "unmatched_messages", "doubtful_letters", "views", "view_end", "dispute",
    "dispute_preview", "dispute_assign", "dispute_right_person", "answer_texts",
    "answer_text_end", "audit_export", "bulk",
    "export", "job", "endpoint_test", "endpoint_on", "endpoint_replay", "delivery", "clock", "plan",
    "plan_assign", "payment_request", "payment", "payment_refund", "payments_review", "settle",
    "bank_account", "bank_close", "bank_csv", "bank_entries", "bank_file", "bank_statement",
    "debit_release", "debits_export", "mandates_export", "debit_file", "debit_file_download",
    "debit", "mandate",
    "rules", "rules_default", "rule",
    "rules_try", "rules_publish", "rules_discard", "rules_version", "rules_file", "suppressions",
    "suppression", "text", "text_preview", "workflows", "switch", "workflow", "workflow_manage",
    "workflow_settings", "workflow_step_new", "workflow_step", "workflow_publish",
    "workflow_preview", "workflow_discard", "workflow_file", "workflow_version", "claim_act",
}  # fmt: skip
# Use cases that grant access, change permissions, or create a secret.
_SENSITIVE = {
    "invite_user", "change_roles", "reset_other_user", "reset_user", "deactivate_user",
    "set_break_glass",
    "link_identity", "create_credential", "rotate_credential", "end_old_secret",
    "revoke_credential", "allow_credential", "add_endpoint", "remove_endpoint", "rotate_secret",
    "apply_given_file", "apply_installation", "save_settings", "open_merchant",
    "save_bank_account",
}  # fmt: skip


def list_forms() -> dict[str, Any]:
    """Return the handlers of forms, by the name of their page."""
    return {page: ROUTES[path]["POST"] for page, path in PATHS.items() if "POST" in ROUTES[path]}


def test_each_form_is_guarded_or_listed_as_needing_no_guard() -> None:
    found = {page: getattr(run, "sensitive_action", None) for page, run in list_forms().items()}
    assert {page: str(action) for page, action in found.items() if action} == GUARDED
    assert {page for page, action in found.items() if not action} == _OF_ONESELF | _ORDINARY
    assert not [path for path, runs in ROUTES.items() if set(runs) - {"GET", "POST"}]


def list_used_names(function: Any, seen: set[Any]) -> Iterator[str]:
    """Yield all names that the function uses, itself or through other functions of the portal."""
    function = inspect.unwrap(function)
    if function in seen:
        return
    seen.add(function)
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Name):
            continue
        yield node.id
        found = vars(sys.modules[function.__module__]).get(node.id)
        is_ours = inspect.isfunction(found) and found.__module__.startswith(
            "dunwell.interfaces.portal."
        )
        if is_ours:
            yield from list_used_names(found, seen)


def find_sensitive_names(run: Any) -> set[str]:
    return set(list_used_names(run, set())) & _SENSITIVE


def test_no_handler_without_the_guard_reaches_a_sensitive_use_case() -> None:
    assert {
        page for page, run in list_forms().items() if find_sensitive_names(run)
    } == GUARDED.keys()
    assert [
        path for path, runs in ROUTES.items() if "GET" in runs and find_sensitive_names(runs["GET"])
    ] == []


@pytest.fixture
def pages(resources: Resources) -> SignInPages:
    return build_sign_in_pages(resources)


@pytest.fixture
async def erika(pages: SignInPages) -> JoinedUser:
    return await join(pages.services, a_new_user())


@pytest.fixture
async def admin(pages: SignInPages, erika: JoinedUser, clock: MovableClock) -> SignInVisitor:
    """An admin in a session that was confirmed ten minutes ago."""
    visitor = pages.visitor()
    await visitor.sign_in(erika)
    clock.advance(TEN_MINUTES)
    return visitor


async def fetch(admin: SignInVisitor, statement: str) -> list[tuple[Any, ...]]:
    async with admin.services.resources.database.connection() as connection:
        return [tuple(row) for row in await connection.fetch(statement)]


PAUL = {"name": "Paul <1>", "email": "paul@example.org", "role": "ADMIN", "language": "de"}


@pytest.mark.parametrize(("late", "asks"), [(-JUST, False), (0 * JUST, True)])
async def test_a_sign_in_confirms_a_session_for_ten_minutes(
    pages: SignInPages, erika: JoinedUser, clock: MovableClock, late: timedelta, *, asks: bool
) -> None:
    visitor = pages.visitor()
    await visitor.sign_in(erika)
    clock.advance(TEN_MINUTES + late)
    answer = await visitor.send("/portal/people/invite", **PAUL)
    assert ("Confirm it is you" in answer.text) is asks
    assert ("One-time link for" in answer.text) is not asks


async def test_the_interrupted_form_is_shown_again_for_the_user_to_submit(
    admin: SignInVisitor, clock: MovableClock
) -> None:
    asked = await admin.send("/portal/people/invite", **PAUL, at_1="")
    assert asked.status_code == 403
    assert "Paul &lt;1&gt;" in asked.text
    assert "Invite user" in asked.text
    assert await fetch(admin, "SELECT count(*) FROM users") == [(1,)]
    carried = read_hidden(asked.text)
    assert PAUL.items() <= carried.items()
    done = await admin.post("/portal/people/invite", **carried, confirm_password=PASSWORD)
    assert "One-time link for Paul" in done.text
    users = await fetch(admin, "SELECT email, language, global_role FROM users ORDER BY user_id")
    assert users[1] == ("paul@example.org", "de", "ADMIN")
    again = await admin.send("/portal/people/invite", **{**PAUL, "email": "p2@example.org"})
    assert "One-time link" in again.text
    clock.advance(TEN_MINUTES)
    late = await admin.send("/portal/people/invite", **{**PAUL, "email": "p3@example.org"})
    assert late.status_code == 403


async def test_a_wrong_password_keeps_the_form_and_counts_as_a_failed_sign_in(
    admin: SignInVisitor,
) -> None:
    asked = await admin.send("/portal/people/invite", **PAUL)
    for _ in range(10):
        carried = read_hidden(asked.text)
        asked = await admin.post("/portal/people/invite", **carried, confirm_password="no")
        assert (asked.status_code, "password is wrong" in asked.text) == (400, True)
        assert PAUL.items() <= read_hidden(asked.text).items()
        assert "no" not in read_hidden(asked.text).values()
    last = await admin.post(
        "/portal/people/invite", **read_hidden(asked.text), confirm_password=PASSWORD
    )
    assert (last.status_code, last.headers["Retry-After"]) == (429, "900")
    assert await fetch(admin, "SELECT count(*) FROM users") == [(1,)]
    acts = await fetch(
        admin, "SELECT count(*) FROM installation_audit WHERE action = 'session.refuse'"
    )
    assert acts == [(10,)]


async def test_a_confirmation_is_valid_only_in_its_session(
    pages: SignInPages, admin: SignInVisitor, erika: JoinedUser, clock: MovableClock
) -> None:
    other = pages.visitor()
    await other.sign_in(erika)
    clock.advance(TEN_MINUTES)
    asked = await admin.send("/portal/people/invite", **PAUL)
    await admin.post("/portal/people/invite", **read_hidden(asked.text), confirm_password=PASSWORD)
    still = await other.send("/portal/people/invite", **{**PAUL, "email": "p2@example.org"})
    assert still.status_code == 403


async def test_a_passkey_confirms_only_its_owners_session(
    pages: SignInPages, clock: MovableClock
) -> None:
    people: list[tuple[SignInVisitor, SoftwarePasskey]] = []
    for email in ("erika@example.org", "mallory@example.org"):
        link = "/portal/invitation/" + (await invite(pages.services, a_new_user(email))).secret
        visitor, passkey = pages.visitor(), SoftwarePasskey(ORIGIN, "pay.example.org")
        options = await visitor.post(f"{link}/passkey/ask")
        await visitor.post(f"{link}/passkey", answer=passkey.create(options.text).decode())
        people.append((visitor, passkey))
    (erika, own), (_, foreign) = people
    clock.advance(TEN_MINUTES)
    asked = await erika.send("/portal/people/invite", **PAUL)
    assert "confirm_password" not in asked.text
    carried = {**read_hidden(asked.text)}
    for passkey, status in ((foreign, 400), (own, 200)):
        options = await erika.post("/portal/account/confirm/passkey/ask", token=carried["token"])
        answer = passkey.get(options.text).decode()
        done = await erika.post("/portal/people/invite", **{**carried, "answer": answer})
        assert done.status_code == status
    assert "One-time link for Paul" in done.text
    again = await erika.post("/portal/sign-in/passkey", answer=answer)
    assert again.status_code == 400


async def test_a_sign_in_challenge_does_not_confirm_a_session(
    pages: SignInPages, admin: SignInVisitor, erika: JoinedUser
) -> None:
    passkey = SoftwarePasskey(ORIGIN, "pay.example.org")
    token = read_hidden((await admin.get("/portal/account")).text)["token"]
    options = await admin.post("/portal/account/passkey/ask", token=token, password=PASSWORD)
    answer = passkey.create(options.text).decode()
    await admin.post("/portal/account/passkey", token=token, answer=answer, name="key")
    options = await admin.post("/portal/sign-in/passkey/ask")
    asked = await admin.send("/portal/people/invite", **PAUL)
    carried = {**read_hidden(asked.text), "answer": passkey.get(options.text).decode()}
    assert (await admin.post("/portal/people/invite", **carried)).status_code == 400


@pytest.mark.parametrize("roles", [UserRoles(Role.OPERATOR), UserRoles(Role.AUDITOR)])
async def test_users_without_the_permission_are_not_asked_for_a_password(
    pages: SignInPages, erika: JoinedUser, clock: MovableClock, roles: UserRoles
) -> None:
    other = await join(pages.services, a_new_user("o@example.org", name="O", roles=roles))
    visitor = pages.visitor()
    await visitor.sign_in(other)
    clock.advance(TEN_MINUTES)
    token = read_hidden((await visitor.get("/portal/account")).text)["token"]
    sent = await visitor.post("/portal/people/invite", token=token, **PAUL)
    assert sent.status_code == 404


@pytest.mark.parametrize("page", GUARDED)
@pytest.mark.parametrize("language", ["en", "de"])
async def test_each_guarded_form_asks_for_confirmation_before_it_changes_anything(
    admin: SignInVisitor, erika: JoinedUser, page: str, language: str
) -> None:
    """The guard comes first, whatever the form contains and whether or not its object exists."""
    async with admin.services.resources.database.transaction() as tx:
        merchant_id = (await a_merchant(tx, now=AT_NOON)).merchant_id
    values = {
        "merchant_id": merchant_id, "user_id": erika.user_id, "client_id": "dwc_1",
        "endpoint_id": uuid4(), "section": "payment", "account": "main",
    }  # fmt: skip
    address = PATHS[page].format_map(values)
    token = read_hidden((await admin.get("/portal/account")).text)["token"]
    before = await fetch(admin, "SELECT count(*) FROM installation_audit")
    do = {"settings_changes": "apply", "settings_section": "save"}.get(page, "rotate")
    asked = await admin.post(f"{address}?lang={language}", token=token, do=do, name="a 'name'")
    expected = {"en": "Confirm it is you", "de": "Bestätigen Sie, dass Sie es sind"}[language]
    assert (asked.status_code, expected in asked.text) == (403, True)
    assert read_hidden(asked.text)["name"] == "a 'name'"
    assert await fetch(admin, "SELECT count(*) FROM installation_audit") == before


@pytest.mark.parametrize("section", ["payment", "debit"])
async def test_changing_a_bank_account_needs_a_confirmation(
    admin: SignInVisitor, clock: MovableClock, section: str
) -> None:
    clock.advance(TEN_MINUTES)
    async with admin.services.resources.database.transaction() as tx:
        merchant_id = (await a_merchant(tx, now=AT_NOON)).merchant_id
    token = read_hidden((await admin.get("/portal/account")).text)["token"]
    path = f"/portal/m/{merchant_id}/settings/{section}"
    asked = await admin.post(path, token=token, do="save")
    assert (asked.status_code, "Confirm it is you" in asked.text) == (403, True)


async def test_a_large_merchant_file_survives_the_confirmation(
    admin: SignInVisitor, clock: MovableClock
) -> None:
    async with admin.services.resources.database.transaction() as tx:
        merchant_id = (await a_merchant(tx, now=AT_NOON)).merchant_id
    token = read_hidden((await admin.get("/portal/account")).text)["token"]
    text = "name: 'a & <b> \"c\"'\r\n# " + "x" * 900_000 + "\r\n"
    fields = {"token": (None, token), "do": (None, "apply"), "text": (None, text)}
    own = {"Sec-Fetch-Site": "same-origin", "Origin": ORIGIN}
    path = f"/portal/m/{merchant_id}/settings/changes"
    asked = await admin.http.post(path, files=fields, headers=own)
    assert (asked.status_code, 'enctype="multipart/form-data"' in asked.text) == (403, True)
    [found] = re.findall(r'name="text" value="([^"]*)"', asked.text)
    assert html.unescape(found).replace("\r\n", "\n") == text.replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("section", "do"), [("payment", "look"), ("payment", ""), ("contact", "save")]
)
async def test_other_settings_need_no_confirmation(
    admin: SignInVisitor, section: str, do: str
) -> None:
    async with admin.services.resources.database.transaction() as tx:
        merchant_id = (await a_merchant(tx, now=AT_NOON)).merchant_id
    token = read_hidden((await admin.get("/portal/account")).text)["token"]
    path = f"/portal/m/{merchant_id}/settings/{section}"
    answer = await admin.post(path, token=token, do=do)
    assert answer.status_code != 403
