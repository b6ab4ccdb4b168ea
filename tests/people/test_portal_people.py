"""The pages about users: who sees them and what they accept, in both languages."""

import html
import re
from datetime import timedelta

import pyotp
import pytest

from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.user import UserRoles
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import Database
from dunwell.platform.resources import Resources
from tests.support.passkeys import SoftwarePasskey
from tests.support.portal_sign_in import (
    ORIGIN,
    SignInPages,
    SignInVisitor,
    build_sign_in_pages,
    read_hidden,
)
from tests.support.users import PASSWORD, JoinedUser, a_new_user, invite, join

NEW = "kettle pebbles orchid 32"
ROLES = [UserRoles(Role.OPERATOR), UserRoles(Role.AUDITOR)]


@pytest.fixture
def pages(resources: Resources) -> SignInPages:
    return build_sign_in_pages(resources)


@pytest.fixture
async def erika(pages: SignInPages) -> JoinedUser:
    return await join(pages.services, a_new_user())


@pytest.fixture
async def admin(pages: SignInPages, erika: JoinedUser) -> SignInVisitor:
    visitor = pages.visitor()
    await visitor.sign_in(erika)
    return visitor


def find_secret(page: str) -> str:
    found = re.search(r"data-secret>([A-Z2-7 ]+)<", page)
    assert found is not None
    return found[1].replace(" ", "")


def find_link(page: str) -> str:
    found = re.search(r"(https://pay\.example\.org/portal/invitation/[\w-]{43})", page)
    assert found is not None
    return found[1].removeprefix(ORIGIN)


async def test_an_invited_user_joins_and_gets_ten_recovery_codes(
    pages: SignInPages, admin: SignInVisitor, clock: MovableClock
) -> None:
    made = await admin.send(
        "/portal/people/invite", name="Paul <b>", email="paul@example.org", language="de",
        role="OPERATOR",
    )  # fmt: skip
    assert made.status_code == 200
    assert "Paul &lt;b&gt;" in made.text
    link, paul = find_link(made.text), pages.visitor("198.51.100.5")
    shown = await paul.get(link)
    assert "<svg" in shown.text
    code = pyotp.TOTP(find_secret(shown.text)).at(clock.now())
    given = {"password": NEW, "password_again": NEW, "code": code}
    wrong = await paul.send(link, **{**given, "password_again": "another one 42"})
    assert (wrong.status_code, "The passwords do not match" in wrong.text) == (400, True)
    wrong = await paul.send(link, password="short", password_again="other", code="000000")
    assert wrong.text.count('aria-invalid="true"') == 2  # The code, and the differing passwords.
    joined = await paul.send(link, **given)
    assert joined.headers["Location"] == "/portal/account/recovery-codes"
    codes = await paul.get(joined.headers["Location"])
    assert len(re.findall(r"(?:[0-9A-Z]{4}-){3}[0-9A-Z]{4}", codes.text)) == 10
    assert 'lang="de"' in codes.text
    await paul.send("/portal/account/recovery-codes", "/portal/account/recovery-codes/kept")
    again = await paul.get("/portal/account/recovery-codes")
    assert not re.findall(r"(?:[0-9A-Z]{4}-){3}[0-9A-Z]{4}", again.text)
    assert (await paul.get(link)).status_code == 410
    assert (await paul.post(link, **given)).status_code == 410


async def test_a_user_joins_and_signs_in_with_a_passkey_by_forms(pages: SignInPages) -> None:
    link = "/portal/invitation/" + (await invite(pages.services, a_new_user())).secret
    passkey, visitor = SoftwarePasskey(ORIGIN, "pay.example.org"), pages.visitor()
    options = await visitor.post(f"{link}/passkey/ask")
    answer = passkey.create(options.text).decode()
    joined = await visitor.post(f"{link}/passkey", answer=answer)
    assert joined.headers["Location"] == "/portal/account/recovery-codes"
    other = pages.visitor()
    options = await other.post("/portal/sign-in/passkey/ask")
    assert options.headers["Content-Type"] == "application/json"
    signed_in = await other.post(
        "/portal/sign-in/passkey", answer=passkey.get(options.text).decode(), next="/portal/people"
    )
    assert (signed_in.status_code, signed_in.headers["Location"]) == (303, "/portal/people")
    refused = await pages.visitor().post("/portal/sign-in/passkey", answer="rubbish")
    assert refused.status_code == 400


