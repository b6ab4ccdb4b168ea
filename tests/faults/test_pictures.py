"""Pages of untrusted files are rendered as pictures in a child process. A hostile file affects only
its own child."""

import asyncio
import io
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from PIL import Image

from dunwell.core.files.drawing import PageNotDrawable, PictureBox, draw_page
from dunwell.core.files.pictures import (
    FULL,
    THUMBNAIL,
    DrawnPicture,
    FileNotShowable,
    PagePictures,
    PictureSource,
)
from dunwell.core.files.upload import JPEG, PDF, PNG, WEBP
from dunwell.platform.children.child import get_confinement
from tests.support.children import find_children
from tests.support.files import a_pdf, a_png_bomb, a_written_pdf, an_image
from tests.support.hostile_pdfs import ODD, UNDRAWABLE

_CHILD = "drawing_child"


@pytest.fixture
async def page_pictures() -> AsyncIterator[PagePictures]:
    page_pictures = PagePictures(2, timeout_seconds=3.0)
    yield page_pictures
    await page_pictures.close()


def a_file(content: bytes, content_type: str = PDF, viewer: str = "") -> PictureSource:
    async def load() -> bytes:
        return content

    return PictureSource(str(hash(content)), content_type, load, viewer)


def open_image(picture: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(picture), formats=("PNG",))
    image.load()
    return image


async def test_pages_are_counted_and_drawn(page_pictures: PagePictures) -> None:
    file = a_file(a_written_pdf(3))

    assert await page_pictures.count_pages(file) == 3
    first = open_image(await page_pictures.render_png(file, 1, FULL))
    third = open_image(await page_pictures.render_png(file, 3, FULL))
    small = open_image(await page_pictures.render_png(file, 3, THUMBNAIL))

    assert (first.size, small.size) == ((1400, 1982), (227, 320))
    assert first.tobytes() != third.tobytes()
    assert len(first.getcolors(100_000) or ()) > 2


async def test_a_missing_page_is_refused_and_others_are_still_counted(
    page_pictures: PagePictures,
) -> None:
    file = a_file(a_written_pdf(2))
    for page in (3, 0, 9_999):
        with pytest.raises(FileNotShowable):
            await page_pictures.render_png(file, page, THUMBNAIL)
    assert await page_pictures.count_pages(file) == 2


@pytest.mark.parametrize(("kind", "content_type"), [("PNG", PNG), ("JPEG", JPEG), ("WEBP", WEBP)])
async def test_pictures_are_encoded_again_without_metadata(
    page_pictures: PagePictures, kind: str, content_type: str
) -> None:
    file = a_file(an_image(kind, 3000, 1500), content_type)

    assert await page_pictures.count_pages(file) == 1
    shown = open_image(await page_pictures.render_png(file, 1, FULL))

    assert shown.size == (1400, 700)
    assert all(abs(a - b) < 8 for a, b in zip(shown.getpixel((9, 9)), (200, 30, 30), strict=True))  # type: ignore[arg-type]
    assert shown.info == {}


async def test_a_small_picture_is_not_enlarged_and_transparency_becomes_white(
    page_pictures: PagePictures,
) -> None:
    out = io.BytesIO()
    Image.new("RGBA", (20, 10), (255, 0, 0, 0)).save(out, "PNG")
    shown = open_image(await page_pictures.render_png(a_file(out.getvalue(), PNG), 1, FULL))
    assert (shown.size, shown.getpixel((1, 1))) == ((20, 10), (255, 255, 255))


async def test_a_photograph_is_rotated_by_its_exif_orientation(page_pictures: PagePictures) -> None:
    exif, out = Image.Exif(), io.BytesIO()
    exif[0x0112] = 6
    Image.new("RGB", (400, 200)).save(out, "JPEG", exif=exif)
    shown = open_image(await page_pictures.render_png(a_file(out.getvalue(), JPEG), 1, FULL))
    assert shown.size == (200, 400)


@pytest.mark.parametrize("name", UNDRAWABLE)
async def test_an_undrawable_file_is_refused_and_others_are_drawn(
    page_pictures: PagePictures, name: str
) -> None:
    hostile, honest = a_file(UNDRAWABLE[name]()), a_file(a_written_pdf(1), viewer="another")

    async def fail() -> None:
        with pytest.raises(FileNotShowable):
            await page_pictures.render_png(hostile, 1, FULL)

    _, picture = await asyncio.gather(fail(), page_pictures.render_png(honest, 1, THUMBNAIL))

    assert open_image(picture).height == 320
    assert page_pictures.find_cached_page_count(hostile.storage_key) == 0
    # The hostile file is refused again without being rendered.
    with pytest.raises(FileNotShowable):
        await asyncio.wait_for(page_pictures.render_png(hostile, 1, THUMBNAIL), 0.2)


