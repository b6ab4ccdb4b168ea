"""Small files of each type, like those that debtors and merchants upload."""

import io
import random
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


def a_written_pdf(pages: int = 3, says: str = "Sendungsnachweis") -> bytes:
    """Return a PDF with text and a frame on each page, like a shop's document."""
    out = io.BytesIO()
    font = pikepdf.Dictionary(
        Type=pikepdf.Name.Font, Subtype=pikepdf.Name.Type1, BaseFont=pikepdf.Name.Helvetica
    )
    with pikepdf.new() as pdf:
        for number in range(1, pages + 1):
            page = pdf.add_blank_page(page_size=(595, 842))
            page.obj.Resources = pikepdf.Dictionary(Font=pikepdf.Dictionary(F=font))
            head = f"{says}, page {number} of {pages}"
            lines = [head, *(f"Line {each}: 12,00 EUR" for each in range(40))]
            text = " T* ".join(f"({line}) Tj" for line in lines)
            words = f"40 40 515 762 re S BT /F 12 Tf 16 TL 60 770 Td {text} ET"
            page.obj.Contents = pdf.make_stream(words.encode())
        pdf.save(out)
    return out.getvalue()


def a_protected_pdf() -> bytes:
    out = io.BytesIO()
    with pikepdf.new() as pdf:
        pdf.add_blank_page()
        pdf.save(out, encryption=pikepdf.Encryption(owner="owner", user="user"))
    return out.getvalue()


def an_image(kind: str, width: int = 8, height: int = 8) -> bytes:
    """Return an image. `kind` is JPEG, PNG or WEBP."""
    out = io.BytesIO()
    Image.new("RGB", (width, height), (200, 30, 30)).save(out, kind)
    return out.getvalue()


def a_noisy_jpeg(width: int = 4000, height: int = 3000, seed: int = 1) -> bytes:
    """Return an image like a photograph, which takes time to decode and encode."""
    noise, out = random.Random(seed), io.BytesIO()
    small = Image.frombytes("RGB", (200, 150), noise.randbytes(200 * 150 * 3))
    small.resize((width, height), Image.Resampling.BICUBIC).save(out, "JPEG", quality=90)
    return out.getvalue()


def a_png_bomb(width: int, height: int) -> bytes:
    """Return a small file that declares a large image of one colour."""
    row = b"\x00" * (width // 8 + 2)
    packer = zlib.compressobj(9)
    rows = b"".join(packer.compress(row) for _ in range(height)) + packer.flush()
    head = width.to_bytes(4) + height.to_bytes(4) + b"\x01\x00\x00\x00\x00"
    chunks = _chunk(b"IHDR", head) + _chunk(b"IDAT", rows) + _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def _chunk(name: bytes, data: bytes) -> bytes:
    checksum = zlib.crc32(name + data)
    return len(data).to_bytes(4) + name + data + checksum.to_bytes(4)
