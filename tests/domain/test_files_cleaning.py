"""Encoding a file again keeps what its reader sees."""

import io
from typing import Any

import pikepdf
import pytest
from PIL import Image

from dunwell.core.files.cleaning import clean_file
from tests.support.files import a_pdf
from tests.support.hostile_pdfs import a_pdf_with

_ORIENTATION = 0x0112


def a_picture(kind: str, mode: str, **options: Any) -> bytes:
    out = io.BytesIO()
    Image.linear_gradient("L").convert(mode).save(out, kind, **options)
    return out.getvalue()


def open_image(content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(content))


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA"])
def test_a_png_keeps_every_pixel(mode: str) -> None:
    content = a_picture("PNG", mode)

    cleaned = open_image(clean_file(content).content)

    assert (cleaned.format, cleaned.mode) == ("PNG", mode)
    assert cleaned.convert("RGBA").tobytes() == open_image(content).convert("RGBA").tobytes()


def test_the_transparent_colour_is_kept() -> None:
    cleaned = open_image(clean_file(a_picture("PNG", "P", transparency=0)).content)
    assert cleaned.info["transparency"] == 0


@pytest.mark.parametrize("mode", ["L", "RGB", "CMYK"])
def test_a_jpeg_looks_as_before(mode: str) -> None:
    content = a_picture("JPEG", mode, quality=70)

    cleaned = open_image(clean_file(content).content)

    assert (cleaned.format, cleaned.mode) == ("JPEG", mode)
    pairs = zip(cleaned.tobytes(), open_image(content).tobytes(), strict=True)
    assert max(abs(one - other) for one, other in pairs) <= 4


def test_a_lossless_webp_keeps_every_pixel() -> None:
    content = a_picture("WEBP", "RGB", lossless=True)
    cleaned = open_image(clean_file(content).content)
    assert cleaned.tobytes() == open_image(content).tobytes()


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_only_the_orientation_of_the_exif_data_is_kept(kind: str) -> None:
    exif = Image.Exif()
    exif[_ORIENTATION], exif[0x010F] = 6, "Camera"

    cleaned = open_image(clean_file(a_picture(kind, "RGB", exif=exif)).content)

    assert dict(cleaned.getexif()) == {_ORIENTATION: 6}


def test_a_pdf_keeps_its_pages_and_its_links() -> None:
    def change(pdf: pikepdf.Pdf) -> None:
        action = pikepdf.Dictionary(S=pikepdf.Name.URI, URI=pikepdf.String("https://a.example/?b"))
        link = pikepdf.Dictionary(Subtype=pikepdf.Name.Link, F=4, A=action)
        pdf.pages[0].obj.Annots = pikepdf.Array([pdf.make_indirect(link)])
        pdf.pages[0].obj.Contents = pdf.make_stream(b"0 0 m 9 9 l S")

    cleaned = clean_file(a_pdf_with(change)).content

    with pikepdf.open(io.BytesIO(cleaned)) as pdf:
        page = pdf.pages[0].obj
        assert page.Contents.read_bytes() == b"0 0 m 9 9 l S"
        assert (int(page.Annots[0].F), str(page.Annots[0].A.URI)) == (4, "https://a.example/?b")


def test_the_same_file_gives_the_same_bytes() -> None:
    assert clean_file(a_pdf(2)) == clean_file(a_pdf(2))
