"""Credentials, endpoints, the test clock and the merchant file in the portal: secrets are shown
once, nothing happens twice, and only permitted users have access."""

import io
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.user import UserRoles
from dunwell.interfaces.portal.application import ROUTES
from dunwell.interfaces.portal.render.addresses import PATHS
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from dunwell.platform.text.yaml_document import parse_yaml, render_yaml
from tests.support.application import an_application
from tests.support.definitions import a_definition
from tests.support.harness import Harness, ScriptedChannel, a_harness
from tests.support.portal import Clerk, sign_in
from tests.support.portal_data import MARKUP
from tests.support.portal_setup import give, read_form, save, send

_SECRET = re.compile(r"data-secret>([^<]+)<")
_AUDIT = "SELECT action, before, after, details FROM audit_log WHERE merchant_id = $1"
_SECTIONS = ("settings", "settings_file", "settings_yaml", "settings_webhooks", "credentials")
_STATE = """
SELECT (SELECT json_agg(c ORDER BY client_id) FROM credentials c WHERE merchant_id = $1)::text,
       (SELECT json_agg(s ORDER BY created_at) FROM credential_secrets s
        WHERE merchant_id = $1)::text,
       (SELECT json_agg(e) FROM webhook_endpoints e WHERE merchant_id = $1)::text,
       (SELECT json_agg(m) FROM merchants m WHERE merchant_id = $1)::text,
       (SELECT count(*) FROM audit_log WHERE merchant_id = $1)
"""


@pytest.fixture
async def sandbox(resources: Resources, clock: MovableClock) -> Harness:
    harness = await a_harness(resources, clock, key="playground", sandbox=True)
    await harness.publish(a_definition())
    return harness


@pytest.fixture
async def sandbox_clerk(resources: Resources, sandbox: Harness) -> Clerk:
    application = an_application(resources)
    application.channels[:] = [ScriptedChannel()]
    return await sign_in(resources, application.app, sandbox)


async def make_credential(clerk: Clerk, **typed: Any) -> str:
    """Create a credential and return its client id."""
    form = read_form((await clerk.get("/credentials")).text, "requestsPerMinute")
    shown = await send(clerk, "/credentials", {**form, "name": "shop", **typed})
    assert shown.status_code == 200, shown.text[-2000:]
    found = re.search(r'<dt>client_id</dt><dd class="id" translate="no">([^<]+)<', shown.text)
    assert found is not None
    return found[1]


async def test_a_credentials_secret_is_shown_once_and_stored_nowhere(
    clerk: Clerk, harness: Harness
) -> None:
    client_id = await make_credential(clerk, scope=["READ", "MONEY"])
    assert clerk.page is not None
    [secret] = _SECRET.findall(clerk.page.text)

    for path in ("/credentials", f"/credentials/{client_id}", "/settings/file"):
        assert secret not in (await clerk.get(path)).text
    assert secret not in str(await harness.rows(_AUDIT))
    actions = [row["action"] for row in await harness.rows(_AUDIT)]
    assert actions.count("credential.create") == 1
    listed = await clerk.get("/credentials")
    assert "Read only; Record payments, items and fees" in listed.text


@pytest.mark.parametrize(
    ("typed", "field"),
    [
        ({"name": ""}, "name"), ({"scope": None}, "scope"),
        ({"requestsPerMinute": "0"}, "requestsPerMinute"),
        ({"requestsPerMinute": "x"}, "requestsPerMinute"),
    ],
)  # fmt: skip
async def test_an_invalid_credential_is_reported_next_to_the_field(
    clerk: Clerk, harness: Harness, typed: dict[str, Any], field: str
) -> None:
    form = read_form((await clerk.get("/credentials")).text, "requestsPerMinute")
    before = await harness.rows(_STATE)
    answer = await send(clerk, "/credentials", {**form, "name": "shop", **typed})
    assert answer.status_code == 422
    assert f'id="{field}-error"' in answer.text
    assert await harness.rows(_STATE) == before


async def test_a_form_submitted_twice_creates_one_credential(
    clerk: Clerk, harness: Harness
) -> None:
    form = read_form((await clerk.get("/credentials")).text, "requestsPerMinute")
    await send(clerk, "/credentials", {**form, "name": "shop"})
    again = await send(clerk, "/credentials", {**form, "name": "shop"})
    assert again.status_code == 422
    assert _SECRET.findall(again.text) == []
    assert "This value is already in use" in again.text


