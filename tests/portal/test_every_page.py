"""Rules for every page of the portal: who may open it, which forms are accepted, and its content
security policy."""

import pytest

from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.user import UserRoles
from dunwell.interfaces.portal.render.addresses import is_portal_address
from dunwell.interfaces.portal.web.site import POLICY
from dunwell.platform.resources import Resources
from tests.support.application import an_application, connect
from tests.support.harness import Harness
from tests.support.portal import Clerk, read_fields, sign_in


async def test_signed_out_users_are_redirected_to_the_sign_in_page_and_back(
    resources: Resources, harness: Harness
) -> None:
    stranger = connect(an_application(resources).app)
    path = f"/portal/m/{harness.merchant.merchant_id}/claims?status=PAID&x=1"

    answer = await stranger.get(path)

    assert answer.status_code == 303
    assert answer.headers["Location"].startswith("/portal/sign-in?next=%2Fportal%2Fm%2F")


@pytest.mark.parametrize(
    "address",
    [
        "//evil.example", "https://evil.example/portal", "/portalx", "/portal\\evil", "/",
        "/portal/a b", "/portal/ ", "/portal/\x7f", "/portal/\u00e4",
    ],
)  # fmt: skip
def test_the_redirect_after_signing_in_stays_in_the_portal(address: str) -> None:
    assert not is_portal_address(address)


@pytest.mark.parametrize("token", ["", "x" * 43])
async def test_a_form_without_the_sessions_token_is_refused_and_its_text_kept(
    clerk: Clerk, harness: Harness, claim_id: int, token: str
) -> None:
    text = "A long note that a clerk has typed."

    answer = await clerk.post(f"/claims/{claim_id}/note", {"token": token, "text": text})

    assert answer.status_code == 403
    assert text in answer.text
    assert await harness.rows("SELECT 1 FROM claim_notes WHERE merchant_id = $1") == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
    ],
)
async def test_a_form_from_another_origin_is_refused_even_with_the_token(
    clerk: Clerk, harness: Harness, claim_id: int, headers: dict[str, str]
) -> None:
    form = await clerk.get(f"/claims/{claim_id}/note")
    fields = {**read_fields(form.text), "text": "x"}

    answer = await clerk.post(f"/claims/{claim_id}/note", fields, headers=headers)

    assert answer.status_code == 403
    assert await harness.rows("SELECT 1 FROM claim_notes WHERE merchant_id = $1") == []


async def test_every_page_has_the_strict_content_security_policy(
    clerk: Clerk, claim_id: int
) -> None:
    for path in ("", "/claims", f"/claims/{claim_id}", "/nowhere"):
        page = await clerk.get(path)
        assert page.headers["Content-Security-Policy"] == POLICY
        assert page.headers["Cache-Control"] == "no-store"
    assert "require-trusted-types-for 'script'; trusted-types dunwell" in POLICY


async def test_an_auditor_sees_no_forms(
    resources: Resources, harness: Harness, claim_id: int
) -> None:
    auditor = await sign_in(
        resources, an_application(resources).app, harness, UserRoles(Role.AUDITOR)
    )
    page = await auditor.get(f"/claims/{claim_id}")
    assert "Record payment" not in page.text
    assert "Add note" not in page.text


async def test_the_navigation_lists_only_pages_that_the_user_may_open(
    clerk: Clerk, staff: Clerk
) -> None:
    for title in (">Audit log</a>", ">Assignment rules</a>"):
        assert title in (await clerk.get("")).text
        assert title not in (await staff.get("")).text


async def test_the_entered_values_are_shown_after_the_session_ended(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    form = await clerk.get(f"/claims/{claim_id}/note")
    fields = {**read_fields(form.text), "text": "Half an hour of typing."}
    await harness.rows("UPDATE portal_sessions SET ended_at = now() WHERE $1 > 0")

    answer = await clerk.post(f"/claims/{claim_id}/note", fields)

    assert answer.status_code == 403
    assert "Half an hour of typing." in answer.text
    assert "Your session has expired" in answer.text


async def test_the_chosen_language_is_kept(clerk: Clerk) -> None:
    assert '<html lang="en"' in (await clerk.get("/claims")).text
    await clerk.get("/claims?lang=de")
    assert '<html lang="de"' in (await clerk.get("/claims")).text
