"""The child process that lays out letters: `python -m dunwell.messages.letters.press_child`.

Typst places data in one fixed layout. The child has the fonts that come with Typst and no others,
limits on memory and time, and, once it runs, can open neither file nor socket.
"""

import base64
import io
from pathlib import Path
from typing import Any

import msgspec
import pikepdf
import segno
import typst
from PIL import Image, UnidentifiedImageError

from dunwell.kit.child import limit_memory, open_nothing_more, serve
from dunwell.messages.letters.press import Done, Job

_MEMORY_BYTES = 1024 * 1024 * 1024
_CPU_SECONDS_PER_JOB = 10
# Any of the eight masks may be used; weighing them all takes most of the time a symbol takes.
_MASK = 2
_REFUSED = (typst.TypstError, pikepdf.PdfError, UnidentifiedImageError, ValueError)


def main() -> None:
    """Work until the parent goes away."""
    layout = Path(__file__).with_name("letter.typ").read_bytes()
    press = _Press(layout)
    limit_memory(_MEMORY_BYTES)
    open_nothing_more()
    serve(press.answer, _CPU_SECONDS_PER_JOB)


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
        sheet = msgspec.json.decode(content)
        sheet["codes"] = _draw_codes(sheet)
        sheet["logo"] = _draw_logo(sheet["logo"])
        inputs = {"letter": msgspec.json.encode(sheet).decode()}
        pdf = self._compiler.compile(self._layout, format="pdf", sys_inputs=inputs, timestamp=0)
        assert isinstance(pdf, bytes)
        return pdf


def _draw_codes(sheet: dict[str, Any]) -> dict[str, str]:
    codes = {"page": _draw_code(sheet["page"]["url"])}
    if sheet["transfer"] and sheet["transfer"]["payload"]:
        codes["payment"] = _draw_code(sheet["transfer"]["payload"])
    return codes


def _draw_logo(logo: dict[str, str] | None) -> str | None:
    """As an SVG, which is text, as all data of the layout is."""
    if logo is None:
        return None
    content = base64.b64decode(logo["content"])
    if logo["content_type"] == "image/svg+xml":
        return content.decode()
    with Image.open(io.BytesIO(content)) as image:
        width, height = image.size
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
        f'<image width="{width}" height="{height}" '
        f'href="data:{logo["content_type"]};base64,{logo["content"]}"/></svg>'
    )


def _draw_code(text: str) -> str:
    """A QR code of level M as an SVG, one path of horizontal runs, without a margin."""
    matrix = segno.make_qr(text.encode(), error="m", boost_error=False, mask=_MASK).matrix
    size = len(matrix)
    path = "".join(
        f"M{start} {y}h{length}v1h-{length}z"
        for y, row in enumerate(matrix)
        for start, length in _find_runs(row)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}">'
        f'<path d="{path}"/></svg>'
    )


def _find_runs(row: bytearray) -> list[tuple[int, int]]:
    """Where dark runs begin, and how long they are."""
    runs, start = [], -1
    for x, dark in enumerate([*row, 0]):
        if dark and start < 0:
            start = x
        elif not dark and start >= 0:
            runs.append((start, x - start))
            start = -1
    return runs


def _count_pages(pdf: bytes) -> int:
    with pikepdf.open(io.BytesIO(pdf)) as opened:
        return len(opened.pages)


if __name__ == "__main__":
    main()
