"""The creditor and the operator: on the claim's page, in the legal notice and in the privacy
notice."""

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from html import unescape
from typing import Any

import msgspec
import pytest
from httpx import Response

from dunwell.accounts.installation.installation_file import Operator
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.application import an_application
from tests.support.landing import LandingHarness, a_landing
from tests.support.operators import AGENCY, ITSELF, OWN
from tests.support.payments import PAYING

_FEES = [
    {"reference": "RE-7", "type": "PRIMARY", "value": "9000", "itemDate": "2026-01-10",
     "dueDate": "2026-02-10"},
    {"reference": "M-1", "type": "COLLECTION_FEE", "value": "1240"},
]  # fmt: skip
_ROLE_OF_AGENCY = "Kontor Inkasso GmbH zieht diese Forderung für Nordwind Schuhe GmbH ein."


@contextmanager
def _run_by(resources: Resources, operator: Operator | None) -> Iterator[None]:
    application = an_application(resources)
    application.operator = operator
    try:
        yield
    finally:
        application.operator = None


@pytest.fixture
async def landing_with_fee(
    resources: Resources, clock: MovableClock
) -> AsyncIterator[LandingHarness]:
    """A claim with a fee, against a person with a contract."""
    debtor: dict[str, Any] = {"items": _FEES, "contractNumber": "V-99"}
    async with a_landing(resources, clock, debtor=debtor) as landing:
        yield landing


@pytest.mark.parametrize(
    ("operator", "role"),
    [
        (AGENCY, _ROLE_OF_AGENCY),
        (OWN, "Den Dienst dafür betreibt Kontor Inkasso GmbH."),
        (ITSELF, "Nordwind Schuhe GmbH schreibt Ihnen selbst."),
    ],
)
async def test_every_page_states_the_operators_role(
    resources: Resources, landing: LandingHarness, operator: Operator, role: str
) -> None:
    link = await landing.give_link()
    with _run_by(resources, operator):
        pages = [await landing.browser.get(link), await landing.browser.open(link)]
        pages += [await landing.browser.get(path) for path in ("/claim/pay", "/claim/dispute")]
    assert [role in page.text for page in pages] == [True] * 4


@pytest.mark.parametrize("path", ["/imprint", "/impressum", "/claim/notices"])
async def test_the_legal_notice_names_operator_and_creditor(
    resources: Resources, landing: LandingHarness, path: str
) -> None:
    with _run_by(resources, AGENCY):
        outside = await landing.browser.get(path)
        await landing.open()
        inside = await landing.browser.get("/claim/notices")
    for text in (outside.text, inside.text):
        assert "Petra Hansen" in text
        assert "Amtsgericht Hamburg, HRB 445566" in text
    assert "Ina Brandt" not in outside.text
    assert "Ina Brandt" in inside.text
    assert "Amtsgericht Hamburg, HRB 112233" in inside.text


_CREDITOR = ("Nordwind Schuhe GmbH", "20459 Hamburg", "Ina Brandt", "hilfe@nordwind.example")


def _list_missing(text: str) -> list[str]:
    """List the creditor's details that are missing from the text."""
    section = text.partition('id="legal"')[2].partition("</section>")[0]
    return [part for part in _CREDITOR if part not in section]


async def _follow_legal_link(landing: LandingHarness, text: str) -> Response:
    [address] = re.findall(r'href="([^"]*)#legal"', text)
    return await landing.browser.get(unescape(address))


async def test_without_an_operator_a_links_page_has_the_creditors_legal_notice(
    landing: LandingHarness,
) -> None:
    page = await landing.browser.get(await landing.give_link())
    notice = await _follow_legal_link(landing, page.text)
    assert _list_missing(notice.text) == []
    dead = await landing.browser.get("/q/AAAAAAAAAAAAAAAAAAAAAA/notices")
    assert (dead.status_code, _list_missing(dead.text)) == (410, list(_CREDITOR))


@pytest.mark.parametrize("path", ["/imprint", "/impressum", "/claim/notices"])
async def test_without_an_operator_an_opened_claim_names_its_creditor_at_every_legal_address(
    landing: LandingHarness, clock: MovableClock, path: str
) -> None:
    assert _list_missing((await landing.browser.get(path)).text) == list(_CREDITOR)
    await landing.open()
    english = await landing.browser.get(f"{path}?lang=en", follow_redirects=True)
    assert (_list_missing(english.text), "Legal notice" in english.text) == ([], True)
    clock.advance(timedelta(hours=2))
    timed_out = await landing.browser.get(path, follow_redirects=True)
    assert _list_missing(timed_out.text) == []
    assert "Zurück zur Forderung" not in timed_out.text


