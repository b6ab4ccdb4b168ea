"""Checking a message without a link, by its code and amount."""

from datetime import timedelta

import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.landing import LandingHarness, a_landing

_SECRETS = ("INV-1001", "Mustermann", "Erika", "102,40", "102.40")


@pytest.mark.parametrize("amount", ["102,40", "€ 102.40", "10240"])
async def test_our_letter_is_confirmed_without_further_information(
    landing: LandingHarness, amount: str
) -> None:
    code = await landing.give_code()
    await landing.browser.get("/real")

    page = await landing.browser.submit("/real", code=code.lower(), amount=amount)

    assert page.status_code == 200
    assert "Dieser Brief ist von uns" in page.text
    assert "Nordwind Schuhe GmbH" in page.text
    assert [secret for secret in _SECRETS if secret in page.text] == []
    assert landing.browser.cookie is None
    assert await landing.accesses() == []


async def test_our_e_mail_is_confirmed_but_its_code_opens_nothing(landing: LandingHarness) -> None:
    code = await landing.give_check()
    typed = f" {code.lower().replace('-', '')} "

    page = await landing.browser.post("/real", code=typed, amount="102,40")

    assert page.status_code == 200
    assert "Diese Nachricht ist von uns" in page.text
    assert "Nordwind Schuhe GmbH" in page.text
    assert [secret for secret in _SECRETS if secret in page.text] == []
    refused = await landing.visitor("198.51.100.8").type_code(code)
    assert refused.status_code == 422
    assert await landing.accesses() == []


async def test_a_short_code_reveals_no_more_than_a_long_one(landing: LandingHarness) -> None:
    long, short = await landing.give_code(), await landing.give_check()
    wrong = [(long, "102,41"), (short, "102,41"), ("0000-0000", "102,40"), ("0000-00", "102,40")]

    pages = [
        await landing.visitor(f"203.0.113.{number}").post("/real", code=typed, amount=amount)
        for number, (typed, amount) in enumerate(wrong)
    ]

    assert [page.status_code for page in pages] == [422] * 4
    assert len({page.text for page in pages}) == 1


async def test_short_codes_are_delayed_like_long_ones(landing: LandingHarness) -> None:
    await landing.browser.post("/real", code="0000-0000", amount="1")
    for _ in range(3):
        await landing.browser.post("/real", code="0000-0001", amount="1")
    page = await landing.browser.post("/real", code=await landing.give_check(), amount="102,40")
    assert page.status_code == 429
    assert int(page.headers["Retry-After"]) >= 1


async def test_the_amount_before_a_payment_is_confirmed_too(landing: LandingHarness) -> None:
    code = await landing.give_code()
    await landing.payments.harness.pay(landing.claim_id, 5000)

    pages = [
        await landing.browser.post("/real", code=code, amount=amount)
        for amount in ("102,40", "52,40")
    ]

    assert [page.status_code for page in pages] == [200, 200]


async def test_every_mismatch_gets_the_same_response(landing: LandingHarness) -> None:
    code = await landing.give_code()
    wrong = [(code, "102,41"), ("0000-0000-0000", "102,40"), ("x", ""), (code, "")]

    pages = [
        await landing.visitor(f"203.0.113.{number}").post("/real", code=typed, amount=amount)
        for number, (typed, amount) in enumerate(wrong)
    ]

    assert {page.status_code for page in pages} == {422}
    assert len({page.text for page in pages}) == 1
    assert "Nordwind" not in pages[0].text


async def test_wrong_amounts_are_counted_with_wrong_codes(
    landing: LandingHarness, clock: MovableClock
) -> None:
    code = await landing.give_code()
    for number in range(3):
        await landing.browser.post("/real", code=code, amount=f"{number}")
    for number in range(2):
        await landing.browser.type_code(f"0000-0000-000{number}")

    pages = [
        await landing.browser.post("/real", code=code, amount="102,40"),
        await landing.browser.type_code(code),
    ]

    assert [page.status_code for page in pages] == [429, 429]
    clock.advance(timedelta(minutes=16))
    assert (await landing.browser.post("/real", code=code, amount="102,40")).status_code == 200


