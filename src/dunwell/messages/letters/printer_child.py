"""The child that prints letters and papers: `python -m dunwell.messages.letters.printer_child`.

Typst places data in one fixed layout. The child has the fonts that come with Typst and no others,
limits on memory and time, and, once it runs, can open neither file nor socket.
"""

import base64
import io
from pathlib import Path

import msgspec
import pikepdf
import typst
from PIL import Image, UnidentifiedImageError

from dunwell.kit.child import limit_memory, open_nothing_more, serve
from dunwell.messages.letters.code_image import draw_svg
from dunwell.messages.letters.printer import Done, Job
from dunwell.messages.letters.sheet import Page, Picture, Transfer

_MEMORY_BYTES = 1024 * 1024 * 1024
_CPU_SECONDS_PER_JOB = 10
# Of a layout that fails Typst raises its TypstError, of a file that is no text a RuntimeError.
_REFUSED = (RuntimeError, pikepdf.PdfError, UnidentifiedImageError, ValueError)


def main() -> None:
    """Work until the parent goes away."""
    folder = Path(__file__).parent
    printer = _Printer((folder / "letter.typ").read_bytes(), (folder / "paper.typ").read_bytes())
    limit_memory(_MEMORY_BYTES)
    open_nothing_more()
    serve(printer.answer, _CPU_SECONDS_PER_JOB)


# One point is one pixel: as high as two of an e-mail's lines on the sharpest screens.
_LOGO_LAYOUT = b"""
#set page(width: auto, height: 80pt, margin: 0pt, fill: none)
#context {
  let high = image("logo.svg", height: 80pt)
  if measure(high).width <= 560pt { high } else {
    align(horizon, image("logo.svg", width: 560pt))
  }
}
"""


class _Drawn(msgspec.Struct):
    """What of a sheet is drawn here; the layout reads the rest."""

    logo: Picture | None
    page: Page
    transfer: Transfer | None


class _DrawnPaper(msgspec.Struct):
    logo: Picture | None


class _Printer:
    def __init__(self, layout: bytes, papers_layout: bytes) -> None:
        self._layout = layout
        self._papers_layout = papers_layout
        fonts = typst.Fonts(include_system_fonts=False)
        self._compiler = typst.Compiler(layout, font_paths=fonts)
        # What is imported late would not find its file any more.
        Image.init()
        # Nor would Typst find out how large its stack is, which it asks at the first call of a
        # function: it would map a new one for every few calls.
        self._compile({"main": b"#let give(x) = x\n#give(1)"})

    def answer(self, request: bytes) -> bytes:
        job = msgspec.msgpack.decode(request, type=Job)
        try:
            if job.kind == "COUNT_PAGES":
                done = Done(pages=_count_pages(job.content))
            elif job.kind == "DRAW_LOGO":
                done = Done(png=self._draw_png(job.content))
            elif job.kind == "PRINT_PAPER":
                done = Done(pdf=self._print_paper(job.content))
            else:
                done = Done(pdf=self._print(job.content))
        except _REFUSED:
            done = Done()
        return msgspec.msgpack.encode(done)

    def _print(self, content: bytes) -> bytes:
        sheet = msgspec.json.decode(content, type=_Drawn)
        # Files in memory; only the first is ever evaluated. As `sys.inputs` the data would be part
        # of the library, and nothing laid out for an earlier letter could be used again.
        files = {
            "main": self._layout,
            "letter.json": content,
            "page.svg": draw_svg(sheet.page.url),
        }
        if sheet.logo is not None:
            files["logo.svg"] = _draw_logo(sheet.logo)
        if sheet.transfer is not None and sheet.transfer.payload is not None:
            files["payment.svg"] = draw_svg(sheet.transfer.payload)
        return self._compile(files)

    def _print_paper(self, content: bytes) -> bytes:
        logo = msgspec.json.decode(content, type=_DrawnPaper).logo
        files = {"main": self._papers_layout, "paper.json": content}
        if logo is not None:
            files["logo.svg"] = _draw_logo(logo)
        return self._compile(files)

    def _draw_png(self, content: bytes) -> bytes:
        logo = msgspec.json.decode(content, type=Picture)
        files = {"main": _LOGO_LAYOUT, "logo.svg": _draw_logo(logo)}
        png = self._compiler.compile(files, format="png", ppi=72)  # type: ignore[type-var]
        assert isinstance(png, bytes)
        return png

    def _compile(self, files: dict[str, bytes]) -> bytes:
        # The stub does not know that several files may be given.
        pdf = self._compiler.compile(files, format="pdf", timestamp=0)  # type: ignore[type-var]
        assert isinstance(pdf, bytes)
        return pdf


def _draw_logo(logo: Picture) -> bytes:
    """As an SVG, which is text, as all files of the layout have to be."""
    if logo.content_type == "image/svg+xml":
        return logo.content
    with Image.open(io.BytesIO(logo.content)) as image:
        width, height = image.size
    encoded = base64.b64encode(logo.content).decode()
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
        f'<image width="{width}" height="{height}" '
        f'href="data:{logo.content_type};base64,{encoded}"/></svg>'
    ).encode()


def _count_pages(pdf: bytes) -> int:
    with pikepdf.open(io.BytesIO(pdf)) as opened:
        return len(opened.pages)


if __name__ == "__main__":
    main()
