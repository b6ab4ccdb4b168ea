"""Draw the QR codes of letters and pages, at error correction level M."""

import io
import re
from typing import Any

import zxingcpp
from PIL import Image

# An image has one byte per module.
_DARK = re.compile(rb"\x00+")
# Pixels per module, so that a code stays readable after it is photographed.
_PIXELS = 8


def draw_svg(text: str) -> bytes:
    """Return the code as an SVG path with one stroke per dark run, without a quiet zone."""
    image = _draw(text, scale=1, add_quiet_zones=False)
    pixels, (size, _) = bytes(image), image.shape
    strokes = [
        f"M{run.start()} {y}.5h{run.end() - run.start()}"
        for y in range(size)
        for run in _DARK.finditer(pixels[y * size : (y + 1) * size])
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}">'
        f'<path stroke="#000" d="{"".join(strokes)}"/></svg>'
    ).encode()


def draw_png(text: str) -> bytes:
    """Return the code as a black and white PNG with its quiet zone."""
    image = _draw(text, scale=_PIXELS, add_quiet_zones=True)
    height, width = image.shape
    saved = io.BytesIO()
    picture = Image.frombytes("L", (width, height), bytes(image))
    picture.convert("1").save(saved, "PNG", optimize=True)
    return saved.getvalue()


def _draw(text: str, **options: Any) -> Any:
    """Return an image with one byte per pixel. The type stub does not know its shape."""
    code = zxingcpp.create_barcode(text.encode(), zxingcpp.BarcodeFormat.QRCode, ec_level="M")
    return code.to_image(**options)
