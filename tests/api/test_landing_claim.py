"""The claim page: what each level and each state shows, and how a session ends."""

import re
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from dunwell.accounts.merchants.configuration import Brand, LandingPage, Logo, PaymentMethod
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.landing import LandingHarness, a_landing, read_hidden
from tests.support.payments import PAYING

ITEMS = [
    {"reference": "RE-1", "type": "PRIMARY", "value": "10240", "dueDate": "2026-02-10"},
    {"reference": "Mahnung", "type": "DUNNING_FEE", "value": "250", "itemDate": "2026-02-24"},
    {"reference": "Kosten", "type": "COLLECTION_FEE", "value": "4900", "itemDate": "2026-03-01"},
]


async def test_a_link_alone_shows_amount_reference_and_initials(landing: LandingHarness) -> None:
    page = await landing.open()

    assert '<p class="amount"><bdi class="money">102,40\u00a0€</bdi></p>' in page.text
    assert '<bdi translate="no">INV-1001</bdi>' in page.text
    assert '<bdi translate="no">E.\u00a0M.</bdi>' in page.text
    assert 'href="/claim/pay"' in page.text
    assert [word for word in ("Mustermann", "Erika", "<table") if word in page.text] == []


async def test_a_code_shows_every_item_with_amount_date_and_reason(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_landing(resources, clock, debtor={"items": ITEMS}) as landing:
        page = await landing.browser.type_code(await landing.give_code())

    text = _read_text(page.text)
    assert "Ursprünglicher Betrag RE-1 Fällig am 10. Februar 2026. 102,40 €" in text
    assert (
        "Mahngebühr Mahnung Die Gebühr fällt für eine Mahnung an, weil der Betrag bei Fälligkeit "
        "nicht bezahlt war. "
        "Vom 24. Februar 2026. 2,50 €" in text
    )
    assert "24.\u00a0Februar 2026" in page.text
    assert "Inkassokosten Kosten Die Kosten fallen für das Einziehen" in text
    assert "Noch zu zahlen 153,90 €" in text
    assert "Mustermann" not in text


async def test_the_page_shows_its_sections_in_order(landing: LandingHarness) -> None:
    page = await landing.browser.type_code(await landing.give_code())

    marks = [
        'class="brand"', "<nav", "<h1>", 'class="amount"', "War fällig am", "Aktenzeichen",
        'class="primary"', 'href="/claim/options"', 'href="/claim/dispute"', 'id="amount"',
        'href="/claim/preferences"', 'id="who"', 'id="advice"', 'id="help"', "#legal", "#privacy",
        "#accessibility", 'action="/claim/end"',
    ]  # fmt: skip
    places = [page.text.index(mark) for mark in marks]
    assert places == sorted(places)
    assert page.text.count('class="primary"') == 1
    assert re.search(r"<h1>[^<]*Nordwind", page.text)


async def test_a_page_is_small_and_not_cached(landing: LandingHarness) -> None:
    page = await landing.browser.type_code(await landing.give_code())
    sheets = re.findall(r'rel="stylesheet" href="([^"]*)"', page.text)
    sheets += re.findall(r'src="(/claim/assets/[^"]*)"', page.text)
    styles = [await landing.browser.get(sheet) for sheet in sheets]

    heads = sum(len(str(answer.headers)) for answer in [page, *styles])
    sent = sum(int(answer.headers["Content-Length"]) for answer in [page, *styles])
    assert sent + heads <= 15_000
    assert page.headers["Cache-Control"] == "no-store"
    assert styles[0].headers["Cache-Control"] == "public, max-age=31536000, immutable"


async def test_the_content_security_policy_allows_only_our_own_content(
    landing: LandingHarness,
) -> None:
    page = await landing.open()

    assert page.headers["Content-Security-Policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    )
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    assert page.headers["X-Robots-Tag"].startswith("noindex")
    scripts = re.findall(r"<script[^>]*>[^<]*", page.text)
    assert len(scripts) == 1
    assert re.fullmatch(
        r'<script type="module" src="/claim/assets/session-[0-9a-f]{12}.js">', scripts[0]
    )
    assert not re.search(r"style=|<style|https?://|javascript:| on\w+=", page.text)


@pytest.mark.parametrize("status", ["ARCHIVED", "WITHDRAWN"])
async def test_a_closed_claim_shows_no_amount_but_the_contact(
    landing: LandingHarness, status: str
) -> None:
    await landing.open()
    await landing.payments.end_claim(status)

    page = await landing.browser.get("/claim")

    assert "wird hier nicht mehr bearbeitet" in page.text
    assert ("entscheidet, wie es weitergeht" in page.text) == (status == "ARCHIVED")
    assert not re.search(r"\d,\d\d|€", page.text)
    assert 'href="tel:+49401234560"' in page.text
    assert "/claim/pay" not in page.text


async def test_a_paid_claim_says_that_nothing_is_outstanding(landing: LandingHarness) -> None:
    await landing.open()
    await landing.payments.harness.pay(landing.claim_id, 11000)

    page = await landing.browser.get("/claim")

    text = _read_text(page.text)
    assert "Nichts mehr zu zahlen 0,00 €" in text
    assert "Sie haben 7,60 € mehr bezahlt, als offen war." in text
    assert "/claim/pay" not in page.text


@pytest.mark.parametrize(
    ("kind", "days", "expected"),
    [
        ("PAUSE", 9, "Diese Forderung ist bis zum 11. März 2026 pausiert."),
        ("PAUSE", None, "Diese Forderung ist pausiert."),
        ("DISPUTE", None, "Diese Forderung ist seit dem 2. März 2026 bestritten."),
    ],
)
async def test_a_claim_on_hold_says_so_and_can_be_paid(
    landing: LandingHarness, kind: str, days: int | None, expected: str
) -> None:
    await landing.open()
    await _hold(landing, kind, days)

    page = await landing.browser.get("/claim")

    assert expected in _read_text(page.text)
    assert 'href="/claim/pay"' in page.text


async def test_no_second_payment_is_offered_while_one_is_pending(landing: LandingHarness) -> None:
    await landing.open()
    await _hold(landing, "PAYMENT_PENDING", 5)

    page = await landing.browser.get("/claim")

    assert "Ihre Zahlung wird bearbeitet." in page.text
    assert "/claim/pay" not in page.text


async def test_the_reader_chooses_the_language_and_keeps_it(landing: LandingHarness) -> None:
    link = await landing.give_link()
    page = await landing.browser.open(f"{link}?lang=en")

    assert 'lang="en"' in page.text
    assert "€102.40" in page.text
    assert 'href="/claim/pay?lang=en"' in page.text
    assert (await landing.browser.get("/claim/pay?lang=en")).text.count("?lang=en") > 3


async def test_a_merchants_languages_are_those_offered(
    resources: Resources, clock: MovableClock
) -> None:
    only = msgspec.structs.replace(PAYING, landing_page=LandingPage(("en",)))
    async with a_landing(resources, clock, configuration=only) as landing:
        page = await landing.browser.open(f"{await landing.give_link()}?lang=de")

    assert '<html lang="en"' in page.text
    assert "<nav" not in page.text


async def test_the_brand_is_sent_as_a_stylesheet_and_a_logo(
    resources: Resources, clock: MovableClock
) -> None:
    brand = Brand(Logo("image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg'/>"), "#0b5d57")
    configuration = msgspec.structs.replace(PAYING, brand=brand)
    async with a_landing(resources, clock, configuration=configuration) as landing:
        page = await landing.open()
        [folder] = re.findall(r'href="(/claim/brand/\d+/\d+)/brand.css"', page.text)
        style = await landing.browser.get(f"{folder}/brand.css")
        logo = await landing.browser.get(f"{folder}/logo")
        absent = await landing.browser.get("/claim/brand/999999/1/logo")

    assert f'<img src="{folder}/logo" alt="Nordwind">' in page.text
    assert "--brand:#0b5d57" in style.text
    assert (logo.content, logo.headers["Content-Type"]) == (brand.logo.content, "image/svg+xml")  # type: ignore[union-attr]
    assert logo.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert absent.status_code == 404


async def test_after_an_hour_the_page_shows_only_that_the_session_timed_out(
    landing: LandingHarness, clock: MovableClock
) -> None:
    await landing.open()
    clock.advance(timedelta(minutes=59, seconds=59))
    assert (await landing.browser.get("/claim")).status_code == 200
    clock.advance(timedelta(seconds=1))

    page = await landing.browser.get("/claim")

    assert page.status_code == 403
    assert "Ihre Sitzung ist nach einer Stunde beendet" in page.text
    assert "102,40" not in page.text
    assert "INV-1001" not in page.text


async def test_a_session_about_to_end_can_be_extended(
    landing: LandingHarness, clock: MovableClock
) -> None:
    await landing.open()
    clock.advance(timedelta(minutes=56))
    page = await landing.browser.get("/claim")
    old = landing.browser.cookie
    assert "Diese Seite schließt sich bald." in page.text

    extended = await landing.browser.submit("/claim/extend")

    assert "Diese Seite bleibt noch 60 Minuten offen." in extended.text
    assert landing.browser.cookie != old
    first, second = await landing.accesses()
    assert first["sessionId"] != second["sessionId"]
    assert second["communicationType"] == "EMAIL"
    clock.advance(timedelta(seconds=10))
    replay = await landing.visitor().get("/claim", headers={"Cookie": f"dunwell={old}"})
    assert replay.status_code == 403


@pytest.mark.parametrize(("seconds", "is_told"), [(-0.000001, False), (0, True)])
async def test_a_warning_is_shown_in_the_last_five_minutes(
    landing: LandingHarness, clock: MovableClock, seconds: float, is_told: bool
) -> None:
    await landing.open()
    clock.advance(timedelta(minutes=55, seconds=seconds))
    page = await landing.browser.get("/claim")
    assert ("Diese Seite schließt sich bald." in page.text) is is_told


async def test_ending_a_session_invalidates_all_copies_of_its_cookie(
    landing: LandingHarness,
) -> None:
    await landing.open()
    cookie = landing.browser.cookie

    page = await landing.browser.submit("/claim/end")

    assert (page.url.path, page.status_code) == ("/claim/ended", 200)
    assert (await landing.browser.get("/claim")).status_code == 403
    replay = await landing.visitor().get("/claim", headers={"Cookie": f"dunwell={cookie}"})
    assert replay.status_code == 403
    assert "Nordwind" not in replay.text


async def test_legal_notices_are_shown_with_and_without_a_session(landing: LandingHarness) -> None:
    outside = await landing.browser.get("/claim/notices")
    await landing.open()
    inside = await landing.browser.get("/claim/notices")

    assert "Nordwind" not in outside.text
    assert "Nordwind Schuhe GmbH" in inside.text
    for mark in ('id="legal"', 'id="privacy"', 'id="accessibility"'):
        assert mark in outside.text


async def test_two_methods_are_offered_in_the_merchants_order(
    resources: Resources, clock: MovableClock
) -> None:
    methods = (PaymentMethod("other"), PaymentMethod("sandbox"), PaymentMethod("absent"))
    payment = msgspec.structs.replace(PAYING.payment, methods=methods)
    configuration = msgspec.structs.replace(PAYING, payment=payment)
    given: dict[str, Any] = {"configuration": configuration}
    async with a_landing(resources, clock, **given) as landing:
        await landing.open()
        page = await landing.browser.get("/claim/pay")

    assert read_hidden(page.text, "/claim/pay/method")["provider"] == "sandbox"
    assert "absent" not in page.text


async def _hold(landing: LandingHarness, kind: str, days: int | None) -> None:
    now = landing.payments.now
    await landing.payments.harness.rows(
        "INSERT INTO holds (merchant_id, claim_id, hold_id, kind, since, until, actor_kind)"
        " VALUES ($1, $2, $3, $4, $5, $6, 'SYSTEM')",
        landing.claim_id, landing.payments.resources.ids.new(now), kind, now,
        None if days is None else now + timedelta(days=days),
    )  # fmt: skip


def _read_text(page: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", page).replace("\u00a0", " ").split())