@pytest.mark.parametrize("name", ODD)
async def test_odd_pages_are_drawn_within_bounds(page_pictures: PagePictures, name: str) -> None:
    shown = open_image(await page_pictures.render_png(a_file(ODD[name]()), 1, FULL))
    assert shown.width <= FULL.width
    assert shown.height <= FULL.height


async def test_a_picture_of_too_many_pixels_is_not_shown(page_pictures: PagePictures) -> None:
    with pytest.raises(FileNotShowable):
        await page_pictures.render_png(a_file(a_png_bomb(9000, 9000), PNG), 1, THUMBNAIL)


async def test_repeated_requests_for_a_hostile_file_do_not_delay_other_files(
    page_pictures: PagePictures,
) -> None:
    hostile = a_file(UNDRAWABLE["draws itself a billion times"]())
    honest = a_file(a_written_pdf(1), viewer="another")
    asked = [asyncio.create_task(page_pictures.render_png(hostile, 1, THUMBNAIL)) for _ in range(8)]
    await asyncio.sleep(0)

    await page_pictures.render_png(honest, 1, THUMBNAIL)

    assert [each.done() for each in asked] == [False] * 8
    failed = await asyncio.gather(*asked, return_exceptions=True)
    assert all(isinstance(each, FileNotShowable) for each in failed)


async def test_one_viewer_with_forty_slow_files_does_not_occupy_every_child(
    page_pictures: PagePictures,
) -> None:
    slow = UNDRAWABLE["draws itself a billion times"]()
    mine = [a_file(slow + b"%" * each, viewer="mine") for each in range(40)]
    theirs = a_file(a_written_pdf(1), viewer="theirs")
    asked = [asyncio.create_task(page_pictures.render_png(each, 1, THUMBNAIL)) for each in mine]
    await asyncio.sleep(0)

    await page_pictures.render_png(theirs, 1, THUMBNAIL)

    assert not any(each.done() for each in asked)
    for each in asked:
        each.cancel()
    await asyncio.gather(*asked, return_exceptions=True)


class _LyingPool:
    """A pool whose child was compromised by a file."""

    def __init__(self, answer: DrawnPicture) -> None:
        self._answer = answer

    async def ask(self, _asked: object, **_given: object) -> bytes:
        return msgspec.msgpack.encode(self._answer)

    async def close(self) -> None:
        """Do nothing, because nothing is open."""


@pytest.mark.parametrize(
    "answer",
    [
        DrawnPicture(1, 10, 10, b"\x89PNG\r\n\x1a\n<script>"),
        DrawnPicture(1, 4000, 1, bytes(12000)),
        DrawnPicture(1, -1, -1, bytes(3)),
        DrawnPicture(1, 0, 0, b""),
    ],
)
async def test_an_invalid_answer_of_a_child_is_refused(answer: DrawnPicture) -> None:
    page_pictures = PagePictures(1)
    page_pictures._children = _LyingPool(answer)  # type: ignore[assignment]
    with pytest.raises(FileNotShowable):
        await page_pictures.render_png(a_file(a_pdf()), 1, THUMBNAIL)


@pytest.mark.skipif(sys.platform != "linux", reason="Landlock and seccomp are Linux's")
async def test_the_drawing_child_is_sandboxed() -> None:
    page_pictures = PagePictures(1)
    before = {each.pid for each in find_children(_CHILD)}
    try:
        await page_pictures.render_png(a_file(a_pdf()), 1, THUMBNAIL)
        (child,) = [each for each in find_children(_CHILD) if each.pid not in before]
        status = _read_status(child.pid)
    finally:
        await page_pictures.close()
    assert "NoNewPrivs:\t1" in status
    if get_confinement().has_seccomp:
        assert "Seccomp:\t2" in status


def _read_status(pid: int) -> str:
    return Path(f"/proc/{pid}/status").read_text()


def test_other_types_are_not_drawn() -> None:
    with pytest.raises(PageNotDrawable):
        draw_page(b"<html>", "text/html", 1, PictureBox(9, 9))