async def test_a_session_ended_by_the_debtor_does_not_name_the_creditor(
    landing: LandingHarness,
) -> None:
    await landing.open()
    await landing.browser.submit("/claim/end")
    page = await landing.browser.get("/imprint", follow_redirects=True)
    assert page.status_code == 200
    assert _list_missing(page.text) == list(_CREDITOR)


async def test_the_privacy_notice_has_the_content_required_by_the_gdpr(
    resources: Resources, landing: LandingHarness
) -> None:
    await landing.open()
    with _run_by(resources, AGENCY):
        text = (await landing.browser.get("/claim/notices?lang=en")).text
    for part in (
        "Nordwind Schuhe GmbH is responsible",
        "datenschutz@nordwind.example",
        "Article 6 (1) (b)",
        "Article 6 (1) (f)",
        "From Nordwind: your name",
        "Kontor Inkasso GmbH collects the claim.",
        "We keep the data about the claim for 3 years after it has ended.",
        "such as those of payments, for 8 years.",
        "Datenschutzbehörde Hamburg, Ludwig-Erhard-Str. 22, 20459 Hamburg",
        "You may ask which data about you are stored",
        "you may object for reasons that arise from your own situation",
        "You do not have to enter anything.",
        "Nobody creates a profile or a score of you here.",
    ):
        assert part in text, part
    assert "Article 6 (1) (c)" not in text


async def test_a_named_controller_replaces_the_creditor(
    resources: Resources, clock: MovableClock
) -> None:
    assert PAYING.privacy is not None
    privacy = msgspec.structs.replace(PAYING.privacy, controller="Nordwind und Kontor\ngemeinsam")
    configuration = msgspec.structs.replace(PAYING, privacy=privacy)
    async with a_landing(resources, clock, configuration=configuration) as landing:
        await landing.open()
        text = (await landing.browser.get("/claim/notices?lang=en")).text
    assert "<p>Nordwind und Kontor<br>gemeinsam</p>" in text
    assert "is responsible for the data about your claim" not in text


async def test_the_accessibility_statement_names_its_authority(landing: LandingHarness) -> None:
    outside = (await landing.browser.get("/imprint?lang=en")).text
    await landing.open()
    inside = (await landing.browser.get("/claim/notices?lang=en")).text
    assert "the accessibility authority where you live" in outside
    assert "Marktüberwachungsstelle der Länder" in inside
    assert "People with disabilities have not yet tested the pages for us." in inside


async def test_a_debt_collector_that_demands_fees_informs_consumers(
    resources: Resources, landing_with_fee: LandingHarness
) -> None:
    with _run_by(resources, AGENCY):
        text = (await landing_with_fee.browser.type_code(await landing_with_fee.give_code())).text
    section = text.partition('id="collector"')[2].partition("</section>")[0]
    for part in ("Nordwind Schuhe GmbH", "20459 Hamburg", "RE-7", "Januar 2026", "V-99",
                 "12,40", "2026/01-INK", "Bundesamt für Justiz", "rdg@bfj.example"):  # fmt: skip
        assert part in section, part


@pytest.mark.parametrize(
    ("operator", "debtor"),
    [
        (None, {"items": _FEES}),
        (OWN, {"items": _FEES}),
        (msgspec.structs.replace(AGENCY, registration=None), {"items": _FEES}),
        (AGENCY, {"items": _FEES, "companyName": "Hafen AG"}),
        (AGENCY, {}),
    ],
)
async def test_other_debtors_are_not_shown_the_collectors_information(
    resources: Resources, clock: MovableClock, operator: Operator | None, debtor: dict[str, Any]
) -> None:
    async with a_landing(resources, clock, debtor=debtor) as landing:
        with _run_by(resources, operator):
            page = await landing.browser.type_code(await landing.give_code())
    assert page.status_code == 200
    assert 'id="collector"' not in page.text


async def test_a_link_alone_shows_no_information_of_a_debt_collector(
    resources: Resources, landing_with_fee: LandingHarness
) -> None:
    with _run_by(resources, AGENCY):
        page = await landing_with_fee.open()
    assert 'id="collector"' not in page.text
    assert _ROLE_OF_AGENCY in page.text
