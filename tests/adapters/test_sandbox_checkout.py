"""`/sandbox-provider/checkout/<id>`: a GET changes nothing, and the outcome is set once."""

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest
from starlette.applications import Starlette

from dunwell.adapters.payments.sandbox.provider import SandboxProvider
from dunwell.adapters.payments.sandbox.routes import sandbox_provider_routes
from dunwell.cases.payments.provider import Checkout
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.adapters.provider_contract import ASKED

Client = httpx.AsyncClient
_ROW = "SELECT state, notices_due, notice_at, decided_at FROM sandbox_checkouts"


@pytest.fixture
async def client(resources: Resources) -> AsyncIterator[Client]:
    app = Starlette(routes=sandbox_provider_routes(resources))
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
        yield client


@pytest.fixture
async def checkout(resources: Resources) -> Checkout:
    return await SandboxProvider(resources).open_checkout(ASKED)


def path_of(checkout: Checkout) -> str:
    return f"/sandbox-provider/checkout/{checkout.checkout_id}"


async def press(
    client: Client, checkout: Checkout, decision: str, notices: str = "once", **changes: str
) -> httpx.Response:
    page = (await client.get(path_of(checkout))).text
    found = re.search(r'name="token" value="([0-9a-f]+)"', page)
    token = found.group(1) if found else ""
    form = {"token": token, "decision": decision, "notices": notices, **changes}
    return await client.post(path_of(checkout), data=form, follow_redirects=False)


async def row_of(resources: Resources) -> tuple[object, ...]:
    async with resources.database.connection() as connection:
        row = await connection.fetchrow(_ROW)
    assert row is not None
    return tuple(row)


async def test_the_page_says_that_it_is_a_sandbox_and_a_get_changes_nothing(
    client: Client, checkout: Checkout, resources: Resources
) -> None:
    for _ in range(2):
        answer = await client.get(path_of(checkout))
    assert answer.status_code == 200
    assert "This page moves no money and asks for no card or account." in answer.text
    assert "€102.40" in answer.text
    assert "Nordwind Schuhe GmbH, INV-1001" in answer.text
    assert await row_of(resources) == ("OPEN", 0, None, None)


async def test_the_page_has_a_strict_policy_and_no_script(
    client: Client, checkout: Checkout
) -> None:
    answer = await client.get(path_of(checkout))
    assert answer.headers["content-security-policy"] == (
        "default-src 'none'; style-src 'self'; base-uri 'none'; "
        "form-action 'self' http://127.0.0.1:8000; frame-ancestors 'none'"
    )
    assert not re.search(r"<script|<style| style=| on\w+=", answer.text)
    style = await client.get("/sandbox-provider/checkout.css")
    assert style.headers["content-type"] == "text/css; charset=utf-8"
    assert "url(" not in style.text


@pytest.mark.parametrize(
    ("decision", "state"),
    [
        ("pay", "SUCCEEDED"),
        ("fail", "FAILED"),
        ("cancel", "CANCELLED"),
        ("pending", "PENDING"),
    ],
)
async def test_a_button_sets_the_outcome_and_redirects_back(
    client: Client, checkout: Checkout, resources: Resources, decision: str, state: str
) -> None:
    answer = await press(client, checkout, decision)
    assert (answer.status_code, answer.headers["location"]) == (303, ASKED.return_url)
    now = resources.clock.now()
    assert await row_of(resources) == (state, 1, now, now)


@pytest.mark.parametrize(
    ("notices", "count", "after"), [("once", 1, 0), ("late", 1, 30), ("twice", 2, 0)]
)
async def test_notices_are_sent_as_chosen(
    client: Client, checkout: Checkout, resources: Resources, notices: str, count: int, after: int
) -> None:
    await press(client, checkout, "pay", notices)
    _, notices_due, notice_at, decided_at = await row_of(resources)
    now = resources.clock.now()
    assert (notices_due, notice_at, decided_at) == (count, now + timedelta(seconds=after), now)


async def test_sending_no_notice_can_be_chosen(
    client: Client, checkout: Checkout, resources: Resources
) -> None:
    await press(client, checkout, "pay", "never")
    assert (await row_of(resources))[:3] == ("SUCCEEDED", 0, None)


async def test_an_outcome_is_final_and_a_second_click_redirects_back(
    client: Client, checkout: Checkout, resources: Resources
) -> None:
    page = (await client.get(path_of(checkout))).text
    token = re.findall(r'name="token" value="([0-9a-f]+)"', page)[0]
    forms = [{"token": token, "decision": word, "notices": "once"} for word in ("pay", "fail") * 5]
    answers = await asyncio.gather(
        *(client.post(path_of(checkout), data=form, follow_redirects=False) for form in forms)
    )
    assert {answer.status_code for answer in answers} == {303}
    state, notices_due, *_ = await row_of(resources)
    assert state in ("SUCCEEDED", "FAILED")
    assert notices_due == 1
    page = (await client.get(path_of(checkout))).text
    assert 'value="pay"' not in page
    assert 'value="fail"' not in page


async def test_a_pending_checkout_can_be_paid_or_declined_later(
    client: Client, checkout: Checkout, resources: Resources
) -> None:
    await press(client, checkout, "pending")
    page = (await client.get(path_of(checkout))).text
    assert re.findall(r'<button name="decision" value="(\w+)"', page) == ["pay", "fail"]
    await press(client, checkout, "pay", "twice")
    assert (await row_of(resources))[:2] == ("SUCCEEDED", 2)


@pytest.mark.parametrize(
    "changes", [{"token": ""}, {"token": "0" * 64}, {"decision": "steal"}, {"notices": "often"}]
)
async def test_a_form_without_the_pages_token_changes_nothing(
    client: Client, checkout: Checkout, resources: Resources, changes: dict[str, str]
) -> None:
    given = {"decision": "pay", "notices": "once", **changes}
    answer = await press(client, checkout, **given)
    assert answer.status_code == 400
    assert "Nothing was changed" in answer.text
    assert (await row_of(resources))[0] == "OPEN"


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none"])
async def test_another_sites_form_changes_nothing(
    client: Client, checkout: Checkout, resources: Resources, site: str
) -> None:
    client.headers["Sec-Fetch-Site"] = site
    assert (await press(client, checkout, "pay")).status_code == 400
    assert (await row_of(resources))[0] == "OPEN"


@pytest.mark.parametrize("more", [b"&x=" + b"y" * 5000, b"&x=%ff", b"&a=1" * 50])
async def test_a_large_or_invalid_form_changes_nothing(
    client: Client, checkout: Checkout, resources: Resources, more: bytes
) -> None:
    token = re.findall(
        r'name="token" value="([0-9a-f]+)"', (await client.get(path_of(checkout))).text
    )
    body = f"token={token[0]}&decision=pay&notices=once".encode() + more
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = await client.post(path_of(checkout), content=body, headers=headers)
    assert answer.status_code == 400
    assert (await row_of(resources))[0] == "OPEN"


async def test_unknown_and_expired_checkouts_say_so(
    client: Client, checkout: Checkout, resources: Resources, clock: MovableClock
) -> None:
    unknown = await client.get("/sandbox-provider/checkout/sbx_7_" + "0" * 32)
    assert (unknown.status_code, "There is no such checkout" in unknown.text) == (404, True)
    clock.advance(timedelta(hours=24))
    page = (await client.get(path_of(checkout))).text
    assert "Expired" in page
    assert "<button" not in page
    assert (await row_of(resources))[0] == "OPEN"
