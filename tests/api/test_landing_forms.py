"""Every form is accepted only from our own pages and only in its own session."""

import re

import pytest

from tests.support.landing import LandingHarness, read_hidden
from tests.support.one_claim import ROUTES

_FORMS = sorted(path for path, runs in ROUTES.items() if "POST" in runs)
_IN_SESSION = [path for path in _FORMS if path.startswith("/claim")]
_TRACES = """
SELECT (SELECT count(*) FROM audit_log WHERE merchant_id = $1) AS audited,
       (SELECT count(*) FROM events WHERE merchant_id = $1) AS events,
       (SELECT count(*) FROM debtor_notices WHERE merchant_id = $1) AS notices,
       (SELECT count(*) FROM payment_requests WHERE merchant_id = $1) AS requests
"""


@pytest.mark.parametrize("token", [None, "", "x", "other"])
async def test_a_form_without_its_sessions_token_does_nothing(
    landing: LandingHarness, token: str | None
) -> None:
    await landing.open()
    fields = {"code": "123456", "fact": "20459", "shown": "10240", "provider": "sandbox"}
    if token == "other":
        theirs = await landing.visitor().open(await landing.give_link())
        fields["token"] = read_hidden(theirs.text, "/claim/end")["token"]
    elif token is not None:
        fields["token"] = token
    before = await landing.payments.harness.rows(_TRACES)

    answers = [await landing.browser.post(_fill(path), **fields) for path in _IN_SESSION]

    for path, answer in zip(_IN_SESSION, answers, strict=True):
        assert answer.status_code in _list_refusals(path), path
        if answer.status_code == 403:
            assert "Es wurde nichts geändert und nichts bezahlt." in answer.text
    assert await landing.payments.harness.rows(_TRACES) == before
    assert landing.payments.provider.started == []
    assert (await landing.browser.get("/claim")).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "http://127.0.0.1:8001", "Sec-Fetch-Site": "same-origin"},
        {"Origin": "null", "Sec-Fetch-Site": "none"},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
    ],
)
async def test_a_foreign_form_with_the_right_token_does_nothing(
    landing: LandingHarness, headers: dict[str, str]
) -> None:
    code = await landing.give_code()
    page = await landing.open()
    fields = {**read_hidden(page.text, "/claim/end"), "code": code, "amount": "102,40"}
    before = await landing.payments.harness.rows(_TRACES)

    answers = [
        await landing.browser.http.post(_fill(path), data=fields, headers=headers)
        for path in _FORMS
    ]

    for path, answer in zip(_FORMS, answers, strict=True):
        assert answer.status_code in _list_refusals(path), path
    assert await landing.payments.harness.rows(_TRACES) == before
    assert (await landing.browser.get("/claim")).status_code == 200


async def test_a_form_without_an_origin_needs_the_sessions_token(
    landing: LandingHarness,
) -> None:
    """The browser does not send Sec-Fetch-Site."""
    link, null_origin = await landing.give_link(), {"Origin": "null"}
    opened = await landing.browser.http.post(link, headers=null_origin)
    code = await landing.browser.http.post("/q", data={"code": "x"}, headers=null_origin)
    page = await landing.open()
    fields = read_hidden(page.text, "/claim/end")
    without = await landing.browser.http.post("/claim/end", headers=null_origin)
    ended = await landing.browser.http.post("/claim/end", data=fields, headers=null_origin)

    assert [each.status_code for each in (opened, code, without, ended)] == [403, 403, 403, 303]


def _list_refusals(path: str) -> set[int]:
    """Return the statuses of a refusal. An invalid id is not found (404), and a form with files is
    refused in another content type (400)."""
    # A form of mail programs. Its address is the proof, and this address is invalid.
    if path == "/u/{reference}":
        return {410}
    is_plain = re.search(r"\{(?!place|token)", path) is None
    return {403} if is_plain else {400, 403, 404}


def _fill(path: str) -> str:
    return re.sub(r"\{\w+\}", "x", path.replace("{place}", "preferences"))
