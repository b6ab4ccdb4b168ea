"""The child process that prints letters and papers, started as `python -m
dunwell.contact.messages.letters.printer_child`.

Typst places data in a fixed layout. The child uses the fonts included in Typst and those named by
its arguments ("2:/path/to/font.ttc", the index and path of a face), which it reads at the start. It
is then confined like the child that checks uploads (`core.files.inspection_child`), because logos,
attachments and texts come from outside.
"""

import base64
import io
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pikepdf
import typst
from PIL import Image, ImageOps, UnidentifiedImageError

from dunwell.contact.messages.letters.layout import list_layouts, load_layout
from dunwell.contact.messages.letters.printer import EnclosedPart, PrintJob, PrintResult
from dunwell.contact.messages.letters.qr_code import draw_svg
from dunwell.contact.messages.letters.sheet import (
    DEFAULT_LAYOUT,
    Picture,
    SheetPage,
    TransferDetails,
)
from dunwell.platform.children.child import confine_process, serve

_MEMORY_BYTES = 1024 * 1024 * 1024
_CPU_SECONDS_PER_JOB = 10
# Typst raises TypstError for a layout that fails, and RuntimeError for a file that is not text.
_UNPRINTABLE_ERRORS = (
    RuntimeError,
    pikepdf.PdfError,
    UnidentifiedImageError,
    ValueError,
    LookupError,
)


def main() -> None:
    """Answer jobs until the parent process ends."""
    printer = build_printer(sys.argv[1:])
    confine_process(_MEMORY_BYTES, _CPU_SECONDS_PER_JOB)
    serve(printer.answer, _CPU_SECONDS_PER_JOB)


def build_printer(faces: Sequence[str] = ()) -> "SheetPrinter":
    """Read and import everything that printing needs, because no file can be opened later."""
    folder = Path(__file__).parent
    letters, papers = ((folder / name).read_bytes() for name in ("letter.typ", "paper.typ"))
    return SheetPrinter(letters, papers, faces)


# One point is one pixel. The height is that of two lines of an e-mail on high-resolution screens.
_LOGO_LAYOUT = b"""
#set page(width: auto, height: 80pt, margin: 0pt, fill: none)
#context {
  let high = image("logo.svg", height: 80pt)
  if measure(high).width <= 560pt { high } else {
    align(horizon, image("logo.svg", width: 560pt))
  }
}
"""


class _SheetImages(msgspec.Struct):
    """The parts of a sheet that become images; the layout reads the rest."""

    logo: Picture | None
    page: SheetPage
    transfer: TransferDetails | None
    layout: str = DEFAULT_LAYOUT


class _PaperImages(msgspec.Struct):
    logo: Picture | None


class SheetPrinter:
    """Prints sheets and papers with Typst, in memory."""

    def __init__(self, layout: bytes, papers_layout: bytes, faces: Sequence[str] = ()) -> None:
        with _link_font_files(faces) as folder:
            fonts = typst.Fonts(include_system_fonts=False, font_paths=[folder] if folder else [])
            self._compiler = typst.Compiler(layout, font_paths=fonts)
            families = _list_families(fonts, faces)
            for family in families:
                # Load the font now, because its file cannot be opened later.
                self._compile({"main": f'#text(font: "{family}", fallback: false)[a]'.encode()})
        self._layouts = {name: load_layout(name) for name in list_layouts()}
        self._layout = _add_fallback_fonts(layout, families)
        self._papers_layout = _add_fallback_fonts(papers_layout, families)
        # Import all image formats now, because their files cannot be opened later.
        Image.init()
        # Call a function now, because Typst reads its stack size from a file at the first call. If
        # it cannot read the file, it allocates a new stack every few calls.
        self._compile({"main": b"#let same(x) = x\n#same(1)"})

    def answer(self, request: bytes) -> bytes:
        """Run an encoded `PrintJob` and return the encoded `PrintResult`, which is empty if the
        content cannot be printed or read."""
        job = msgspec.msgpack.decode(request, type=PrintJob)
        try:
            if job.kind == "COUNT_PAGES":
                result = PrintResult(pages=_count_pages(job.content))
            elif job.kind == "JOIN":
                result = _join(msgspec.msgpack.decode(job.content, type=list[EnclosedPart]))
            elif job.kind == "DRAW_LOGO":
                result = PrintResult(png=self._draw_png(job.content))
            elif job.kind == "PRINT_PAPER":
                result = PrintResult(pdf=self._print_paper(job.content))
            else:
                result = PrintResult(pdf=self._print(job.content))
        except _UNPRINTABLE_ERRORS:
            result = PrintResult()
        return msgspec.msgpack.encode(result)

    def _print(self, content: bytes) -> bytes:
        sheet = msgspec.json.decode(content, type=_SheetImages)
        # Files in memory; only the first is evaluated. Data passed as `sys.inputs` would be part of
        # the library, and Typst could not reuse the layout of earlier letters.
        files = {
            "main": self._layout,
            "letter.json": content,
            "layout.json": self._layouts[sheet.layout],
            "page.svg": draw_svg(sheet.page.url),
        }
        if sheet.logo is not None:
            files["logo.svg"] = _draw_logo(sheet.logo)
        if sheet.transfer is not None and sheet.transfer.payload is not None:
            files["payment.svg"] = draw_svg(sheet.transfer.payload)
        return self._compile(files)

    def _print_paper(self, content: bytes) -> bytes:
        logo = msgspec.json.decode(content, type=_PaperImages).logo
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
        # The type stub does not know that several files can be given.
        pdf = self._compiler.compile(files, format="pdf", timestamp=0)  # type: ignore[type-var]
        assert isinstance(pdf, bytes)
        return pdf


