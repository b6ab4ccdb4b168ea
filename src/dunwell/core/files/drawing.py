"""Draw a page of a file as raw pixels, which users see instead of the file. Runs in the child
process of `pictures`; only tests call it directly.

The result is raw pixels, which the parent encodes, because raw pixels have no format that could
exploit a reader. Fonts that a document does not embed are replaced by those of PDFium, because the
process cannot open files. Pure.
"""

import io
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pypdfium2
from PIL import Image, ImageOps

from dunwell.core.files.upload import JPEG, PDF, PNG, WEBP

# The same limits as for accepting a file (`core.files.cleaning`).
MAX_PAGES = 500
MAX_PIXELS = 60_000_000
# The scale of a PDF page: 180 dots per inch, so that a small page does not become a huge picture.
_MAX_SCALE = 2.5
_WHITE = (255, 255, 255)


class PageNotDrawable(Exception):  # noqa: N818 - the suffix Error would add nothing
    """The page does not exist, or cannot be drawn within the limits."""


@dataclass(frozen=True, slots=True)
class PictureBox:
    """The size that a picture must fit into, in pixels."""

    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Drawing:
    """`pages` is the number of pages of the file. `pixels` has three bytes for each pixel, row by
    row; it is empty if only the pages were counted."""

    pages: int
    width: int = 0
    height: int = 0
    pixels: bytes = b""


def draw_page(content: bytes, content_type: str, page: int, box: PictureBox) -> Drawing:
    """Draw a page, counted from 1; with 0 only count the pages. Raises PageNotDrawable."""
    draw = _DRAWERS.get(content_type)
    if draw is None:
        raise PageNotDrawable("Files of this type are not shown.")
    try:
        return draw(content, page, box)
    except PageNotDrawable:
        raise
    except Exception as error:  # Parsers raise anything for broken files.
        raise PageNotDrawable("The file cannot be read.") from error


def compute_scale(width: float, height: float, box: PictureBox, max_scale: float) -> float:
    """Return the scale that makes a page of this size fit. Raises PageNotDrawable for an invalid
    size."""
    if not (math.isfinite(width) and math.isfinite(height) and width > 0 and height > 0):
        raise PageNotDrawable("The page has no size.")
    return min(box.width / width, box.height / height, max_scale)


def _draw_pdf(content: bytes, page: int, box: PictureBox) -> Drawing:
    with pypdfium2.PdfDocument(content) as pdf:
        pages = len(pdf)
        if not 0 < pages <= MAX_PAGES:
            raise PageNotDrawable("The document has no pages, or too many.")
        if page == 0:
            return Drawing(pages)
        if page > pages:
            raise PageNotDrawable("There is no such page.")
        # Shows the values of forms. Scripts are not supported.
        pdf.init_forms()
        pdf_page = pdf[page - 1]
        width, height = pdf_page.get_size()
        scale = compute_scale(width, height, box, _MAX_SCALE)
        bitmap = pdf_page.render(scale=scale, rev_byteorder=True, fill_color=(*_WHITE, 255))
        return _finish(pages, bitmap.to_pil(), box)


def _build_image_drawer(name: str) -> Callable[[bytes, int, PictureBox], Drawing]:
    def draw(content: bytes, page: int, box: PictureBox) -> Drawing:
        with Image.open(io.BytesIO(content), formats=(name,)) as image:
            width, height = image.size
            if width * height > MAX_PIXELS:
                raise PageNotDrawable("The picture has too many pixels.")
            if page == 0:
                return Drawing(1)
            if page > 1:
                raise PageNotDrawable("There is no such page.")
            # Let the decoder of a JPEG produce a smaller image, not much larger than the box.
            image.draft("RGB", (max(box.width, box.height),) * 2)
            image.load()
            image.thumbnail((max(box.width, box.height),) * 2)
            return _finish(1, ImageOps.exif_transpose(image), box)

    return draw


def _finish(pages: int, image: Image.Image, box: PictureBox) -> Drawing:
    """Return the drawing on white. It is reduced if rounding made it larger than the box."""
    if image.width > box.width or image.height > box.height:
        image.thumbnail((box.width, box.height))
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        layer = image.convert("RGBA")
        image = Image.new("RGB", layer.size, _WHITE)
        image.paste(layer, mask=layer.getchannel("A"))
    drawn = image if image.mode == "RGB" else image.convert("RGB")
    return Drawing(pages, drawn.width, drawn.height, drawn.tobytes())


_DRAWERS: Mapping[str, Callable[[bytes, int, PictureBox], Drawing]] = {
    PDF: _draw_pdf,
    JPEG: _build_image_drawer("JPEG"),
    PNG: _build_image_drawer("PNG"),
    WEBP: _build_image_drawer("WEBP"),
}