async def test_a_credential_can_be_rotated_once_and_revoked_once(
    clerk: Clerk, harness: Harness
) -> None:
    client_id = await make_credential(clerk)
    path = f"/credentials/{client_id}"
    form = {**read_form((await clerk.get(path)).text, "known_made_at"), "do": "rotate"}
    # A secret created at the same instant would be indistinguishable.
    harness.clock.advance(timedelta(minutes=1))

    rotated = await send(clerk, path, form)
    again = await send(clerk, path, form)

    assert len(_SECRET.findall(rotated.text)) == 1
    assert (again.status_code, _SECRET.findall(again.text)) == (409, [])
    assert "The secret was rotated recently" in again.text
    ended = await send(clerk, path, {"token": form["token"], "do": "end-old"})
    assert ended.headers["Location"].endswith("done=credential_end_old")
    for done in ("credential_revoke", "credential_over"):
        answer = await send(clerk, path, {"token": form["token"], "do": "revoke"})
        assert answer.headers["Location"].endswith(f"done={done}")
    assert (await clerk.get(path)).status_code == 404
    actions = [row["action"] for row in await harness.rows(_AUDIT)]
    assert [each for each in actions if each.startswith("credential.")].count(
        "credential.rotate"
    ) == 1
    assert actions.count("credential.revoke") == 1


async def test_an_endpoint_is_added_with_its_secret_and_removed_once(
    clerk: Clerk, harness: Harness
) -> None:
    form = read_form((await clerk.get("/settings/webhooks")).text, "url")
    typed = {**form, "url": "https://erp.example/hooks", "authorization": "Bearer hidden"}

    added = await send(clerk, "/settings/webhooks", typed)
    again = await send(clerk, "/settings/webhooks", typed)

    [secret] = _SECRET.findall(added.text)
    assert secret.startswith("whsec_")
    assert again.status_code == 422
    page = await clerk.get("/settings/webhooks")
    assert secret not in page.text
    assert "Bearer" not in page.text
    wrong = await send(clerk, "/settings/webhooks", {**form, "url": "ftp://x"})
    assert (wrong.status_code, 'id="url-error"' in wrong.text) == (422, True)
    taken = {**read_form(page.text, "endpoint"), "do": "remove"}
    for done in ("removed", "endpoint_over"):
        answer = await send(clerk, "/settings/webhooks", taken)
        assert answer.headers["Location"].endswith(f"done={done}")


async def test_the_test_clock_advances_to_the_next_due_time_and_lists_events(
    sandbox_clerk: Clerk, sandbox: Harness
) -> None:
    await sandbox.create("INV-1")
    page = await sandbox_clerk.get("/clock")
    moved = {**read_form(page.text, "known_now"), "do": "week"}

    shown = await sandbox_clerk.follow(await send(sandbox_clerk, "/clock", moved))
    again = await send(sandbox_clerk, "/clock", moved)

    assert "Message sent" in shown.text
    assert ">INV-1</bdi>" in shown.text
    assert again.status_code == 409
    assert "Someone else advanced the test clock" in again.text
    rows = await sandbox.rows("SELECT sandbox_now FROM merchants WHERE merchant_id = $1")
    assert rows[0]["sandbox_now"] == sandbox.merchant.sandbox_now + timedelta(weeks=1)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("to", "expected"),
    [
        ("then", "Enter a valid date and time"), ("", "Enter a valid date and time"),
        ("2020-01-01T00:00", "Choose a later time"), ("2999-01-01T00:00", "at most one year ahead"),
        ("9999-12-31T23:59", "Enter a valid date and time"),
    ],
)  # fmt: skip
async def test_the_test_clock_refuses_invalid_and_distant_dates(
    sandbox_clerk: Clerk, sandbox: Harness, to: str, expected: str
) -> None:
    form = read_form((await sandbox_clerk.get("/clock")).text, "known_now")
    before = await sandbox.rows(_STATE)
    answer = await send(sandbox_clerk, "/clock", {**form, "do": "to", "to": to})
    assert answer.status_code == 422
    assert expected in answer.text
    assert await sandbox.rows(_STATE) == before


async def test_a_live_merchant_has_no_test_clock(clerk: Clerk) -> None:
    assert (await clerk.get("/clock")).status_code == 404
    token = read_form((await clerk.get("/credentials")).text)["token"]
    assert (await send(clerk, "/clock", {"token": token, "do": "week"})).status_code == 404