@contextmanager
def _link_font_files(faces: Sequence[str]) -> Iterator[str | None]:
    """Yield a folder with links to the faces' files, named by their index, as Typst requires."""
    if not faces:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="dunwell-fonts-") as folder:
        for number, face in enumerate(faces):
            path = Path(face.partition(":")[2])
            (Path(folder) / f"{number}{path.suffix}").symlink_to(path)
        yield folder


def _list_families(fonts: typst.Fonts, faces: Sequence[str]) -> list[str]:
    """Return Typst's family names of the faces, in order of preference."""
    known = {(each.path, each.index): each.family for each in fonts.fonts()}
    split = [face.partition(":") for face in faces]
    return [known[str(Path(path).resolve()), int(index)] for index, _, path in split]


def _add_fallback_fonts(layout: bytes, families: Sequence[str]) -> bytes:
    """Add the families as fallback fonts of the layout."""
    if not families:
        return layout
    named = ", ".join(f'"{each}"' for each in families)
    return layout.replace(
        b'font: "Libertinus Serif"', f'font: ("Libertinus Serif", {named})'.encode()
    )


def _draw_logo(logo: Picture) -> bytes:
    """Return the logo as an SVG, because all files of a Typst layout must be text."""
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


# An A4 page in points, and the margin around a picture.
_PAGE, _MARGIN = (595.28, 841.89), 42.5


def _join(parts: list[EnclosedPart]) -> PrintResult:
    with pikepdf.new() as joined:
        for part in parts:
            content = part.content
            if part.content_type != "application/pdf":
                content = _draw_page(content)
            with pikepdf.open(io.BytesIO(content)) as opened:
                joined.pages.extend(opened.pages)
        saved = io.BytesIO()
        joined.save(saved, deterministic_id=True)
        return PrintResult(pdf=saved.getvalue(), pages=len(joined.pages))


def _draw_page(content: bytes) -> bytes:
    """Return a PDF page with the picture scaled to fit."""
    with Image.open(io.BytesIO(content)) as opened:
        picture = ImageOps.exif_transpose(opened).convert("RGB")
    width, height = picture.size
    scale = min((_PAGE[0] - 2 * _MARGIN) / width, (_PAGE[1] - 2 * _MARGIN) / height, 1.0)
    drawn = io.BytesIO()
    picture.save(drawn, "JPEG", quality=90)
    with pikepdf.new() as made:
        page = made.add_blank_page(page_size=_PAGE)
        image = pikepdf.Stream(
            made, drawn.getvalue(), Type=pikepdf.Name.XObject, Subtype=pikepdf.Name.Image,
            Width=width, Height=height, ColorSpace=pikepdf.Name.DeviceRGB, BitsPerComponent=8,
            Filter=pikepdf.Name.DCTDecode,
        )  # fmt: skip
        page.Resources = pikepdf.Dictionary(XObject=pikepdf.Dictionary(Picture=image))
        left, below = _MARGIN, _PAGE[1] - _MARGIN - height * scale
        size = f"{width * scale:.3f} 0 0 {height * scale:.3f}"
        placed = f"q {size} {left} {below:.3f} cm /Picture Do Q"
        page.Contents = made.make_stream(placed.encode())
        saved = io.BytesIO()
        made.save(saved, deterministic_id=True)
        return saved.getvalue()


if __name__ == "__main__":
    main()
