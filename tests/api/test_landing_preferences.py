"""Contact preferences: the language, the channels, and changed addresses."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from asyncpg import LockNotAvailableError

from dunwell.contact.messages.suppression import list_all_suppressions, suppress
from dunwell.contact.notices.notice import REPEATED_WITHIN
from dunwell.interfaces.landing.contact_preferences.change_contact import change_channels
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.disputes import DEBTOR
from tests.support.documents import read_text
from tests.support.guarded_landing import (
    NUMBER,
    a_guarded_landing,
    list_notices,
    list_occasions,
    read_sent_code,
)
from tests.support.landing import LandingHarness, read_hidden

_PAGE = "/claim/preferences"
_VERIFY = "/claim/verify/preferences"
_EMAIL = f"{_PAGE}/email"
_NEW = "erika@neu.example"
_ON_FILE = "SELECT email, mobile_number, language FROM debtors WHERE merchant_id = $1"


@pytest.fixture
async def landing(resources: Resources, clock: MovableClock) -> AsyncIterator[LandingHarness]:
    """A debtor with an e-mail address and a mobile number, whose merchant uses both channels."""
    async with a_guarded_landing(resources, clock, mobileNumber=NUMBER) as landing:
        yield landing


async def enter(landing: LandingHarness) -> Any:
    await landing.browser.type_code(await landing.give_code())
    return await landing.browser.get(_PAGE)


async def enter_sent_code(landing: LandingHarness) -> None:
    """Enter a code that was sent to the address on file."""
    await enter(landing)
    await landing.browser.get(_VERIFY)
    await landing.browser.submit(f"{_VERIFY}/send")
    await landing.browser.submit(f"{_VERIFY}/code", code=await read_sent_code(landing))


async def request_change(landing: LandingHarness, address: str = _NEW, what: str = "email") -> Any:
    await landing.browser.get(f"{_PAGE}/{what}")
    return await landing.browser.submit(f"{_PAGE}/{what}", address=address)


async def list_suppressions(landing: LandingHarness) -> list[tuple[str, str, str, str]]:
    async with landing.payments.resources.database.connection() as connection:
        found = await list_all_suppressions(connection, landing.payments.merchant_id)
    return [(each.channel, each.masked_address, each.reason, each.actor_kind) for each in found]


async def load_contact_data(landing: LandingHarness) -> dict[str, Any]:
    [row] = await landing.payments.harness.rows(_ON_FILE)
    return dict(row)


async def test_the_page_masks_addresses(landing: LandingHarness) -> None:
    page = await enter(landing)

    text = read_text(page.text)
    assert "E-Mail e***@example.org" in text
    assert "SMS +49***567" in text
    assert "erika@example.org" not in page.text
    assert NUMBER not in page.text


async def test_the_chosen_language_is_kept_with_the_claim(landing: LandingHarness) -> None:
    await enter(landing)

    page = await landing.browser.submit(f"{_PAGE}/language", language="en")

    assert '<html lang="en"' in page.text
    assert "We write to you in this language from now on." in page.text
    assert (await load_contact_data(landing))["language"] == "en"


async def test_an_unknown_language_changes_nothing(landing: LandingHarness) -> None:
    await enter(landing)
    before = await load_contact_data(landing)

    await landing.browser.submit(f"{_PAGE}/language", language="fr\r\nX: 1")

    assert await load_contact_data(landing) == before


async def test_a_deselected_channel_is_not_used_until_it_is_selected_again(
    landing: LandingHarness,
) -> None:
    await enter(landing)
    page = await landing.browser.submit(f"{_PAGE}/channels", SMS="use")

    assert "Wir nutzen nur die ausgewählten Wege." in page.text
    assert await list_suppressions(landing) == [("EMAIL", "e***@example.org", "DEBTOR", "DEBTOR")]
    assert 'name="EMAIL" value="use">' in page.text
    assert 'name="SMS" value="use" checked>' in page.text

    await landing.browser.submit(f"{_PAGE}/channels", SMS="use", EMAIL="use")
    assert await list_suppressions(landing) == []


async def test_the_last_channel_cannot_be_deselected(landing: LandingHarness) -> None:
    await enter(landing)

    page = await landing.browser.submit(f"{_PAGE}/channels")

    assert page.status_code == 422
    assert "<title>Fehler: Wie wir Sie erreichen" in page.text
    assert "Bitte lassen Sie mindestens einen Kontaktweg ausgewählt" in page.text
    assert "Gesetz verlangt" not in page.text
    assert 'id="channels-error"' in page.text
    assert await list_suppressions(landing) == []


async def test_concurrent_choices_are_serialized(landing: LandingHarness) -> None:
    """Otherwise two choices could together deselect every channel."""
    keys, harness = landing.payments.resources.keys, landing.payments.harness
    async with harness.work(DEBTOR) as first, harness.work(DEBTOR) as second:
        await change_channels(first, keys, landing.claim_id, ["EMAIL"])
        await second.tx.execute("SET LOCAL lock_timeout = '100ms'")
        with pytest.raises(LockNotAvailableError):
            await change_channels(second, keys, landing.claim_id, ["SMS"])

    assert [each[0] for each in await list_suppressions(landing)] == ["SMS"]


async def test_only_a_suppression_by_the_debtor_can_be_lifted(landing: LandingHarness) -> None:
    await enter(landing)
    await landing.browser.submit(f"{_PAGE}/channels", SMS="use")
    await landing.payments.harness.rows(
        "UPDATE suppressions SET reason = 'BOUNCE' WHERE merchant_id = $1"
    )

    page = await landing.browser.get(_PAGE)
    assert 'name="EMAIL" value="use" disabled>' in page.text
    assert "Unsere Nachrichten kamen dort nicht an." in page.text
    refused = await landing.browser.submit(f"{_PAGE}/channels", EMAIL="use")

    assert refused.status_code == 422
    assert [each[2] for each in await list_suppressions(landing)] == ["BOUNCE"]


async def test_suppressions_of_an_address_that_has_changed_are_loaded_again(
    landing: LandingHarness,
) -> None:
    await enter(landing)
    harness = landing.payments.harness
    async with harness.work() as work:
        await suppress(work, harness.resources.keys, "EMAIL", _NEW, "MERCHANT")
    assert 'name="EMAIL" value="use" checked>' in (await landing.browser.get(_PAGE)).text

    await harness.rows("UPDATE debtors SET email = $2 WHERE merchant_id = $1", _NEW)

    page = await landing.browser.get(_PAGE)
    assert 'name="EMAIL" value="use" disabled>' in page.text
    assert 'name="SMS" value="use" checked>' in page.text


async def test_an_address_is_changed_with_the_code_sent_to_it(landing: LandingHarness) -> None:
    await enter_sent_code(landing)
    page = await request_change(landing)
    assert page.url.path == f"{_EMAIL}/code"
    assert (await load_contact_data(landing))["email"] == "erika@example.org"
    code = await read_sent_code(landing)

    page = await landing.browser.submit(f"{_EMAIL}/code", code=code)

    assert (page.url.path, page.status_code) == (_PAGE, 200)
    assert "Ab jetzt nutzen wir Ihre neue E-Mail-Adresse." in page.text
    assert (await load_contact_data(landing))["email"] == _NEW
    notices = [(each["kind"], each["recipient"]) for each in await list_notices(landing)]
    assert notices[-2:] == [("CHANGE_CODE", _NEW), ("CHANGE_NOTICE", "erika@example.org")]
    assert "e***@neu.example" in (await list_notices(landing))[-1]["body_text"]
    assert await landing.payments.audited("claim.change") == 1
    [occasion] = await list_occasions(landing)
    assert (occasion["occasion"], occasion["facts"]["new_address"]) == (
        "contact_change", "e***@neu.example",
    )  # fmt: skip


async def test_the_old_address_is_notified_even_if_it_is_suppressed(
    landing: LandingHarness,
) -> None:
    await enter_sent_code(landing)
    await landing.browser.get(_PAGE)
    await landing.browser.submit(f"{_PAGE}/channels", SMS="use")
    await request_change(landing)
    await landing.browser.submit(f"{_EMAIL}/code", code=await read_sent_code(landing))
    recipients = [each["recipient"] for each in await list_notices(landing)]
    assert (await list_notices(landing))[-1]["kind"] == "CHANGE_NOTICE"
    assert recipients[-2:] == [_NEW, "erika@example.org"]


async def test_a_number_without_a_country_code_is_accepted(landing: LandingHarness) -> None:
    await enter_sent_code(landing)
    await request_change(landing, "0151 2345 6789", "mobile")

    await landing.browser.submit(f"{_PAGE}/mobile/code", code=await read_sent_code(landing))

    assert (await load_contact_data(landing))["mobile_number"] == "+4915123456789"


@pytest.mark.parametrize(
    ("what", "typed", "expected"),
    [
        ("email", "erika", "Bitte geben Sie eine Adresse wie name@example.org ein."),
        ("email", "a@b.example\r\nBcc: c@d.example", "Bitte geben Sie eine Adresse wie"),
        ("email", " ERIKA@example.org ", "Diese haben wir schon."),
        ("mobile", "0151", "Bitte geben Sie eine Nummer wie +49 151 23456789 ein."),
        ("mobile", "<b>1</b>", "Bitte geben Sie eine Nummer wie"),
        ("mobile", "01711234567", "Diese haben wir schon."),
    ],
)
async def test_an_invalid_or_unchanged_address_is_an_error_at_its_field(
    landing: LandingHarness, what: str, typed: str, expected: str
) -> None:
    await enter_sent_code(landing)
    before = len(await list_notices(landing))

    page = await request_change(landing, typed, what)

    assert page.status_code == 422
    assert "<title>Fehler:" in page.text
    assert expected in page.text
    assert "<b>1" not in page.text
    assert len(await list_notices(landing)) == before


async def test_five_wrong_codes_end_the_change(landing: LandingHarness) -> None:
    await enter_sent_code(landing)
    await request_change(landing)
    code = await read_sent_code(landing)
    wrong = "000000" if code != "000000" else "000001"

    pages = [await landing.browser.submit(f"{_EMAIL}/code", code=wrong) for _ in range(5)]
    assert [page.status_code for page in pages] == [422] * 5
    form = read_hidden(pages[0].text, f"{_EMAIL}/code")
    locked = await landing.browser.post(f"{_EMAIL}/code", **form, code=code)
    await landing.payments.harness.rows("DELETE FROM verification_failures WHERE merchant_id = $1")
    page = await landing.browser.post(f"{_EMAIL}/code", **form, code=code)

    assert (locked.status_code, page.status_code) == (429, 422)
    assert (await load_contact_data(landing))["email"] == "erika@example.org"


@pytest.mark.parametrize(
    ("seconds", "status", "email"),
    [(599.999999, 200, _NEW), (600, 422, "erika@example.org")],
)
async def test_a_code_works_for_ten_minutes(
    landing: LandingHarness, clock: MovableClock, seconds: float, status: int, email: str
) -> None:
    await enter_sent_code(landing)
    await request_change(landing)
    code = await read_sent_code(landing)
    clock.advance(timedelta(seconds=seconds))

    page = await landing.browser.submit(f"{_EMAIL}/code", code=code)

    assert page.status_code == status
    assert (await load_contact_data(landing))["email"] == email


async def test_only_the_newest_code_works_and_once(
    landing: LandingHarness, clock: MovableClock
) -> None:
    await enter_sent_code(landing)
    await request_change(landing)
    first = await read_sent_code(landing)
    clock.advance(REPEATED_WITHIN)
    await landing.browser.submit(f"{_EMAIL}/send")
    second = await read_sent_code(landing)
    pages = [await landing.browser.submit(f"{_EMAIL}/code", code=code) for code in (first, second)]
    await landing.browser.get(f"{_EMAIL}/code")
    replayed = await landing.browser.submit(f"{_EMAIL}/code", code=second)

    assert [page.status_code for page in pages] == [422, 200]
    assert replayed.status_code == 422


async def test_a_verification_code_does_not_confirm_an_address(landing: LandingHarness) -> None:
    await enter_sent_code(landing)
    of_session = await read_sent_code(landing)
    await request_change(landing)

    page = await landing.browser.submit(f"{_EMAIL}/code", code=of_session)

    assert page.status_code == 422
    assert (await load_contact_data(landing))["email"] == "erika@example.org"


async def test_after_five_codes_in_an_hour_the_page_shows_when_to_try_again(
    landing: LandingHarness,
) -> None:
    await enter_sent_code(landing)
    for place in range(5):
        await request_change(landing, f"erika@neu{place}.example")

    page = await request_change(landing, _NEW)

    assert page.status_code == 429
    assert "Bitte verwenden Sie den neuesten." in read_text(page.text)


async def test_an_address_that_cannot_be_changed_has_no_page(landing: LandingHarness) -> None:
    await enter_sent_code(landing)
    page = await landing.browser.get(f"{_PAGE}/letter")
    assert page.status_code == 404
