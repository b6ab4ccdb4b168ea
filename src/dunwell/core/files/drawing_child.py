"""The child process that draws pages of untrusted files. Started as `python -m
dunwell.core.files.drawing_child`, and sandboxed like `inspection_child`."""

import io

import msgspec
import pikepdf
from PIL import Image

from dunwell.core.files.drawing import PageNotDrawable, PictureBox, draw_page
from dunwell.core.files.pictures import DrawnPicture, PictureRequest
from dunwell.core.files.upload import PDF, PNG
from dunwell.platform.children.child import confine_process, serve

_MEMORY_BYTES = 768 * 1024 * 1024
_CPU_SECONDS_PER_PAGE = 5


def main() -> None:
    """Answer requests until the parent exits."""
    _preload()
    confine_process(_MEMORY_BYTES, _CPU_SECONDS_PER_PAGE)
    serve(_draw, _CPU_SECONDS_PER_PAGE)


def _preload() -> None:
    """Import modules and open files now, because the sandbox forbids opening files."""
    Image.init()
    written, picture = io.BytesIO(), io.BytesIO()
    with pikepdf.new() as pdf:
        page = pdf.add_blank_page(page_size=(60, 60))
        font = pikepdf.Dictionary(
            Type=pikepdf.Name.Font, Subtype=pikepdf.Name.Type1, BaseFont=pikepdf.Name.Unknown
        )
        page.obj.Resources = pikepdf.Dictionary(Font=pikepdf.Dictionary(F=font))
        page.obj.Contents = pdf.make_stream(b"BT /F 12 Tf 5 5 Td (A) Tj ET")
        pdf.save(written)
    draw_page(written.getvalue(), PDF, 1, PictureBox(60, 60))
    Image.new("RGBA", (4, 4)).save(picture, "PNG")
    draw_page(picture.getvalue(), PNG, 1, PictureBox(2, 2))


def _draw(request: bytes) -> bytes:
    wanted = msgspec.msgpack.decode(request, type=PictureRequest)
    box = PictureBox(wanted.width, wanted.height)
    try:
        drawing = draw_page(wanted.content, wanted.content_type, wanted.page, box)
    except PageNotDrawable:
        return msgspec.msgpack.encode(DrawnPicture())
    return msgspec.msgpack.encode(
        DrawnPicture(drawing.pages, drawing.width, drawing.height, drawing.pixels)
    )


if __name__ == "__main__":
    main()
