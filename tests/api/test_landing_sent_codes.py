"""The page that waits for a sent code: where the code was sent, and what to do if it was not
delivered."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.messages.suppression import suppress
from dunwell.contact.notices.notice_outcomes import report_notice_failure
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.documents import read_text
from tests.support.guarded_landing import NUMBER, a_guarded_landing, list_notices, read_sent_code
from tests.support.landing import LandingHarness, read_hidden

_VERIFY = "/claim/verify/preferences"
_EMAIL, _MOBILE = "/claim/preferences/email", "/claim/preferences/mobile"
_TYPO = "erika@nue.example"
_SETTLE = "UPDATE debtor_notices SET state = 'ACCEPTED', due_at = NULL, settled_at = created_at"


@pytest.fixture
async def landing(resources: Resources, clock: MovableClock) -> AsyncIterator[LandingHarness]:
    async with a_guarded_landing(resources, clock, mobileNumber=NUMBER) as landing:
        yield landing


async def _enter_sent_code(landing: LandingHarness) -> None:
    """Enter a code that was sent to the address on file."""
    await landing.browser.type_code(await landing.give_code())
    await landing.browser.get(_VERIFY)
    await landing.browser.submit(f"{_VERIFY}/send")
    await landing.browser.submit(f"{_VERIFY}/code", code=await read_sent_code(landing))


async def _submit_address(landing: LandingHarness, address: str, path: str = _EMAIL) -> Any:
    await landing.browser.get(path)
    return await landing.browser.submit(path, address=address)


async def _bounce(landing: LandingHarness) -> None:
    """Report the newest notice as undelivered."""
    await landing.payments.harness.rows(f"{_SETTLE} WHERE merchant_id = $1 AND settled_at IS NULL")
    newest = (await list_notices(landing))[-1]["notice_id"]
    async with landing.payments.harness.work() as work:
        await report_notice_failure(work, newest, "550 no such user")


@pytest.mark.parametrize(
    ("path", "typed", "shown", "link"),
    [
        (_EMAIL, _TYPO, _TYPO, "Adresse berichtigen"),
        (_MOBILE, "0151 23456789", "+49 1512 3456789", "Nummer berichtigen"),
    ],
)
async def test_the_page_shows_the_new_address_and_a_link_to_correct_it(
    landing: LandingHarness, path: str, typed: str, shown: str, link: str
) -> None:
    await _enter_sent_code(landing)

    page = await _submit_address(landing, typed, path)
    form = await landing.browser.get(path)

    assert f"Wir haben sie an {shown} gesendet. {link}" in read_text(page.text)
    assert f'<a href="{path}">{link}</a>' in page.text
    assert f'value="{shown}"' in form.text


async def _report_wrong_person(
    landing: LandingHarness, address: str, channel: Channel = "EMAIL"
) -> None:
    """Suppress the address, as after a report on another claim."""
    harness = landing.payments.harness
    async with harness.work() as work:
        await suppress(work, harness.resources.keys, channel, address, "WRONG_PERSON")


async def test_an_address_of_another_person_is_refused_as_new_address(
    landing: LandingHarness,
) -> None:
    await _enter_sent_code(landing)
    await _report_wrong_person(landing, "other@example.org")
    sent_before = len(await list_notices(landing))

    page = await _submit_address(landing, "other@example.org")

    assert page.status_code == 422
    assert "Dorthin können wir nichts senden." in read_text(page.text)
    assert len(await list_notices(landing)) == sent_before


async def test_no_code_is_sent_to_addresses_at_which_another_person_was_reached(
    landing: LandingHarness,
) -> None:
    """The page is the same, because it must not tell what was reported for another claim."""
    await landing.open()
    await landing.browser.get(_VERIFY)
    await _report_wrong_person(landing, "erika@example.org")
    await _report_wrong_person(landing, NUMBER, "SMS")

    page = await landing.browser.submit(f"{_VERIFY}/send")

    assert (page.status_code, page.url.path) == (200, f"{_VERIFY}/code")
    assert await list_notices(landing) == []


async def test_a_corrected_address_replaces_the_wrong_one(landing: LandingHarness) -> None:
    await _enter_sent_code(landing)
    await _submit_address(landing, _TYPO)

    page = await _submit_address(landing, "erika@neu.example")
    wrong = await landing.browser.submit(f"{_EMAIL}/code", code="000000")
    done = await landing.browser.submit(f"{_EMAIL}/code", code=await read_sent_code(landing))
    later = await landing.browser.get(_EMAIL)

    assert "erika@neu.example" in page.text
    assert (wrong.status_code, "erika@neu.example" in wrong.text) == (422, True)
    assert done.status_code == 200
    assert _TYPO not in page.text
    assert "erika@neu.example" not in later.text


async def test_another_session_does_not_show_the_entered_address(
    landing: LandingHarness,
) -> None:
    await _enter_sent_code(landing)
    await _submit_address(landing, _TYPO)
    landing.browser = landing.visitor("192.0.2.8")
    await _enter_sent_code(landing)

    pages = [await landing.browser.get(path) for path in (f"{_EMAIL}/code", _EMAIL)]

    assert [page.status_code for page in pages] == [200, 200]
    assert not any("nue.example" in page.text for page in pages)


async def test_the_entered_address_is_escaped(landing: LandingHarness) -> None:
    await _enter_sent_code(landing)
    page = await _submit_address(landing, "a&b'@neu.example")
    assert "a&amp;b&#39;@neu.example" in page.text


async def test_the_entered_address_survives_an_extended_session(
    landing: LandingHarness, clock: MovableClock
) -> None:
    await _enter_sent_code(landing)
    await _submit_address(landing, _TYPO)
    await landing.browser.get("/claim")
    token = read_hidden(landing.browser.page.text, "/claim/end")  # type: ignore[union-attr]
    await landing.browser.post("/claim/extend", **token)

    assert _TYPO in (await landing.browser.get(f"{_EMAIL}/code")).text


async def test_an_undelivered_code_asks_to_check_the_new_address(
    landing: LandingHarness,
) -> None:
    await _enter_sent_code(landing)
    await _submit_address(landing, _TYPO)
    await _bounce(landing)

    text = read_text((await landing.browser.get(f"{_EMAIL}/code")).text)

    assert "Die E-Mail mit Ihrem Code konnte nicht zugestellt werden." in text
    assert f"Bitte prüfen Sie, ob das stimmt: {_TYPO} Adresse berichtigen" in text
    assert "Das kann eine Minute dauern" not in text


async def test_an_undelivered_code_to_the_address_on_file_shows_a_phone_number(
    landing: LandingHarness,
) -> None:
    await landing.open()
    await landing.browser.get(_VERIFY)
    before = await landing.browser.submit(f"{_VERIFY}/send")
    await _bounce(landing)

    page = await landing.browser.get(f"{_VERIFY}/code")

    assert "konnte nicht zugestellt werden" not in before.text
    assert "konnte nicht zugestellt werden" in page.text
    assert "Bitte sagen Sie Nordwind, wie wir Sie erreichen" in page.text
    assert page.text.count('href="tel:') == before.text.count('href="tel:') + 1
    assert "erika@example.org" not in page.text


async def test_a_newer_code_hides_the_undelivered_one(landing: LandingHarness) -> None:
    await landing.open()
    await landing.browser.get(_VERIFY)
    await landing.browser.submit(f"{_VERIFY}/send")
    await _bounce(landing)
    await landing.browser.get(f"{_VERIFY}/code")

    page = await landing.browser.submit(f"{_VERIFY}/send")

    assert page.status_code == 200
    assert "konnte nicht zugestellt werden" not in page.text


async def test_a_links_page_reports_an_undelivered_code_too(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_guarded_landing(resources, clock, "CODE") as landing:
        link = await landing.give_link()
        await landing.browser.get(link)
        await landing.browser.submit(f"{link}/send")
        await _bounce(landing)

        page = await landing.browser.get(f"{link}/code")

        assert "Die E-Mail mit Ihrem Code konnte nicht zugestellt werden." in page.text
        assert "erika@example.org" not in page.text
