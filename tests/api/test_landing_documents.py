"""The claim's documents: listed and downloaded, and never those of another claim."""

from typing import Any

import msgspec
import pytest

from dunwell.accounts.merchants.configuration import LandingPage
from dunwell.core.files.storage import SealedFiles
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.documents import attach, read_text
from tests.support.files import a_pdf, an_image
from tests.support.landing import LandingHarness, a_landing
from tests.support.payments import PAYING

_PAGE = "/claim/documents"


async def _enter(landing: LandingHarness) -> Any:
    return await landing.browser.type_code(await landing.give_code())


async def test_the_claim_page_links_to_its_documents(landing: LandingHarness) -> None:
    await attach(landing.payments.harness, landing.claim_id)
    await attach(landing.payments.harness, landing.claim_id, "Foto", an_image("PNG", 600, 400))

    claim = await _enter(landing)
    page = await landing.browser.get(_PAGE)

    assert f'<a href="{_PAGE}">2 Dokumente ansehen</a>' in claim.text
    text = read_text(page.text)
    assert "Rechnung.pdf PDF, 1 KB" in text
    assert "Foto.png PNG, " in text


async def test_a_claim_without_documents_shows_the_contact(landing: LandingHarness) -> None:
    claim = await _enter(landing)
    page = await landing.browser.get(_PAGE)

    assert _PAGE not in claim.text
    assert "Nordwind hat dieser Forderung keine Dokumente beigefügt." in read_text(page.text)
    assert 'href="tel:+49401234560"' in page.text


async def test_a_document_is_downloaded_and_never_shown_inline(landing: LandingHarness) -> None:
    attachment_id = await attach(landing.payments.harness, landing.claim_id, 'Rechnung "Mai" €')
    await _enter(landing)

    answer = await landing.browser.get(f"{_PAGE}/{attachment_id}")

    assert answer.status_code == 200
    assert answer.content.startswith(b"%PDF-")
    assert answer.headers["Content-Type"] == "application/pdf"
    assert answer.headers["Content-Disposition"] == (
        'attachment; filename="Rechnung _Mai_ _.pdf"; '
        "filename*=UTF-8''Rechnung%20%22Mai%22%20%E2%82%AC.pdf"
    )
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert answer.headers["Cache-Control"] == "no-store"


async def test_a_document_whose_content_is_lost_says_so(landing: LandingHarness) -> None:
    attachment_id = await attach(landing.payments.harness, landing.claim_id)
    [row] = await landing.payments.harness.rows(
        "SELECT storage_key FROM uploads WHERE merchant_id = $1"
    )
    storage = SealedFiles.open(landing.payments.resources)
    await storage.remove(row["storage_key"])
    await _enter(landing)

    page = await landing.browser.get(f"{_PAGE}/{attachment_id}")

    assert page.status_code == 410
    assert "Dieses Dokument ist nicht mehr verfügbar Rechnung.pdf" in read_text(page.text)


@pytest.mark.parametrize("status", ["ARCHIVED", "WITHDRAWN"])
async def test_a_closed_claim_has_no_documents(landing: LandingHarness, status: str) -> None:
    attachment_id = await attach(landing.payments.harness, landing.claim_id)
    await _enter(landing)
    await landing.payments.end_claim(status)

    pages = [await landing.browser.get(each) for each in (_PAGE, f"{_PAGE}/{attachment_id}")]

    assert [page.status_code for page in pages] == [404, 404]


async def test_a_merchant_can_disable_documents(resources: Resources, clock: MovableClock) -> None:
    configuration = msgspec.structs.replace(PAYING, landing_page=LandingPage(features=()))
    async with a_landing(resources, clock, configuration=configuration) as landing:
        attachment_id = await attach(landing.payments.harness, landing.claim_id)
        claim = await _enter(landing)
        paths = (_PAGE, f"{_PAGE}/{attachment_id}", "/claim/preferences")
        pages = [await landing.browser.get(each) for each in paths]

    assert "/claim/documents" not in claim.text
    assert "/claim/preferences" not in claim.text
    assert [page.status_code for page in pages] == [404, 404, 404]


async def test_markup_in_a_name_is_escaped(landing: LandingHarness) -> None:
    await attach(landing.payments.harness, landing.claim_id, "<b>Rechnung</b>", a_pdf())
    await _enter(landing)

    page = await landing.browser.get(_PAGE)

    assert "&lt;b&gt;Rechnung&lt;-b&gt;.pdf" in page.text
