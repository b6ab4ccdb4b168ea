"""Errors get a page that says what happened and what to do, without internal details."""

import pytest

from dunwell.platform.database.database import DatabaseAway
from dunwell.platform.resources import Resources
from tests.support.broken_database import pages_over
from tests.support.landing import OWN_FORM, LandingHarness

_FORM = {**OWN_FORM, "Content-Type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize(
    "path",
    [
        "/claim/nothing",
        "/claim/a/b/c",
        "/q/a/b",
        "/claim/receipt",
        "/claim/receipt/x/y",
        "/claim/brand/1",
        "/claim/pay/x",
    ],
)
async def test_an_unknown_address_gets_a_page(landing: LandingHarness, path: str) -> None:
    page = await landing.browser.get(path, headers={"Accept-Language": "de"})
    assert page.status_code == 404
    assert "Diese Seite gibt es nicht" in page.text


async def test_in_a_session_an_error_page_names_the_creditor(landing: LandingHarness) -> None:
    await landing.open()
    page = await landing.browser.get("/claim/nothing")
    assert "Diese Seite gibt es nicht" in page.text
    assert 'href="tel:+49401234560"' in page.text


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "POST"])
async def test_a_wrong_method_gets_a_page(landing: LandingHarness, method: str) -> None:
    page = await landing.browser.http.request(method, "/claim")
    assert (page.status_code, page.headers["Allow"]) == (405, "GET, HEAD")
    assert "<h1>" in page.text


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (b"code=" + b"0" * 9000, _FORM, 413),
        (b"&".join(b"a%d=1" % n for n in range(50)), _FORM, 400),
        (b"code=\xff\xfe", _FORM, 400),
        (b"code=%ff", _FORM, 400),
        (b"code=0000-0000%00", _FORM, 400),
        (b'{"code": "x"}', {**OWN_FORM, "Content-Type": "application/json"}, 400),
        (b"--x", {**OWN_FORM, "Content-Type": "multipart/form-data; boundary=x"}, 400),
    ],
)
async def test_an_unreadable_form_gets_a_page(
    landing: LandingHarness, content: bytes, headers: dict[str, str], status: int
) -> None:
    page = await landing.browser.http.post("/q", content=content, headers=headers)
    assert page.status_code == status
    assert "Nothing was changed." in page.text


@pytest.mark.parametrize("path", ["/q/abc", "/claim"])
async def test_an_unavailable_database_gets_a_page(resources: Resources, path: str) -> None:
    async with pages_over(resources, DatabaseAway("away")) as http:
        page = await http.get(path, headers={"Cookie": f"dunwell={'A' * 43}"})

    assert (page.status_code, page.headers["Retry-After"]) == (503, "5")
    assert "These pages are not available at the moment" in page.text


async def test_an_internal_error_shows_only_the_requests_id(
    resources: Resources, capsys: pytest.CaptureFixture[str]
) -> None:
    async with pages_over(resources, RuntimeError("SELECT secret")) as http:
        page = await http.get("/q/a-token-nobody-may-log")

    logged = capsys.readouterr().out
    assert page.status_code == 500
    assert "secret" not in page.text
    [number] = [word for word in logged.split() if word.startswith("request_id=")]
    assert number.removeprefix("request_id=") in page.text
    assert "a-token-nobody-may-log" not in logged.split("Traceback")[0]
    assert page.headers["Content-Security-Policy"].startswith("default-src 'none'")
