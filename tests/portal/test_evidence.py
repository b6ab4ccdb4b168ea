"""Files in the portal: images of their pages, explanations without an image, and downloads."""

from uuid import UUID

import pytest

from dunwell.core.files.storage import SealedFiles, Storage
from dunwell.platform.resources import Resources
from tests.support.disputes import dispute, give_evidence
from tests.support.files import a_written_pdf
from tests.support.harness import Harness
from tests.support.hostile_pdfs import UNDRAWABLE
from tests.support.portal import Clerk

_PNG = b"\x89PNG\r\n\x1a\n"


async def _give(harness: Harness, claim_id: int, content: bytes | None = None) -> str:
    opened = await dispute(harness, claim_id)
    file_id = await give_evidence(harness, opened, "proof.pdf", content or a_written_pdf(30))
    return f"/claims/{claim_id}/disputes/{opened.dispute_id}/files/{file_id}"


async def _damage_content(resources: Resources, harness: Harness, content: bytes | None) -> None:
    """Replace the content of the only stored file; None deletes it."""
    [row] = await harness.rows("SELECT storage_key FROM uploads WHERE merchant_id = $1")
    storage = Storage.open(resources.settings.files_url)
    if content is None:
        await storage.remove(row["storage_key"])
    else:
        await storage.save(row["storage_key"], content)


async def test_a_page_is_shown_as_an_image_with_links_to_the_others(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    at = await _give(harness, claim_id)

    page = (await clerk.get(f"{at}/pages?page=13")).text
    picture = await clerk.get(f"{at}/pages/13/large")
    small = await clerk.get(f"{at}/pages/13/small")

    assert "Page 13 of 30" in page
    assert f'rel="prev" href="{clerk.at(at)}/pages?page=12"' in page
    assert f'rel="next" href="{clerk.at(at)}/pages?page=14"' in page
    # The thumbnails of twelve pages, and links to the others.
    assert page.count('loading="lazy"') == 12
    assert "Earlier pages" in page
    assert "Later pages" in page
    for answer in (picture, small):
        assert answer.status_code == 200
        assert answer.content.startswith(_PNG)
        assert answer.headers["Content-Type"] == "image/png"
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert len(small.content) < len(picture.content)


async def test_the_image_contains_no_bytes_of_the_original_file(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    at = await _give(harness, claim_id)
    for path in (f"{at}/pages", f"{at}/pages/1/large", f"{at}/pages/1/small"):
        assert b"%PDF" not in (await clerk.get(path)).content
    original = await clerk.get(at)
    assert original.content.startswith(b"%PDF")
    assert original.headers["Content-Disposition"].startswith("attachment; ")
    assert original.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("page", ["0", "31", "-1", "x", "99999", "1;2"])
async def test_an_invalid_page_number_is_not_found(
    clerk: Clerk, harness: Harness, claim_id: int, page: str
) -> None:
    at = await _give(harness, claim_id)
    assert (await clerk.get(f"{at}/pages?page={page}")).status_code == 404
    assert (await clerk.get(f"{at}/pages/{page}/large")).status_code == 404
    assert (await clerk.get(f"{at}/pages/1/huge")).status_code == 404


async def test_a_broken_file_is_explained_in_words(
    clerk: Clerk, resources: Resources, harness: Harness, claim_id: int
) -> None:
    for content, words in (
        (UNDRAWABLE["page tree without end"](), "cannot be displayed"),
        (None, "is missing from the file storage"),
        (b"\x01dunwell sealed\nnot by us", "was changed in the file storage"),
    ):
        at = await _give(harness, claim_id)
        await _damage_content(resources, harness, content)

        page = await clerk.get(f"{at}/pages")

        assert page.status_code == 200
        assert words in page.text
        assert "<img" not in page.text
        assert (await clerk.get(f"{at}/pages/1/small")).status_code == 404
        await harness.rows("DELETE FROM dispute_files WHERE merchant_id = $1")
        await harness.rows("DELETE FROM uploads WHERE merchant_id = $1")
        await harness.rows("DELETE FROM disputes WHERE merchant_id = $1")


async def test_a_file_of_another_dispute_or_claim_is_not_found(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    at = await _give(harness, claim_id)
    [second] = await harness.create("INV-2")
    another = UUID(int=7)
    for wrong in (
        at.replace(f"/claims/{claim_id}/", f"/claims/{second}/"),
        f"{at.rpartition('/')[0]}/{another}",
    ):
        assert (await clerk.get(f"{wrong}/pages")).status_code == 404
        assert (await clerk.get(f"{wrong}/pages/1/large")).status_code == 404


async def test_viewing_a_file_is_recorded_once_with_its_id(
    staff: Clerk, harness: Harness, claim_id: int
) -> None:
    at = await _give(harness, claim_id)
    await staff.get(f"{at}/pages")
    await staff.get(f"{at}/pages/1/large")
    await staff.get(f"{at}/pages/1/small")

    rows = await harness.rows(
        "SELECT details FROM audit_log WHERE merchant_id = $1 AND action = 'claim.look'"
    )
    assert [row["details"] for row in rows] == [{"file": at.rpartition("/")[2]}]


async def test_stored_files_stay_encrypted(
    clerk: Clerk, resources: Resources, harness: Harness, claim_id: int
) -> None:
    """Images are not stored: the storage contains only the encrypted file."""
    at = await _give(harness, claim_id)
    await clerk.get(f"{at}/pages")
    await clerk.get(f"{at}/pages/1/large")
    [row] = await harness.rows("SELECT storage_key FROM uploads WHERE merchant_id = $1")
    assert (await SealedFiles.open(resources).load(row["storage_key"])).startswith(b"%PDF")