@pytest.mark.parametrize("language", ["en", "de"])
async def test_a_user_without_a_password_is_asked_to_sign_in_again(
    pages: SignInPages, clock: MovableClock, language: str
) -> None:
    link = "/portal/invitation/" + (await invite(pages.services, a_new_user())).secret
    passkey, visitor = SoftwarePasskey(ORIGIN, "pay.example.org"), pages.visitor()
    options = await visitor.post(f"{link}/passkey/ask")
    await pages.visitor().post(f"{link}/passkey", answer=passkey.create(options.text).decode())
    options = await visitor.post("/portal/sign-in/passkey/ask")
    await visitor.post("/portal/sign-in/passkey", answer=passkey.get(options.text).decode())
    clock.advance(timedelta(minutes=5))
    expected = {"en": "within five minutes", "de": "innerhalb von fünf Minuten"}[language]
    shown = await visitor.get(f"/portal/account?lang={language}")
    hidden = read_hidden(shown.text)
    assert expected in shown.text
    for page in ("app", "recovery-codes"):
        refused = await visitor.post(f"/portal/account/{page}", token=hidden["token"])
        assert (refused.status_code, expected in refused.text) == (400, True)
    new = {"password_new": NEW, "password_again": NEW, "token": hidden["token"]}
    refused = await visitor.post("/portal/account/password", **new)
    assert (refused.status_code, expected in refused.text) == (400, True)
    asked = await visitor.post("/portal/account/passkey/ask", token=hidden["token"])
    assert (asked.status_code, asked.json()) == (403, {"fault": "TOO_LONG_AGO"})
    refused = await visitor.post("/portal/account/factor", **hidden)
    assert expected in (await visitor.get(refused.headers["Location"])).text


async def test_adding_a_passkey_requires_the_password(
    pages: SignInPages, admin: SignInVisitor
) -> None:
    passkey = SoftwarePasskey(ORIGIN, "pay.example.org")
    token = read_hidden((await admin.get("/portal/account")).text)["token"]
    wrong = await admin.post("/portal/account/passkey/ask", token=token, password="no")
    assert (wrong.status_code, wrong.json()) == (403, {"fault": "WRONG"})
    options = await admin.post("/portal/account/passkey/ask", token=token, password=PASSWORD)
    answer = passkey.create(options.text).decode()
    added = await admin.post("/portal/account/passkey", token=token, answer=answer, name="key <1>")
    assert added.headers["Location"] == "/portal/account?done=passkey_added"
    assert "key &lt;1&gt;" in (await admin.get("/portal/account")).text
    again = await admin.post("/portal/account/passkey", token=token, answer=answer, name="")
    assert again.headers["Location"] == "/portal/account?done=passkey_refused"


async def test_a_new_password_replaces_the_session(
    pages: SignInPages, admin: SignInVisitor
) -> None:
    before = admin.session
    wrong = await admin.send(
        "/portal/account/password", password="no", password_new="short", password_again="other"
    )
    assert (wrong.status_code, wrong.text.count('aria-invalid="true"')) == (400, 3)
    changed = await admin.send(
        "/portal/account/password", password=PASSWORD, password_new=NEW, password_again=NEW
    )
    assert changed.headers["Location"] == "/portal/account?done=password_changed"
    assert admin.session not in (None, before)
    thief = pages.visitor()
    thief.http.cookies.set("__Host-dunwell-portal", before or "")
    assert (await thief.get("/portal/account")).status_code == 303
    assert (await admin.get("/portal/account")).status_code == 200


async def test_a_new_app_is_set_up(admin: SignInVisitor, clock: MovableClock) -> None:
    await admin.send("/portal/account/app", password=PASSWORD)
    secret = find_secret((await admin.get("/portal/account/app")).text)
    wrong = await admin.send("/portal/account/app", code="000000")
    assert wrong.status_code == 400
    right = await admin.send("/portal/account/app", code=pyotp.TOTP(secret).at(clock.now()))
    assert right.headers["Location"] == "/portal/account?done=app_added"


async def test_the_last_factor_is_not_removed(admin: SignInVisitor) -> None:
    fields = read_hidden((await admin.get("/portal/account")).text)
    answer = await admin.post("/portal/account/factor", **{**fields, "password": PASSWORD})
    assert answer.status_code == 409


async def test_a_conflicting_change_shows_the_other_admins_change(
    pages: SignInPages, admin: SignInVisitor
) -> None:
    paul = await join(pages.services, a_new_user("paul@example.org", name="Paul"))
    path = f"/portal/people/{paul.user_id}"
    hidden = read_hidden((await admin.get(path)).text)
    first = await admin.post(path, **{**hidden, "role": "AUDITOR"})
    assert first.headers["Location"] == f"{path}?done=saved"
    second = await admin.post(path, **{**hidden, "role": "OPERATOR"})
    assert second.status_code == 409
    assert "Someone else changed this user" in second.text
    assert re.search(r'value="OPERATOR" checked', second.text)
    assert re.search(r"<dd>\s*Auditor\s*</dd>", second.text)


@pytest.mark.parametrize("revision", ["9" * 5000, "-1", "x", "\u0663", ""])
async def test_an_unknown_revision_changes_nothing(
    admin: SignInVisitor, erika: JoinedUser, revision: str
) -> None:
    await join(admin.services, a_new_user("paul@example.org", name="Paul"))
    path = f"/portal/people/{erika.user_id}"
    refused = await admin.send(path, role="AUDITOR", revision=revision)
    assert refused.status_code == 409


