"""Page pictures of untrusted files. Sandboxed child processes draw them, so that neither this
process nor a browser reads the file. A file that makes its child crash, hang or use too much memory
cannot be shown, and only that child is lost.

A child returns raw pixels, whose number is checked; the PNG is encoded here. The number of pages,
or that a file cannot be drawn, is cached, because the content under a storage key never changes. A
file is drawn by one child at a time, so that a hostile file cannot block all children.
"""

import asyncio
import io
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import msgspec
from PIL import Image

from dunwell.platform.children.child_pool import ChildLost, ChildPool
from dunwell.platform.children.fair_queue import INTERACTIVE
from dunwell.platform.errors import Unavailable

_CHILD = "dunwell.core.files.drawing_child"
# Wall time. The child limits its processor time to less.
_TIMEOUT_SECONDS = 10.0
_MAX_CACHED = 2_000
# A lower compression level, because a user waits for the picture.
_PNG_COMPRESSION = 3


class FileNotShowable(Exception):  # noqa: N818 - the suffix Error would add nothing
    """The file or this page of it cannot be shown as a picture."""


class PictureRequest(msgspec.Struct, frozen=True, array_like=True):
    """A request for the picture of a page, counted from 1, that fits into `width` and `height`.
    Page 0 asks only for the number of pages."""

    page: int
    width: int
    height: int
    content_type: str
    content: bytes


class DrawnPicture(msgspec.Struct, frozen=True, array_like=True):
    """A drawn page as raw pixels of three bytes each. `pages` is 0 if the file cannot be drawn."""

    pages: int = 0
    width: int = 0
    height: int = 0
    pixels: bytes = b""


@dataclass(frozen=True, slots=True)
class PictureSize:
    """The size that a picture must fit into, in pixels."""

    width: int
    height: int


THUMBNAIL = PictureSize(240, 320)
# An A4 page at 170 dots per inch: small print is readable.
FULL = PictureSize(1400, 2200)
_SIZES = (THUMBNAIL, FULL)
_MAX_ANSWER_BYTES = 3 * FULL.width * FULL.height + 1024


@dataclass(frozen=True, slots=True)
class PictureSource:
    """The file to show. `load` returns its content; it is called when a child is free. The pages of
    one `viewer` are drawn one after another."""

    storage_key: str
    content_type: str
    load: Callable[[], Awaitable[bytes]]
    viewer: Hashable = ""
    size_bytes: int = 0


