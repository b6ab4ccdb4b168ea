"""Links and codes: what they show and open, and which events they publish."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from dunwell.contact.messages.claim_links import activate_claim_token
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.landing import LandingHarness, a_landing

_SECRETS = ("102,40", "102.40", "INV-1001", "Mustermann", "Erika", "E.\u00a0M.")


async def test_a_link_shows_the_creditor_and_one_button(landing: LandingHarness) -> None:
    page = await landing.browser.get(await landing.give_link())

    assert page.status_code == 200
    assert "<h1>Nordwind hat eine Nachricht für Sie</h1>" in page.text
    assert page.text.count("<button") == 1
    assert [secret for secret in _SECRETS if secret in page.text] == []


async def test_the_button_is_followed_by_how_to_check_the_message(landing: LandingHarness) -> None:
    page = await landing.browser.get(await landing.give_link())

    assert "Ist das echt?" in page.text
    assert "<strong>127.0.0.1:8000</strong>" in page.text
    assert "Nordwind Schuhe GmbH" in page.text


@pytest.mark.parametrize("channel", ["EMAIL", "SMS", "LETTER"])
async def test_a_links_button_opens_the_claim_and_publishes_one_event(
    landing: LandingHarness, channel: Any
) -> None:
    page = await landing.open(channel)
    for _ in range(3):
        await landing.browser.get("/claim")

    assert page.status_code == 200
    assert page.url.path == "/claim"
    [details] = await landing.accesses()
    assert details.pop("sessionId") == str(await _session_id(landing))
    assert details == {"communicationType": channel, "channel": "LANDING_PAGE"}


async def test_a_letters_code_opens_the_claim_without_a_communication_type(
    landing: LandingHarness,
) -> None:
    page = await landing.browser.type_code(await landing.give_code())

    assert (page.status_code, page.url.path) == (200, "/claim")
    [details] = await landing.accesses()
    assert set(details) == {"channel", "sessionId"}


@pytest.mark.parametrize(
    "change",
    [str.lower, lambda code: code.replace("-", ""), lambda code: f"  {code.replace('-', ' ')} "],
)
async def test_a_code_is_accepted_in_common_spellings(landing: LandingHarness, change: Any) -> None:
    page = await landing.browser.type_code(change(await landing.give_code()))
    assert page.url.path == "/claim"


async def test_the_claims_own_link_belongs_to_no_communication(landing: LandingHarness) -> None:
    resources, payments = landing.payments.resources, landing.payments
    async with resources.database.transaction() as tx:
        for _ in range(2):
            token = await activate_claim_token(
                tx, resources.keys, payments.merchant_id, landing.claim_id, payments.now
            )

    page = await landing.browser.open(f"/q/{token}")

    assert page.status_code == 200
    assert await payments.count("debtor_links") == 1
    [details] = await landing.accesses()
    assert set(details) == {"channel", "sessionId"}


async def test_each_opening_is_a_new_session_and_event(landing: LandingHarness) -> None:
    link = await landing.give_link()
    await landing.browser.open(link)
    first = landing.browser.cookie
    landing.browser = landing.visitor()
    await landing.browser.open(link)

    accesses = await landing.accesses()
    assert first != landing.browser.cookie
    assert len({each["sessionId"] for each in accesses}) == 2
    rows = await landing.payments.harness.rows(
        "SELECT sequence FROM events WHERE merchant_id = $1 ORDER BY sequence"
    )
    assert [row["sequence"] for row in rows] == [1, 2]


async def test_an_opening_is_audited_as_the_debtors(landing: LandingHarness) -> None:
    await landing.open()

    [row] = await landing.payments.harness.rows(
        "SELECT actor_kind, actor_id, subject, details FROM audit_log"
        " WHERE merchant_id = $1 AND action = 'session.open'"
    )
    assert (row["actor_kind"], row["subject"]) == ("DEBTOR", f"claim:{landing.claim_id}")
    assert row["actor_id"] == str(await _session_id(landing))
    assert row["details"] == {"level": "LINK"}


async def test_a_deleted_link_and_an_unknown_one_get_the_same_response(
    landing: LandingHarness,
) -> None:
    link = await landing.give_link()
    await landing.payments.harness.rows("DELETE FROM debtor_links WHERE merchant_id = $1")

    pages = [await landing.browser.get(path) for path in (link, "/q/never", "/q/" + "A" * 22)]
    posted = await landing.browser.post(link)

    assert {page.status_code for page in [*pages, posted]} == {410}
    assert len({page.text for page in [*pages, posted]}) == 1
    assert 'href="/q"' in posted.text
    assert await landing.accesses() == []


async def test_a_wrong_code_gets_one_neutral_error(landing: LandingHarness) -> None:
    pages = [
        await landing.browser.type_code(code) for code in ("x", "", "é" * 30, "0000-0000-0000")
    ]

    assert {page.status_code for page in pages} == {422}
    assert len({page.text for page in pages}) == 1
    assert 'role="alert"' in pages[0].text
    assert landing.browser.cookie is None


async def test_an_impossible_code_does_not_count_as_an_attempt(landing: LandingHarness) -> None:
    code = await landing.give_code()
    for _ in range(8):
        assert (await landing.browser.type_code(code[:-1])).status_code == 422
    assert (await landing.browser.type_code(code)).status_code == 200


async def test_a_sandbox_merchants_event_has_the_time_of_its_test_clock(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_landing(resources, clock, sandbox=True) as landing:
        clock.advance(timedelta(days=40))
        page = await landing.open()

        assert page.status_code == 200
        [row] = await landing.payments.harness.rows(
            "SELECT body::json AS body FROM events WHERE merchant_id = $1"
        )
        assert row["body"]["date"] == "2026-03-02T09:00:00Z"


async def _session_id(landing: LandingHarness) -> UUID:
    [row] = await landing.payments.harness.rows(
        "SELECT session_id FROM debtor_sessions WHERE merchant_id = $1"
    )
    session_id: UUID = row["session_id"]
    return session_id