async def test_a_merchant_file_is_previewed_and_applied_once(
    clerk: Clerk, harness: Harness
) -> None:
    document = parse_yaml((await clerk.get("/settings/merchant.yaml")).text)
    document |= {"name": "Renamed", "credentials": [{"name": "erp"}]}
    form = read_form((await clerk.get("/settings/file")).text, "text")
    before = await harness.rows(_STATE)
    given = {"token": form["token"]}

    asked = await give(clerk, "/settings/changes", given, file=render_yaml(document).encode())

    assert asked.status_code == 200, asked.text[-2000:]
    assert "2 differences" in asked.text
    assert await harness.rows(_STATE) == before
    apply = {**read_form(asked.text, "known_revision"), "do": "apply"}
    applied = await give(clerk, "/settings/changes", apply)
    again = await give(clerk, "/settings/changes", apply)
    assert len(_SECRET.findall(applied.text)) == 1
    assert again.status_code == 409
    assert _SECRET.findall(again.text) == []
    assert "0 differences" in again.text
    assert (await clerk.get("/settings/changes")).status_code == 303


@pytest.mark.parametrize(
    "text", ["", "a: [", "- list", "key: x", "brand: {logo: /etc/passwd}", "name: [1", "\x01: 1"]
)
async def test_an_invalid_merchant_file_is_explained_and_its_text_kept(
    clerk: Clerk, harness: Harness, text: str
) -> None:
    form = read_form((await clerk.get("/settings/file")).text, "text")
    before = await harness.rows(_STATE)
    answer = await give(clerk, "/settings/changes", {"token": form["token"], "text": text})
    assert answer.status_code == 422
    assert "The file cannot be imported" in answer.text
    assert "root:" not in answer.text
    assert await harness.rows(_STATE) == before


async def test_a_file_that_is_too_large_is_not_read(clerk: Clerk, harness: Harness) -> None:
    form = read_form((await clerk.get("/settings/file")).text, "text")
    given = {"token": form["token"]}
    answer = await give(clerk, "/settings/changes", given, file=b"a" * (1024 * 1024 + 1))
    assert answer.status_code == 422
    assert "larger than 1 MB" in answer.text


_SCRIPT = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
_LINK = b'<svg xmlns="http://www.w3.org/2000/svg"><image href="http://evil.example/x.png"/></svg>'


def a_large_picture() -> bytes:
    """Return a valid image of more than 50 KB."""
    buffer = io.BytesIO()
    Image.effect_noise((400, 300), 90).save(buffer, "PNG")
    assert 50 * 1024 < buffer.tell() < 1024 * 1024
    return buffer.getvalue()


_ENTITY = b'<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg>&x;</svg>'


@pytest.mark.parametrize(
    "image",
    [
        _SCRIPT, _LINK, _ENTITY, b"%PDF-1.4 nothing", b"GIF89a", b"<html>", a_large_picture(),
        b"x" * (1024 * 1024 + 1), b"\x89PNG\r\n\x1a\n broken",
    ],
    ids=["script", "link", "entity", "pdf", "gif", "html", "large", "huge", "broken"],
)  # fmt: skip
async def test_an_unsafe_logo_is_refused(clerk: Clerk, harness: Harness, image: bytes) -> None:
    form = read_form((await clerk.get("/settings/brand")).text, "revision")
    before = await harness.rows(_STATE)
    answer = await give(clerk, "/settings/brand", form, logo=image)
    assert answer.status_code == 422
    assert 'id="logo-error"' in answer.text
    assert await harness.rows(_STATE) == before


async def test_a_logo_is_kept_until_it_is_removed(clerk: Clerk, harness: Harness) -> None:
    svg = b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0h9v9z"/></svg>'
    form = read_form((await clerk.get("/settings/brand")).text, "revision")
    answer = await give(clerk, "/settings/brand", {**form, "brand.color": "#1F6F5C"}, logo=svg)
    assert answer.headers["Location"].endswith("done=saved"), answer.text
    picture = await clerk.get("/settings/logo.png")
    assert picture.headers["Content-Type"] == "image/png"
    assert picture.content.startswith(b"\x89PNG")
    form = read_form((await clerk.get("/settings/brand")).text, "revision")
    await give(clerk, "/settings/brand", {**form, "brand.color": "#aa0000"})
    assert (await clerk.get("/settings/logo.png")).status_code == 200
    form = read_form((await clerk.get("/settings/brand")).text, "revision")
    await give(clerk, "/settings/brand", {**form, "no_logo": "yes"})
    assert (await clerk.get("/settings/logo.png")).status_code == 404


@pytest.mark.parametrize(
    ("color", "expected"),
    [
        ("#1f6f5c", "contrast ratio of 6.0:1"),
        ("#808080", "white text is hard to read on this colour"),
        ("#ffff00", "The colour is too light"),
    ],
)  # fmt: skip
async def test_the_contrast_of_a_colour_is_shown_before_saving(
    clerk: Clerk, color: str, expected: str
) -> None:
    form = read_form((await clerk.get("/settings/brand")).text, "revision")
    answer = await give(clerk, "/settings/brand", {**form, "brand.color": color, "do": "look"})
    assert answer.status_code == 200
    assert expected in answer.text
    assert f'fill="{color}"' in answer.text


