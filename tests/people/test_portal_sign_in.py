"""The sign-in pages of the portal over HTTP: cookies, forged forms, and redirect targets."""

import re
from urllib.parse import urlencode

import pytest

from dunwell.accounts.users.sign_in.limits import MAX_ATTEMPTS
from dunwell.platform.resources import Resources
from tests.support.portal_sign_in import (
    ENTRY,
    SESSION,
    SignInPages,
    SignInVisitor,
    build_sign_in_pages,
    read_hidden,
)
from tests.support.users import PASSWORD, a_new_user, invite, join, read_codes

FOREIGN = [
    {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
    {"Sec-Fetch-Site": "same-site", "Origin": "https://other.example.org"},
    {"Origin": "https://evil.example"},
    {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
]


@pytest.fixture
def pages(resources: Resources) -> SignInPages:
    return build_sign_in_pages(resources)


@pytest.fixture
def visitor(pages: SignInPages) -> SignInVisitor:
    return pages.visitor()


async def test_password_and_code_lead_to_the_requested_page(
    pages: SignInPages, visitor: SignInVisitor
) -> None:
    erika = await join(pages.services, a_new_user())
    asked = await visitor.get("/portal/people?x=1")
    assert (asked.status_code, asked.headers["Location"]) == (
        303, "/portal/sign-in?next=%2Fportal%2Fpeople%3Fx%3D1",
    )  # fmt: skip
    second = await visitor.send(
        asked.headers["Location"], "/portal/sign-in", email=erika.email, password=PASSWORD
    )
    assert second.status_code == 303
    await visitor.sign_in(erika)
    assert visitor.session is not None


async def test_cookies_are_as_strict_as_possible(
    pages: SignInPages, visitor: SignInVisitor
) -> None:
    erika = await join(pages.services, a_new_user())
    given = await visitor.submit_password(erika)
    [entry] = given.headers.get_list("set-cookie")
    answer = await visitor.sign_in(erika)
    cookies = dict(each.split("=", 1) for each in answer.headers.get_list("set-cookie"))
    rest = "; Path=/; HttpOnly; SameSite=Lax; Secure"
    assert re.fullmatch(rf"{ENTRY}=[\w-]{{43}}{rest}", entry)
    assert re.fullmatch(rf"[\w-]{{43}}{rest}", cookies[SESSION])
    assert cookies[ENTRY] == f"{rest}; Max-Age=0"
    assert answer.headers["Cache-Control"] == "no-store"


async def test_development_without_tls_uses_other_cookie_names(resources: Resources) -> None:
    pages = build_sign_in_pages(resources, "http://localhost:8000")
    erika = await join(pages.services, a_new_user())
    own = {
        "Host": "localhost:8000",
        "Sec-Fetch-Site": "same-origin",
        "Origin": "http://localhost:8000",
    }
    answer = await pages.visitor().post(
        "/portal/sign-in", own, email=erika.email, password=PASSWORD
    )
    assert re.fullmatch(
        r"dunwell-portal-entry=[\w-]{43}; Path=/; HttpOnly; SameSite=Lax",
        answer.headers["set-cookie"],
    )


async def test_a_planted_session_cookie_gives_no_access(
    pages: SignInPages, visitor: SignInVisitor
) -> None:
    """A planted cookie, even of the attacker's own session, gives no access to the new session."""
    erika = await join(pages.services, a_new_user())
    mallory = await join(pages.services, a_new_user("mallory@example.org", name="Mallory"))
    visitor.http.cookies.set(SESSION, "A" * 43, domain="pay.example.org")
    await visitor.sign_in(erika)
    assert visitor.session != "A" * 43
    planted = pages.visitor()
    planted.http.cookies.set(SESSION, "A" * 43)
    assert (await planted.get("/portal/account")).status_code == 303
    victim = pages.visitor()
    victim.http.cookies.set(SESSION, mallory.session.secret, domain="pay.example.org")
    await victim.post("/portal/sign-in", email=erika.email, password=PASSWORD)
    await victim.submit_code(erika)
    thief = pages.visitor()
    thief.http.cookies.set(SESSION, mallory.session.secret)
    assert (await thief.get("/portal/account")).status_code == 303


async def test_a_stolen_session_ends_when_its_user_signs_out(
    pages: SignInPages, visitor: SignInVisitor
) -> None:
    erika = await join(pages.services, a_new_user())
    await visitor.sign_in(erika)
    stolen = visitor.session
    thief = pages.visitor()
    thief.http.cookies.set(SESSION, stolen or "")
    assert (await thief.get("/portal/account")).status_code == 200
    await visitor.send("/portal/account", "/portal/sign-out")
    assert (await thief.get("/portal/account")).status_code == 303


@pytest.mark.parametrize("headers", FOREIGN)
async def test_forms_from_other_sites_do_not_sign_in(
    pages: SignInPages, visitor: SignInVisitor, headers: dict[str, str]
) -> None:
    erika = await join(pages.services, a_new_user())
    answer = await visitor.post("/portal/sign-in", headers, email=erika.email, password=PASSWORD)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/portal/sign-out", {}),
        ("/portal/account", {"name": "X", "language": "en"}),
        ("/portal/account/sessions", {"session": "x"}),
        ("/portal/account/password", {"password": PASSWORD, "password_new": "gravel lantern 77"}),
        ("/portal/account/app", {"password": PASSWORD}),
        ("/portal/account/passkey", {"answer": "{}"}),
        ("/portal/account/passkey/ask", {"password": PASSWORD}),
        ("/portal/account/factor", {"factor": "x", "password": PASSWORD}),
        ("/portal/account/recovery-codes", {"password": PASSWORD}),
        ("/portal/account/recovery-codes/kept", {}),
        ("/portal/people/invite", {"email": "a@b.org", "name": "A", "role": "ADMIN"}),
        ("/portal/people/{user}", {"role": "AUDITOR", "revision": "1"}),
        ("/portal/people/{user}/end", {}),
        ("/portal/people/{user}/reset", {}),
    ],
)
async def test_forms_without_the_csrf_token_of_the_session_are_refused(
    pages: SignInPages, visitor: SignInVisitor, path: str, fields: dict[str, str]
) -> None:
    erika = await join(pages.services, a_new_user())
    await visitor.sign_in(erika)
    other = pages.visitor()
    await other.sign_in(erika)
    shown = await other.get("/portal/account")
    address = path.format(user=erika.user_id)
    for token in ("", "x" * 43, read_hidden(shown.text)["token"]):
        answer = await visitor.post(address, token=token, **fields)
        assert answer.status_code == 403
    for headers in FOREIGN:
        assert (await visitor.post(address, headers, **fields)).status_code == 403
    assert (await visitor.get("/portal/account")).status_code == 200


