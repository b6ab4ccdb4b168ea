"""If the creditor's storage is full, the page says so, and the dispute can be sent without the
file."""

import pytest

from tests.support.debtor_disputes import (
    disputes,
    files,
    list_stored_files,
    open_dispute_form,
    sign_in_with_letter_code,
)
from tests.support.disputes import dispute
from tests.support.files import a_pdf
from tests.support.full_storage import leave_free
from tests.support.landing import LandingHarness

_WORDS = {
    "en": "We cannot accept “a.pdf”: there is no space left for files.",
    "de": "Wir können „a.pdf“ nicht annehmen: Es ist kein Speicherplatz für Dateien mehr frei.",
}


# Full beforehand, and room for less than the file.
@pytest.mark.parametrize("free_bytes", [0, 10])
@pytest.mark.parametrize("language", ["en", "de"])
async def test_a_dispute_can_be_sent_without_its_file_if_the_storage_is_full(
    landing: LandingHarness, free_bytes: int, language: str
) -> None:
    await sign_in_with_letter_code(landing)
    path = (await open_dispute_form(landing, "OTHER")).replace("lang=en", f"lang={language}")
    await landing.browser.get(path)
    await leave_free(
        landing.payments.resources, landing.payments.harness.merchant.merchant_id, free_bytes
    )

    page = await landing.browser.send(path, [("a.pdf", a_pdf())], do="send", message="See")

    assert page.status_code == 422
    assert _WORDS[language] in page.text
    assert "\nSee</textarea>" in page.text
    assert list_stored_files(landing) == []
    await landing.browser.send(path, do="send", message="See")
    assert len(await disputes(landing)) == 1
    assert await files(landing) == []


async def test_the_page_of_an_open_dispute_says_that_the_storage_is_full(
    landing: LandingHarness,
) -> None:
    opened = await dispute(landing.payments.harness, landing.claim_id)
    await sign_in_with_letter_code(landing)
    path = f"/claim/disputes/{opened.dispute_id}"
    await landing.browser.get(f"{path}?lang=en")
    await leave_free(landing.payments.resources, landing.payments.harness.merchant.merchant_id, 0)

    page = await landing.browser.send(f"{path}/files?lang=en", [("a.pdf", a_pdf())])

    assert page.status_code == 422
    assert _WORDS["en"] in page.text
    assert "Your dispute is valid without it" in page.text
