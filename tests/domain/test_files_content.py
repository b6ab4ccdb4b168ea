"""The type of a file is found by its first bytes and by parsing it."""

import pytest

from dunwell.core.files.cleaning import MAX_PAGES, clean_file
from dunwell.core.files.upload import check_claimed_type
from dunwell.platform.errors import UnsupportedMediaType
from tests.support.files import a_pdf, a_png_bomb, a_protected_pdf, an_image


@pytest.mark.parametrize(
    ("content", "content_type"),
    [
        (a_pdf(), "application/pdf"),
        (a_pdf(3) + b"\n\n", "application/pdf"),
        (an_image("JPEG"), "image/jpeg"),
        (an_image("PNG"), "image/png"),
        (an_image("WEBP"), "image/webp"),
    ],
)
def test_the_four_allowed_types_are_recognised(content: bytes, content_type: str) -> None:
    assert clean_file(content).content_type == content_type


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<!DOCTYPE html><script>alert(1)</script>",
        b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
        b"PK\x03\x04" + bytes(100),
        an_image("GIF"),
        b"junk" + a_pdf(),
        b"<script>alert(1)</script>" + a_pdf(),
        b"\n" + an_image("PNG"),
        b"%PDF-1.7\n<html><script>alert(1)</script></html>\n%%EOF",
        b"%PDF-1.7\n",
        a_pdf() + b"PK\x03\x04" + bytes(2000),
        a_pdf()[:200],
        an_image("PNG")[:40],
        an_image("JPEG", 400, 400)[:700],
        an_image("WEBP", 400, 400)[:60],
        b"RIFF\x00\x00\x00\x00WEBP",
    ],
)  # fmt: skip
def test_a_file_of_any_other_type_is_refused(content: bytes) -> None:
    with pytest.raises(UnsupportedMediaType) as caught:
        clean_file(content)
    assert caught.value.details == {
        "allowed": ["application/pdf", "image/jpeg", "image/png", "image/webp"]
    }


def test_a_protected_pdf_is_refused_and_says_why() -> None:
    with pytest.raises(UnsupportedMediaType, match="password"):
        clean_file(a_protected_pdf())


def test_the_number_of_pages_of_a_pdf_is_limited() -> None:
    assert clean_file(a_pdf(MAX_PAGES)).content_type == "application/pdf"
    with pytest.raises(UnsupportedMediaType, match="501 pages"):
        clean_file(a_pdf(MAX_PAGES + 1))


def test_an_image_that_unpacks_to_too_many_pixels_is_refused_unread() -> None:
    bomb = a_png_bomb(8000, 8000)
    assert len(bomb) < 20_000
    with pytest.raises(UnsupportedMediaType, match="60,000,000 pixels"):
        clean_file(bomb)


@pytest.mark.parametrize("name", ["a.pdf", "a.PDF", "a", "Rechnung Nr. 12", ".pdf", "a.txt.pdf"])
def test_a_file_name_with_the_right_extension_or_none_is_accepted(name: str) -> None:
    check_claimed_type(name, "application/pdf")


@pytest.mark.parametrize("name", ["a.png", "a.html", "a.pdf.jpg", "a.exe"])
def test_a_file_name_with_another_type_is_refused(name: str) -> None:
    with pytest.raises(UnsupportedMediaType, match="its content is application/pdf"):
        check_claimed_type(name, "application/pdf")
