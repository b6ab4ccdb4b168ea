"""Small files of each type, made as strangers would make them."""

import io
import zlib

import pikepdf
from PIL import Image


def a_pdf(pages: int = 1) -> bytes:
    out = io.BytesIO()
    with pikepdf.new() as pdf:
        for _ in range(pages):
            pdf.add_blank_page(page_size=(595, 842))
        pdf.save(out)
    return out.getvalue()


def a_protected_pdf() -> bytes:
    out = io.BytesIO()
    with pikepdf.new() as pdf:
        pdf.add_blank_page()
        pdf.save(out, encryption=pikepdf.Encryption(owner="owner", user="user"))
    return out.getvalue()


def an_image(kind: str, width: int = 8, height: int = 8) -> bytes:
    """kind: JPEG, PNG or WEBP."""
    out = io.BytesIO()
    Image.new("RGB", (width, height), (200, 30, 30)).save(out, kind)
    return out.getvalue()


def a_png_bomb(width: int, height: int) -> bytes:
    """A small file that says it is a large image of one colour."""
    row = b"\x00" * (width // 8 + 2)
    packer = zlib.compressobj(9)
    rows = b"".join(packer.compress(row) for _ in range(height)) + packer.flush()
    head = width.to_bytes(4) + height.to_bytes(4) + b"\x01\x00\x00\x00\x00"
    chunks = _chunk(b"IHDR", head) + _chunk(b"IDAT", rows) + _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def _chunk(name: bytes, data: bytes) -> bytes:
    checksum = zlib.crc32(name + data)
    return len(data).to_bytes(4) + name + data + checksum.to_bytes(4)
