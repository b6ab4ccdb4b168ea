"""Rules for every page of the portal: who may open it, which forms are accepted, and its content
security policy."""

import pytest

from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.user import UserRoles
from dunwell.interfaces.portal.application import ROUTES
from dunwell.interfaces.portal.render.addresses import PATHS, is_ours
from dunwell.interfaces.portal.web.site import POLICY
from dunwell.platform.resources import Resources
from tests.support.application import an_application, connect
from tests.support.harness import Harness, a_harness
from tests.support.portal import Clerk, read_fields, sign_in

_OPEN = {"sign_in", "asset", "invitation", "second", "recovery"}
_ANY = "11111111-1111-4111-8111-111111111111"


def _fill(path: str, merchant_id: int, claim_id: int) -> str:
    filled = path.replace("{merchant_id}", str(merchant_id)).replace("{claim_id}", str(claim_id))
    filled = filled.replace("{act}", "payment")
    while "{" in filled:
        start, _, rest = filled.partition("{")
        filled = start + _ANY + rest.partition("}")[2]
    return filled


_AT_MERCHANT = [name for name, path in PATHS.items() if "{merchant_id}" in path]


@pytest.mark.parametrize("name", _AT_MERCHANT)
async def test_another_merchants_pages_are_not_found(
    resources: Resources, harness: Harness, claim_id: int, staff: Clerk, name: str
) -> None:
    other = await a_harness(resources, harness.clock, key="other")
    path = _fill(PATHS[name], other.merchant.merchant_id, claim_id)
    fields = {"token": read_fields((await staff.get(f"/claims/{claim_id}/note")).text)["token"]}
    for method in ROUTES[PATHS[name]]:
        answer = await (staff.get(path) if method == "GET" else staff.post(path, fields))
        assert answer.status_code == 404, (method, path)
        assert "Page not found" in answer.text


@pytest.mark.parametrize("name", [each for each in _AT_MERCHANT if "{claim_id}" in PATHS[each]])
async def test_another_merchants_claims_are_not_found_below_the_own_merchant(
    resources: Resources, harness: Harness, claim_id: int, name: str
) -> None:
    other = await a_harness(resources, harness.clock, key="other")
    [foreign] = await other.create("INV-9")
    clerk = await sign_in(resources, an_application(resources).app, harness)
    path = _fill(PATHS[name], harness.merchant.merchant_id, foreign)

    assert (await clerk.get(path)).status_code == 404


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
    assert not is_ours(address)


@pytest.mark.parametrize("token", ["", "x" * 43])
async def test_a_form_without_the_sessions_token_is_refused_and_its_text_kept(
    clerk: Clerk, harness: Harness, claim_id: int, token: str
) -> None:
    text = "A long note that somebody has typed."

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


async def test_an_auditor_sees_no_forms_and_cannot_submit_any(
    resources: Resources, harness: Harness, claim_id: int
) -> None:
    auditor = await sign_in(
        resources, an_application(resources).app, harness, UserRoles(Role.AUDITOR)
    )
    page = await auditor.get(f"/claims/{claim_id}")
    assert "Record payment" not in page.text
    assert "Add note" not in page.text

    for act in ("payment", "pause", "note", "contact", "end", "dispute"):
        assert (await auditor.get(f"/claims/{claim_id}/{act}")).status_code == 404


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
