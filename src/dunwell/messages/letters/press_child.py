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
import typst
import zxingcpp
from PIL import Image, UnidentifiedImageError

from dunwell.kit.child import limit_memory, open_nothing_more, serve
from dunwell.messages.letters.press import Done, Job
from dunwell.messages.letters.sheet import Page, Picture, Transfer

_MEMORY_BYTES = 1024 * 1024 * 1024
_CPU_SECONDS_PER_JOB = 10
# One byte for each module.
_DARK = re.compile(rb"\x00+")
# Of a layout that fails Typst raises its TypstError, of a file that is no text a RuntimeError.
_REFUSED = (RuntimeError, pikepdf.PdfError, UnidentifiedImageError, ValueError)


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
        Image.init()
        # Nor would Typst find out how large its stack is, which it asks at the first call of a
        # function: it would map a new one for every few calls.
        self._compile({"main": b"#let give(x) = x\n#give(1)"})

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
        # Files in memory; only the first is ever evaluated. As `sys.inputs` the data would be part
        # of the library, and nothing laid out for an earlier letter could be used again.
        files = {
            "main": self._layout,
            "letter.json": content,
            "page.svg": _draw_code(sheet.page.url),
        }
        if sheet.logo is not None:
            files["logo.svg"] = _draw_logo(sheet.logo)
        if sheet.transfer is not None and sheet.transfer.payload is not None:
            files["payment.svg"] = _draw_code(sheet.transfer.payload)
        return self._compile(files)

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


def _draw_code(text: str) -> bytes:
    """A QR code of level M as an SVG: one path, a stroke for each dark run."""
    code = zxingcpp.create_barcode(text.encode(), zxingcpp.BarcodeFormat.QRCode, ec_level="M")
    image = code.to_image(scale=1, add_quiet_zones=False)
    pixels, (size, _) = bytes(image), image.shape  # type: ignore[call-overload]
    strokes = [
        f"M{run.start()} {y}.5h{run.end() - run.start()}"
        for y in range(size)
        for run in _DARK.finditer(pixels[y * size : (y + 1) * size])
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}">'
        f'<path stroke="#000" d="{"".join(strokes)}"/></svg>'
    ).encode()


def _count_pages(pdf: bytes) -> int:
    with pikepdf.open(io.BytesIO(pdf)) as opened:
        return len(opened.pages)


if __name__ == "__main__":
    main()