async def test_the_page_says_what_we_never_ask_for(landing: LandingHarness) -> None:
    page = await landing.browser.get("/real?lang=en")
    assert "What we never do" in page.text
    assert "<strong>127.0.0.1:8000</strong>" in page.text


async def test_in_a_session_the_page_names_the_creditor(landing: LandingHarness) -> None:
    before = await landing.browser.get("/real")
    await landing.open()
    after = await landing.browser.get("/real")

    assert ("Nordwind Schuhe GmbH" in before.text, "Nordwind Schuhe GmbH" in after.text) == (
        False, True,
    )  # fmt: skip


async def test_the_pages_of_links_codes_and_claims_link_to_the_check(
    landing: LandingHarness,
) -> None:
    link = await landing.give_link()
    pages = [await landing.browser.get(link), await landing.browser.get("/q")]
    pages.append(await landing.browser.open(link))
    assert all('href="/real"' in page.text for page in pages)


async def test_another_merchants_letter_names_that_merchant(
    resources: Resources, clock: MovableClock, landing: LandingHarness
) -> None:
    async with a_landing(resources, clock, key="hansen") as other:
        await landing.open()
        page = await landing.browser.post("/real", code=await other.give_code(), amount="102,40")
    assert "Wir haben ihn für Hansen verschickt." in page.text


@pytest.mark.parametrize("shape", ["http://127.0.0.1:8000{}", "127.0.0.1:8000{}", "{} ", "{}."])
@pytest.mark.parametrize("amount", ["", "102,40"])
async def test_a_text_message_is_confirmed_by_its_link(
    landing: LandingHarness, shape: str, amount: str
) -> None:
    link = await landing.give_link("SMS")
    if shape.startswith("{}"):
        link = link.removeprefix("/q/")

    page = await landing.browser.post("/real?lang=en", code=shape.format(link), amount=amount)

    assert page.status_code == 200
    assert "This message is ours" in page.text
    assert [secret for secret in _SECRETS if secret in page.text] == []
    assert await landing.accesses() == []


async def test_a_foreign_link_or_another_amount_is_not_confirmed(
    landing: LandingHarness,
) -> None:
    link = await landing.give_link("SMS")
    wrong = [
        (f"https://evil.example{link}", ""), (f"http://127.0.0.1:8000.evil.example{link}", ""),
        (f"http://127.0.0.1:8000{link} or https://evil.example/", ""),
        (f"http://127.0.0.1:8000{link}", "1.024,00"), ("http://127.0.0.1:8000/q/" + "A" * 22, ""),
    ]  # fmt: skip
    pages = [
        await landing.visitor(f"203.0.113.{number}").post("/real", code=typed, amount=amount)
        for number, (typed, amount) in enumerate(wrong)
    ]
    assert [page.status_code for page in pages] == [422] * 5
    assert len({page.text for page in pages}) == 1


async def test_guessed_links_are_delayed_like_codes(landing: LandingHarness) -> None:
    for letter in "ABC":
        await landing.browser.post("/real", code=letter * 22, amount="")
    page = await landing.browser.post("/real", code=await landing.give_link("SMS"), amount="")
    assert page.status_code == 429


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ("From a text message, copy the link", "Every letter and every e-mail names")),
        ("de", ("Bei einer SMS kopieren Sie den Link", "Jeder Brief und jede E-Mail nennt Firma")),
    ],
)  # fmt: skip
async def test_the_page_says_what_each_kind_of_message_contains(
    landing: LandingHarness, language: str, words: tuple[str, str]
) -> None:
    page = await landing.browser.get(f"/real?lang={language}")
    assert [each for each in words if each not in page.text] == []