async def test_users_are_reset_and_deactivated(
    pages: SignInPages, admin: SignInVisitor, erika: JoinedUser
) -> None:
    paul = await join(pages.services, a_new_user("paul@example.org", name="Paul"))
    path = f"/portal/people/{paul.user_id}"
    reset = await admin.send(path, f"{path}/reset")
    assert (await pages.visitor().get(find_link(reset.text))).status_code == 200
    ended = await admin.send(path, f"{path}/end")
    assert ended.headers["Location"] == "/portal/people?done=user_ended"
    own = f"/portal/people/{erika.user_id}"
    for act in ("end", "reset"):
        last = await admin.send(own, f"{own}/{act}")
        assert last.status_code == 409
        assert "last admin" in last.text


@pytest.mark.parametrize("roles", ROLES)
async def test_users_without_the_right_get_404_for_pages_about_users(
    pages: SignInPages, erika: JoinedUser, roles: UserRoles
) -> None:
    other = await join(pages.services, a_new_user("o@example.org", name="O", roles=roles))
    visitor = pages.visitor()
    await visitor.sign_in(other)
    home = await visitor.get("/portal/account")
    assert 'href="/portal/people"' not in home.text
    for path in ("", "/invite", f"/{erika.user_id}"):
        assert (await visitor.get(f"/portal/people{path}")).status_code == 404
    token = read_hidden(home.text)["token"]
    for path in (
        "/invite",
        f"/{erika.user_id}",
        f"/{erika.user_id}/end",
        f"/{erika.user_id}/reset",
    ):
        sent = await visitor.post(
            f"/portal/people{path}", token=token, email="x@example.org", name="X", role="ADMIN",
            revision="1",
        )  # fmt: skip
        assert sent.status_code == 404


@pytest.mark.parametrize("given", ["x", "0", "' OR 1", "00000000-0000-0000-0000-000000000000"])
async def test_an_unknown_user_is_answered_with_404(admin: SignInVisitor, given: str) -> None:
    assert (await admin.get(f"/portal/people/{given}")).status_code == 404


async def test_the_audit_log_shows_names_instead_of_addresses(
    pages: SignInPages, admin: SignInVisitor, erika: JoinedUser, database: Database
) -> None:
    shown = await admin.get(f"/portal/people/audit?of={erika.user_id}")
    for action in ("user.invite", "user.join", "session.begin"):
        assert action in shown.text
    assert "erika@example.org" not in shown.text
    assert "Erika" in shown.text
    bad = await admin.get("/portal/people/audit?after=rubbish")
    assert bad.status_code == 303


@pytest.mark.parametrize("language", ["en", "de"])
async def test_every_page_exists_in_both_languages(
    pages: SignInPages, admin: SignInVisitor, erika: JoinedUser, language: str
) -> None:
    link = (await invite(pages.services, a_new_user("new@example.org"))).secret
    paths = [
        "/portal/account", "/portal/account/password", "/portal/account/app",
        "/portal/account/recovery-codes", "/portal/people", "/portal/people/invite",
        f"/portal/people/{erika.user_id}", "/portal/people/audit", f"/portal/invitation/{link}",
        f"/portal/invitation/{'x' * 43}",
    ]  # fmt: skip
    for path in paths:
        shown = await admin.get(f"{path}?lang={language}")
        assert shown.status_code == (410 if path.endswith("xxx") else 200), path
        assert f'<html lang="{language}"' in shown.text
        check_page(shown.text)
    visitor = pages.visitor()
    for path in ("/portal/sign-in", "/portal/sign-in/code", "/portal/sign-in/recovery-code"):
        if path != "/portal/sign-in":
            await visitor.submit_password(erika)
        shown = await visitor.get(f"{path}?lang={language}")
        assert shown.status_code == 200
        check_page(shown.text)


def check_page(text: str) -> None:
    """Check for one title, one heading, unique ids, labels of inputs, and no inline scripts or
    styles."""
    assert text.count("<h1") == 1
    ids = re.findall(r'\sid="([^"]+)"', text)
    assert len(ids) == len(set(ids)), sorted(ids)
    named = set(re.findall(r'<label[^>]* for="([^"]+)"', text))
    for tag in re.findall(r"<(?:input|textarea)[^>]*>", text):
        is_typed = not re.search(r'type="(?:hidden|radio|checkbox)"| hidden>', tag)
        found = re.search(r'\sid="([^"]+)"', tag)
        assert not is_typed or (found and found[1] in named), tag
    assert not re.search(r"<script(?![^>]*\ssrc=)|\sstyle=|\son\w+=", text)
    assert html.unescape(text)