class PagePictures:
    """The pool of child processes that draw pages. A process has one pool, and closes it before
    it ends. Children start when first needed."""

    def __init__(self, size: int = 2, timeout_seconds: float = _TIMEOUT_SECONDS) -> None:
        self._children = ChildPool(
            _CHILD,
            size=size,
            timeout_seconds=timeout_seconds,
            max_answer_bytes=_MAX_ANSWER_BYTES,
            limits=INTERACTIVE,
        )
        # The number of pages by storage key, or 0 for a file that cannot be shown.
        self._page_counts: OrderedDict[str, int] = OrderedDict()
        # By storage key: the lock of the file, and how many requests hold the lock or wait for it.
        self._turns: dict[str, tuple[asyncio.Lock, int]] = {}

    def find_cached_page_count(self, storage_key: str) -> int | None:
        """Return the cached number of pages, 0 for a file that cannot be shown, or None if it is
        not cached."""
        return self._page_counts.get(storage_key)

    async def count_pages(self, source: PictureSource) -> int:
        """Return the number of pages. Raises FileNotShowable, RateLimited, Unavailable, and what
        `load` raises."""
        known = self._find_showable_page_count(source)
        if known is not None:
            return known
        async with self._wait_for_turn(source):
            known = self._find_showable_page_count(source)
            return (await self._ask(source, 0, THUMBNAIL)).pages if known is None else known

    async def render_png(self, source: PictureSource, page: int, size: PictureSize) -> bytes:
        """Return the PNG of a page, counted from 1. Raises FileNotShowable, RateLimited,
        Unavailable, and what `load` raises."""
        assert size in _SIZES
        pages = self._find_showable_page_count(source)
        if page < 1 or (pages is not None and page > pages):
            raise FileNotShowable("There is no such page.")
        async with self._wait_for_turn(source):
            self._find_showable_page_count(source)
            drawn = await self._ask(source, page, size)
        return await asyncio.to_thread(_encode_png, drawn)

    async def close(self) -> None:
        """Stop the children, each after its page, and draw no more pages."""
        await self._children.close()

    async def _ask(self, source: PictureSource, page: int, size: PictureSize) -> DrawnPicture:
        async def read() -> bytes:
            content = await source.load()
            wanted = PictureRequest(
                page,
                size.width,
                height=size.height,
                content_type=source.content_type,
                content=content,
            )
            return msgspec.msgpack.encode(wanted)

        try:
            answer = await self._children.ask(read, key=source.viewer, size_bytes=source.size_bytes)
            drawn = msgspec.msgpack.decode(answer, type=DrawnPicture)
        except (ChildLost, msgspec.MsgspecError) as error:
            self._cache_page_count(source, 0)
            raise FileNotShowable("The file takes too much time or memory to draw.") from error
        except OSError as error:
            raise Unavailable("Pages cannot be drawn just now. Try again shortly.") from error
        is_picture = page == 0 or _is_valid_picture(drawn, size)
        if drawn.pages < 1 or not is_picture:
            # If the requested page does not exist, the other pages may still be drawable.
            if page <= 1:
                self._cache_page_count(source, 0)
            raise FileNotShowable("The page cannot be drawn.")
        self._cache_page_count(source, drawn.pages)
        return drawn

    def _find_showable_page_count(self, source: PictureSource) -> int | None:
        """Return the cached number of pages, or None if it is not cached. Raises FileNotShowable if
        it is cached that the file cannot be shown."""
        known = self._page_counts.get(source.storage_key)
        if known == 0:
            raise FileNotShowable("The file cannot be shown.")
        return known

    def _cache_page_count(self, source: PictureSource, pages: int) -> None:
        self._page_counts[source.storage_key] = pages
        self._page_counts.move_to_end(source.storage_key)
        while len(self._page_counts) > _MAX_CACHED:
            self._page_counts.popitem(last=False)

    @asynccontextmanager
    async def _wait_for_turn(self, source: PictureSource) -> AsyncIterator[None]:
        """Wait until no other page of this file is being drawn. Raises Unavailable."""
        lock, waiting = self._turns.get(source.storage_key, (asyncio.Lock(), 0))
        self._turns[source.storage_key] = (lock, waiting + 1)
        try:
            # Waiting for a picture of the same file is limited to the same time as waiting in the
            # queue.
            async with asyncio.timeout(INTERACTIVE.wait_seconds):
                await lock.acquire()
            try:
                yield
            finally:
                lock.release()
        except TimeoutError as error:
            raise Unavailable("The file is being drawn for others. Try again shortly.") from error
        finally:
            _, waiting = self._turns.pop(source.storage_key)
            if waiting > 1:
                self._turns[source.storage_key] = (lock, waiting - 1)


def _is_valid_picture(drawn: DrawnPicture, size: PictureSize) -> bool:
    """Return whether the size is plausible. A hostile file may control the child's result."""
    is_within = 0 < drawn.width <= size.width and 0 < drawn.height <= size.height
    return is_within and len(drawn.pixels) == 3 * drawn.width * drawn.height


def _encode_png(drawn: DrawnPicture) -> bytes:
    out = io.BytesIO()
    image = Image.frombytes("RGB", (drawn.width, drawn.height), drawn.pixels)
    image.save(out, "PNG", compress_level=_PNG_COMPRESSION)
    return out.getvalue()
