"""Malicious files by kind. Some are cleaned, the others are rejected."""

import io
import zipfile
from collections.abc import Callable
from typing import Any

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from tests.support import hostile_pdfs
from tests.support.files import a_pdf, a_png_bomb, an_image
from tests.support.hostile_pdfs import EVIL

_PAGE = b"<!DOCTYPE html><script>" + EVIL + b"</script>"
_PICTURE = (
    b'<svg xmlns="http://www.w3.org/2000/svg" onload="' + EVIL + b'"><script>1</script></svg>'
)


def _an_image_with(kind: str, **options: Any) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (64, 48), (200, 30, 30)).save(out, kind, **options)
    return out.getvalue()


def _a_png_that_says() -> bytes:
    words = PngInfo()
    words.add_text("Comment", _PAGE.decode())
    words.add_itxt("XML:com.adobe.xmp", _PAGE.decode(), zip=False)
    return _an_image_with("PNG", pnginfo=words)


def _where_it_was_taken() -> Any:
    exif = Image.Exif()
    exif[0x010E] = EVIL.decode()
    exif.get_ifd(0x8825)[1] = "N"
    return exif


def _an_archive(content: bytes = EVIL, name: str = "../../evil.exe") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return out.getvalue()


def _a_png_that_claims(width: int, height: int) -> bytes:
    image = bytearray(an_image("PNG"))
    image[16:24] = width.to_bytes(4) + height.to_bytes(4)
    return bytes(image)


# The file names and contents of files from which the active content is removed.
CLEANABLE: dict[str, tuple[str, bytes]] = {
    **{name: ("invoice.pdf", content) for name, content in hostile_pdfs.ACTING.items()},
    "PNG with a page in its words": ("a.png", _a_png_that_says()),
    "PNG with a page behind it": ("a.png", an_image("PNG") + _PAGE),
    "PNG that is an archive too": ("a.png", an_image("PNG") + _an_archive(name=EVIL.decode())),
    "JPEG with a page in its comment": ("a.jpg", _an_image_with("JPEG", comment=_PAGE)),
    "JPEG that says where": ("a.jpg", _an_image_with("JPEG", exif=_where_it_was_taken())),
    "JPEG with a program behind it": ("a.jpg", an_image("JPEG") + b"<?php " + EVIL),
    "WebP with a page in its words": ("a.webp", _an_image_with("WEBP", xmp=_PAGE)),
    "WebP with a page behind it": ("a.webp", an_image("WEBP") + _PAGE),
}
REFUSED: dict[str, tuple[str, Callable[[], bytes]]] = {
    **{f"PDF, {name}": ("a.pdf", make) for name, make in hostile_pdfs.BROKEN.items()},
    "page named as PDF": ("a.pdf", lambda: _PAGE),
    "page with a PDF's first bytes": ("a.pdf", lambda: b"%PDF-1.7\n" + _PAGE + b"\n%%EOF"),
    "page before a PDF": ("a.pdf", lambda: _PAGE + a_pdf()),
    "drawing named as PDF": ("a.pdf", lambda: _PICTURE),
    "drawing named as PNG": ("a.png", lambda: _PICTURE),
    "drawing": ("a.svg", lambda: _PICTURE),
    "page": ("a.html", lambda: _PAGE),
    "PDF named as page": ("a.html", a_pdf),
    "PDF named as program": ("a.pdf.exe", a_pdf),
    "PNG named as PDF": ("a.pdf", lambda: an_image("PNG")),
    "GIF": ("a.gif", lambda: an_image("GIF")),
    "TIFF": ("a.tiff", lambda: an_image("TIFF")),
    "program": ("a.pdf", lambda: b"MZ" + bytes(500)),
    "script": ("a.pdf", lambda: b"#!/bin/sh\n" + EVIL),
    "archive": ("a.pdf", _an_archive),
    "archive that is a bomb": ("a.pdf", lambda: _an_archive(bytes(20_000_000))),
    "office file": ("a.docx", lambda: _an_archive(_PAGE, "word/document.xml")),
    "PostScript": ("a.pdf", lambda: b"%!PS-Adobe-3.0\n(" + EVIL + b") run\n%%EOF"),
    "PNG that is a bomb": ("a.png", lambda: a_png_bomb(9000, 9000)),
    "PNG without an end": ("a.png", lambda: _a_png_that_claims(2**31 - 1, 2**31 - 1)),
    "PNG that lies about its size": ("a.png", lambda: _a_png_that_claims(5000, 5000)),
    "PNG cut off": ("a.png", lambda: an_image("PNG", 300, 300)[:120]),
    "JPEG cut off": ("a.jpg", lambda: an_image("JPEG", 400, 400)[:700]),
    "JPEG of its first bytes alone": ("a.jpg", lambda: b"\xff\xd8\xff\xe0" + _PAGE),
    "WebP cut off": ("a.webp", lambda: an_image("WEBP", 400, 400)[:60]),
    "WebP of its first bytes alone": ("a.webp", lambda: b"RIFF\x40\0\0\0WEBPVP8 " + _PAGE),
}
