"""The child process that lays out letters: `python -m dunwell.messages.letters.press_child`.

Typst places data in one fixed layout. The child has the fonts that come with Typst and no others,
limits on memory and time, and, once it runs, can open neither file nor socket.
"""

import base64
import io
import re
from pathlib import Path

import msgspec
import pikepdf
import segno
import typst
from PIL import Image, UnidentifiedImageError

from dunwell.kit.child import limit_memory, open_nothing_more, serve
from dunwell.messages.letters.press import Done, Job
from dunwell.messages.letters.sheet import Page, Picture, Transfer

_MEMORY_BYTES = 1024 * 1024 * 1024
_CPU_SECONDS_PER_JOB = 10
# Any of the eight masks may be used; weighing them all takes most of the time a symbol takes.
_MASK = 2
_DARK = re.compile(rb"\x01+")
_REFUSED = (typst.TypstError, pikepdf.PdfError, UnidentifiedImageError, ValueError)


def main() -> None:
    """Work until the parent goes away."""
    layout = Path(__file__).with_name("letter.typ").read_bytes()
    press = _Press(layout)
    limit_memory(_MEMORY_BYTES)
    open_nothing_more()
    serve(press.answer, _CPU_SECONDS_PER_JOB)


class _Drawn(msgspec.Struct):
    """What of a sheet is drawn here; the layout reads the rest."""

    logo: Picture | None
    page: Page
    transfer: Transfer | None


class _Press:
    def __init__(self, layout: bytes) -> None:
        self._layout = layout
        fonts = typst.Fonts(include_system_fonts=False)
        self._compiler = typst.Compiler(layout, font_paths=fonts)
        # What is imported late would not find its file any more.
        _draw_code("warm up")
        Image.init()

    def answer(self, request: bytes) -> bytes:
        job = msgspec.msgpack.decode(request, type=Job)
        try:
            if job.kind == "COUNT_PAGES":
                done = Done(pages=_count_pages(job.content))
            else:
                done = Done(pdf=self._print(job.content))
        except _REFUSED:
            done = Done()
        return msgspec.msgpack.encode(done)

    def _print(self, content: bytes) -> bytes:
        sheet = msgspec.json.decode(content, type=_Drawn)
        pictures = {"logo": _draw_logo(sheet.logo), "page": _draw_code(sheet.page.url)}
        if sheet.transfer is not None and sheet.transfer.payload is not None:
            pictures["payment"] = _draw_code(sheet.transfer.payload)
        inputs = {
            "letter": content.decode(),
            "pictures": msgspec.json.encode(pictures).decode(),
        }
        pdf = self._compiler.compile(self._layout, format="pdf", sys_inputs=inputs, timestamp=0)
        assert isinstance(pdf, bytes)
        return pdf


def _draw_logo(logo: Picture | None) -> str | None:
    """As an SVG, which is text, as all data of the layout is."""
    if logo is None:
        return None
    if logo.content_type == "image/svg+xml":
        return logo.content.decode()
    with Image.open(io.BytesIO(logo.content)) as image:
        width, height = image.size
    encoded = base64.b64encode(logo.content).decode()
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
        f'<image width="{width}" height="{height}" '
        f'href="data:{logo.content_type};base64,{encoded}"/></svg>'
    )


def _draw_code(text: str) -> str:
    """A QR code of level M as an SVG without a margin: one path, a stroke for each dark run."""
    matrix = segno.make_qr(text.encode(), error="m", boost_error=False, mask=_MASK).matrix
    size = len(matrix)
    strokes = [
        f"M{run.start()} {y}.5h{run.end() - run.start()}"
        for y, row in enumerate(matrix)
        for run in _DARK.finditer(row)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}">'
        f'<path stroke="#000" d="{"".join(strokes)}"/></svg>'
    )


def _count_pages(pdf: bytes) -> int:
    with pikepdf.open(io.BytesIO(pdf)) as opened:
        return len(opened.pages)


if __name__ == "__main__":
    main()