@pytest.mark.parametrize(
    "to",
    [
        "https://evil.example/", "//evil.example/portal", "/\\evil.example", "\\\\evil.example",
        "javascript:alert(1)", "/portal\\@evil.example", "/portalx", "https:/portal", "/q/x",
        "/portal/\r\nX: y", "portal", "/portal/sign-in?next=/portal/sign-in", "/\u202e/portal",
        "/portal/a b",
    ],
)  # fmt: skip
async def test_the_next_page_cannot_lead_to_another_site(
    pages: SignInPages, visitor: SignInVisitor, to: str
) -> None:
    erika = await join(pages.services, a_new_user())
    shown = await visitor.get("/portal/sign-in?" + urlencode({"next": to}))
    assert read_hidden(shown.text)["next"] == "/portal"
    await visitor.post("/portal/sign-in", email=erika.email, password=PASSWORD, next=to)
    answer = await visitor.sign_in(erika)
    assert answer.headers["Location"].startswith("/portal")
    assert "evil" not in answer.headers["Location"]


async def test_the_sign_in_page_does_not_reveal_which_users_exist(pages: SignInPages) -> None:
    await join(pages.services, a_new_user())
    await invite(pages.services, a_new_user("invited@example.org"))
    texts = set()
    for email in ("erika@example.org", "invited@example.org", "nobody@example.org", ""):
        answer = await pages.visitor().post("/portal/sign-in", email=email, password="wrong")
        assert answer.status_code == 400
        texts.add(answer.text.replace(email, "") if email else answer.text)
    assert len({re.sub(r' value=""', "", each) for each in texts}) == 1


async def test_too_many_attempts_show_how_long_to_wait(pages: SignInPages) -> None:
    for number in range(MAX_ATTEMPTS):
        address = f"198.51.100.{number}"
        await pages.visitor(address).post("/portal/sign-in", email="e@x.org", password="wrong")
    answer = await pages.visitor().post("/portal/sign-in", email="E@x.org", password="wrong")
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "900")
    assert "15 minutes" in answer.text


async def test_a_recovery_code_signs_in_once(pages: SignInPages, visitor: SignInVisitor) -> None:
    erika = await join(pages.services, a_new_user())
    code = (await read_codes(pages.services, erika))[0]
    await visitor.submit_password(erika)
    answer = await visitor.send("/portal/sign-in/recovery-code", code=code)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/portal")
    await pages.visitor().submit_password(erika)
    again = pages.visitor()
    await again.submit_password(erika)
    assert (await again.send("/portal/sign-in/recovery-code", code=code)).status_code == 400


async def test_a_sign_in_from_a_new_network_is_questioned(pages: SignInPages) -> None:
    erika = await join(pages.services, a_new_user())
    far = pages.visitor("198.51.100.99")
    answer = await far.sign_in(erika)
    assert answer.headers["Location"] == "/portal/account?done=new_place"
    shown = await far.get(answer.headers["Location"])
    assert "Was that you?" in shown.text
    assert "new network" in shown.text


async def test_the_code_page_requires_a_password_first(visitor: SignInVisitor) -> None:
    answer = await visitor.get("/portal/sign-in/code")
    assert (answer.status_code, answer.headers["Location"]) == (
        303, "/portal/sign-in?next=%2Fportal",
    )  # fmt: skip
    answer = await visitor.post("/portal/sign-in/code", code="123456")
    assert answer.headers["Location"] == "/portal/sign-in?next=%2Fportal&fault=GONE"


@pytest.mark.parametrize(
    ("language", "expected"),
    [("en", "Sign-in to this account is restricted"), ("de", "Die Anmeldung bei diesem Konto ist")],
)
async def test_a_locked_account_is_shown_only_after_the_right_password(
    pages: SignInPages, language: str, expected: str
) -> None:
    erika = await join(pages.services, a_new_user())
    known, stranger = pages.visitor(), pages.visitor("198.51.100.9")
    await known.sign_in(erika)
    await stranger.submit_password(erika)
    async with pages.services.resources.database.transaction() as tx:
        await tx.execute("UPDATE users SET second_factor_locked_at = $1", pages.services.now())
    code = await stranger.send(f"/portal/sign-in/code?lang={language}", code="123456")
    right = await stranger.submit_password(erika)
    wrong = await stranger.submit_password(erika, "not the password")
    assert [(each.status_code, expected in each.text) for each in (code, right, wrong)] == [
        (403, True), (403, True), (400, False),
    ]  # fmt: skip
    known.http.cookies.delete(SESSION)
    into = await known.sign_in(erika)
    assert into.headers["Location"] == "/portal/account"
    assert "ten wrong codes" in (await known.get("/portal/account")).text
    assert "ten wrong codes" in (await known.get(f"/portal/people/{erika.user_id}")).text
