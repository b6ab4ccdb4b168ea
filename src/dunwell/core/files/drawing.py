"""Draws a page of a file as bare pixels, within bounds: what a person looks at in the place of the
file. It runs in the child process that `pictures` keeps; nothing else calls it but tests.

Pixels have no format that a reader of theirs could be misled by: the parent makes the picture of
them. Fonts that a document does not bring are those that come with PDFium, as no other file can be
opened. Pure.
"""

import io
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pypdfium2
from PIL import Image, ImageOps

from dunwell.core.files.upload import JPEG, PDF, PNG, WEBP

# As many as are taken when a file comes in (`core.files.cleaning`, `core.files.cleaning`).
MAX_PAGES = 500
MAX_PIXELS = 60_000_000
# Of a document's page: 180 dots an inch, so that a small one does not become a huge picture.
_MOST_SCALE = 2.5
_WHITE = (255, 255, 255)


class NotDrawable(Exception):  # noqa: N818 - reads as what it says
    """There is no such page, or it cannot be drawn within the bounds."""


@dataclass(frozen=True, slots=True)
class PictureBox:
    """What a picture has to fit into, in pixels."""

    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Drawing:
    """`pages`: of the file. `pixels`: three bytes each, row by row; none of a page that was not
    asked for."""

    pages: int
    width: int = 0
    height: int = 0
    pixels: bytes = b""


def draw_page(content: bytes, content_type: str, page: int, box: PictureBox) -> Drawing:
    """`page`: from 1 on; 0: the pages are counted and nothing is drawn. Raises NotDrawable."""
    draw = _DRAWERS.get(content_type)
    if draw is None:
        raise NotDrawable("The file is of no type that is shown.")
    try:
        return draw(content, page, box)
    except NotDrawable:
        raise
    except Exception as error:  # parsers of broken files raise anything
        raise NotDrawable("The file cannot be read.") from error


def fit(width: float, height: float, box: PictureBox, most_scale: float) -> float:
    """How much larger a page of this size becomes, at most. Raises NotDrawable for no size."""
    if not (math.isfinite(width) and math.isfinite(height) and width > 0 and height > 0):
        raise NotDrawable("The page has no size.")
    return min(box.width / width, box.height / height, most_scale)


def _draw_pdf(content: bytes, page: int, box: PictureBox) -> Drawing:
    with pypdfium2.PdfDocument(content) as pdf:
        pages = len(pdf)
        if not 0 < pages <= MAX_PAGES:
            raise NotDrawable("The document has no pages, or too many.")
        if page == 0:
            return Drawing(pages)
        if page > pages:
            raise NotDrawable("There is no such page.")
        # So that what was filled into a form is seen; scripts there are none to run.
        pdf.init_forms()
        shown = pdf[page - 1]
        width, height = shown.get_size()
        scale = fit(width, height, box, _MOST_SCALE)
        drawn = shown.render(scale=scale, rev_byteorder=True, fill_color=(*_WHITE, 255))
        return _finish(pages, drawn.to_pil(), box)


def _draw_image(name: str) -> Callable[[bytes, int, PictureBox], Drawing]:
    def draw(content: bytes, page: int, box: PictureBox) -> Drawing:
        with Image.open(io.BytesIO(content), formats=(name,)) as image:
            width, height = image.size
            if width * height > MAX_PIXELS:
                raise NotDrawable("The picture has too many pixels.")
            if page == 0:
                return Drawing(1)
            if page > 1:
                raise NotDrawable("There is no such page.")
            # Of a photograph only as much is unpacked as is shown.
            image.draft("RGB", (max(box.width, box.height),) * 2)
            image.load()
            image.thumbnail((max(box.width, box.height),) * 2)
            return _finish(1, ImageOps.exif_transpose(image), box)

    return draw


def _finish(pages: int, image: Image.Image, box: PictureBox) -> Drawing:
    """On white, and never larger than asked: what rounding added is taken off."""
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
    JPEG: _draw_image("JPEG"),
    PNG: _draw_image("PNG"),
    WEBP: _draw_image("WEBP"),
}