async def test_markup_in_texts_is_escaped(clerk: Clerk, tmp_path: Path) -> None:
    texts = {
        "creditor": ("legal__name", "legal__address", "legal__register", "legal__vatId"),
        "contact": ("contact__hours", "contact__phone"),
        "privacy": ("privacy__officer",),
        "account": ("name",),
        "page": ("landingPage__advice__de",),
        "words": ("forbiddenWords__de",),
        "disputes": ("disputes__reasons__DEFECTIVE__label__de",),
    }
    for section, names in texts.items():
        await save(clerk, section, **dict.fromkeys(names, MARKUP))
        for path in (f"/settings/{section}", "/settings", "/settings/file"):
            page = await clerk.get(path)
            assert "<script>alert(1)" not in page.text, (section, path)
            assert "<b>bold</b>" not in page.text, (section, path)
        assert "&lt;b&gt;bold" in (await clerk.get(f"/settings/{section}")).text, section
    await make_credential(clerk, name=MARKUP)
    assert "<script>alert(1)" not in (await clerk.get("/credentials")).text


_OPERATORS = {Role.ADMIN, Role.OPERATOR}


@pytest.mark.parametrize("role", Role)
async def test_only_operators_and_admins_see_and_change_settings(
    resources: Resources, sandbox: Harness, role: Role
) -> None:
    at_one = role in (Role.AUDITOR, Role.MERCHANT_USER)
    place = (
        UserRoles(memberships={sandbox.merchant.merchant_id: role}) if at_one else UserRoles(role)
    )
    clerk = await sign_in(resources, an_application(resources).app, sandbox, place)
    operator = await sign_in(resources, an_application(resources).app, sandbox)
    client_id = await make_credential(operator)
    token = read_form((await clerk.get("/portal/account")).text)["token"]
    there = {
        "merchant_id": sandbox.merchant.merchant_id, "section": "brand", "client_id": client_id,
    }  # fmt: skip
    names = [
        name for name in PATHS
        if name.startswith(("settings", "credential")) or name in ("clock", "merchant_new")
    ]  # fmt: skip
    assert len(names) == 11
    for name in names:
        path = PATHS[name].format_map(there)
        for method in ROUTES[PATHS[name]]:
            before = await sandbox.rows(_STATE)
            fields = {"token": token, "do": "revoke" if role not in _OPERATORS else "look"}
            answer = await (clerk.get(path) if method == "GET" else clerk.post(path, fields))
            is_absent_logo = name == "settings_logo"
            if role in _OPERATORS and not is_absent_logo:
                assert answer.status_code in (200, 303, 409, 422), (name, method)
            else:
                assert answer.status_code == 404, (name, method)
                assert await sandbox.rows(_STATE) == before, (name, method)


async def test_forms_from_other_origins_or_without_a_token_are_refused(
    clerk: Clerk, harness: Harness
) -> None:
    token = read_form((await clerk.get("/portal/account")).text)["token"]
    before = await harness.rows(_STATE)
    foreign = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}
    for path in ("/settings/brand", "/settings/changes", "/settings/webhooks", "/credentials"):
        fields = {"name": "x", "url": "https://erp.example", "text": "name: x", "do": "apply"}
        assert (await clerk.post(path, fields)).status_code == 403
        if path in ("/settings/brand", "/settings/changes"):
            assert (await give(clerk, path, fields)).status_code == 403
        signed = {**fields, "token": token}
        assert (await clerk.post(path, signed, headers=foreign)).status_code == 403
    assert await harness.rows(_STATE) == before


async def test_another_merchants_credential_is_not_found(
    clerk: Clerk, resources: Resources, harness: Harness
) -> None:
    client_id = await make_credential(clerk)
    other = await a_harness(resources, harness.clock, key="other")
    there = await sign_in(resources, an_application(resources).app, other)
    token = read_form((await there.get("/portal/account")).text)["token"]
    assert (await there.get(f"/credentials/{client_id}")).status_code == 404
    before = await harness.rows(_STATE)
    for do in ("rotate", "end-old", "revoke"):
        given = {"token": token, "do": do, "known_made_at": "2026-03-02T09:00:00+00:00"}
        await send(there, f"/credentials/{client_id}", given)
    assert await harness.rows(_STATE) == before
