"""Print sheets (letters) and papers (other documents, such as receipts) in a small pool of child
processes, so that layout does not block the event loop and a malicious sheet can harm only its
child."""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Hashable, Sequence
from contextlib import asynccontextmanager
from copy import copy
from pathlib import Path
from typing import Literal, Self

import msgspec

from dunwell.contact.messages.letters.fonts.font_library import FontChoice, FontFace, FontLibrary
from dunwell.contact.messages.letters.sheet import Picture
from dunwell.platform.children.child_pool import ChildLost, ChildPool
from dunwell.platform.children.fair_queue import UNLIMITED, QueueLimits

_CHILD = "dunwell.contact.messages.letters.printer_child"
_MAX_PDF_BYTES = 20 * 1024 * 1024
# Elapsed time, including the start of a child. The child's limit of processor time is lower.
_TIMEOUT_SECONDS = 30.0
# The number of children with additional fonts that are kept for reuse.
_MAX_FONT_POOLS = 2


class Unprintable(Exception):  # noqa: N818 - the suffix Error would add nothing
    """The sheet cannot be laid out within the limits."""


class ScriptMissing(Unprintable):
    """No font has the characters of these scripts, which would be printed as boxes."""

    def __init__(self, scripts: Sequence[str]) -> None:
        super().__init__(", ".join(scripts))
        self.scripts = scripts


def describe_missing_scripts(error: ScriptMissing) -> str:
    """Return the reason why a letter was not printed. It names the scripts, but contains none of
    the letter's text."""
    scripts = ", ".join(error.scripts)
    return f"No font of this installation supports characters of these scripts: {scripts}."


class PrintJob(msgspec.Struct, frozen=True, array_like=True):
    kind: Literal["PRINT", "PRINT_PAPER", "DRAW_LOGO", "COUNT_PAGES", "JOIN"]
    # JSON of a sheet, paper or logo; a PDF; or a list of `EnclosedPart`.
    content: bytes


class EnclosedPart(msgspec.Struct, frozen=True, array_like=True):
    """An uploaded PDF or picture."""

    content_type: str
    content: bytes


class PrintResult(msgspec.Struct, frozen=True, array_like=True):
    pdf: bytes | None = None
    png: bytes | None = None
    pages: int | None = None


class LetterPrinter:
    """One printer per process; close it at the end. Children start when they are first needed."""

    def __init__(
        self, size: int = 2, timeout_seconds: float = _TIMEOUT_SECONDS,
        fonts: Sequence[Path] = (), limits: QueueLimits = UNLIMITED,
    ) -> None:  # fmt: skip
        """Set the printer up.

        `fonts` are folders of additional fonts. `limits` are queue limits for interactive work,
        where users wait for the result.
        """
        self._key: Hashable = ""
        self._limits = limits
        self._timeout_seconds = timeout_seconds
        self._font_library = FontLibrary(fonts)
        self._children = self._open_pool(size, ())
        # One child for each set of additional fonts; the most recently used is last.
        self._font_pools: OrderedDict[tuple[FontFace, ...], ChildPool] = OrderedDict()
        # The number of running jobs for each set of additional fonts.
        self._busy: Counter[tuple[FontFace, ...]] = Counter()

    def for_caller(self, key: Hashable) -> Self:
        """Return a view of this printer for one caller. With queue limits, the jobs of one caller
        are printed one after the other."""
        view = copy(self)
        view._key = key  # noqa: SLF001 - of the same class
        return view

    async def print_sheet(self, sheet: bytes) -> bytes:
        """Return the PDF of a sheet (see `encode_sheet`). Equal sheets give equal bytes. Raises
        Unprintable; ScriptMissing if no font has the characters; OSError if no child can be
        started."""
        choice = await self._choose(sheet)
        if choice.missing:
            raise ScriptMissing(choice.missing)
        return await self._print(PrintJob("PRINT", sheet), choice.faces)

    async def print_paper(self, paper: bytes) -> bytes:
        """Return the PDF of a paper (see `encode_paper`). Characters that no font has are printed
        as boxes. Raises Unprintable; OSError if no child can be started."""
        return await self._print(PrintJob("PRINT_PAPER", paper), (await self._choose(paper)).faces)

    async def draw_logo(self, logo: Picture) -> bytes:
        """Return the logo as a PNG of 80 pixels height and at most 560 pixels width, with a
        transparent background. Raises Unprintable, OSError."""
        result = await self._run_job(PrintJob("DRAW_LOGO", msgspec.json.encode(logo)))
        if result is None or result.png is None:
            raise Unprintable
        return result.png

    async def count_pages(self, pdf: bytes) -> int | None:
        """Return the number of pages, or None if the content is not a readable PDF. Raises OSError
        if no child can be started."""
        result = await self._run_job(PrintJob("COUNT_PAGES", pdf))
        return result.pages if result else None

    async def join(self, parts: Sequence[EnclosedPart]) -> tuple[bytes, int]:
        """Join PDFs and pictures into one PDF and return it with its number of pages; a picture
        becomes a page. Equal parts give equal bytes. Raises Unprintable if a part is not readable;
        OSError if no child can be started."""
        result = await self._run_job(PrintJob("JOIN", msgspec.msgpack.encode(parts)))
        if result is None or result.pdf is None or result.pages is None:
            raise Unprintable
        return result.pdf, result.pages

    async def close(self) -> None:
        """End the children after their current jobs and refuse further jobs."""
        pools = [self._children, *self._font_pools.values()]
        await asyncio.gather(*(pool.close() for pool in pools))

    def _open_pool(self, size: int, faces: Sequence[FontFace]) -> ChildPool:
        return ChildPool(
            _CHILD,
            size=size,
            timeout_seconds=self._timeout_seconds,
            max_answer_bytes=_MAX_PDF_BYTES,
            arguments=[f"{each.index}:{each.path}" for each in faces],
            limits=self._limits,
        )

    async def _choose(self, content: bytes) -> FontChoice:
        """Choose additional fonts. The folders are read when they are first needed."""
        if content.isascii():
            return FontChoice()
        return await asyncio.to_thread(self._font_library.choose, content.decode())

    @asynccontextmanager
    async def _use_pool(self, faces: tuple[FontFace, ...]) -> AsyncIterator[ChildPool]:
        """Yield the children for a set of fonts. Fonts take tens of megabytes in a child, so the
        children that were used least recently are ended."""
        # A closed printer starts no children; its first pool refuses the job.
        if not faces or self._children.is_closed:
            yield self._children
            return
        pool = self._font_pools.pop(faces, None) or self._open_pool(1, faces)
        self._font_pools[faces] = pool
        self._busy[faces] += 1
        try:
            yield pool
        finally:
            self._busy[faces] -= 1
            # All are taken out before the first is awaited, so that no other job uses one of them.
            idle = [each for each in self._font_pools if not self._busy[each]]
            surplus = max(0, len(self._font_pools) - _MAX_FONT_POOLS)
            for unused in [self._font_pools.pop(each) for each in idle[:surplus]]:
                await unused.close()

    async def _print(self, job: PrintJob, faces: tuple[FontFace, ...]) -> bytes:
        result = await self._run_job(job, faces)
        if result is None or result.pdf is None:
            raise Unprintable
        return result.pdf

    async def _run_job(self, job: PrintJob, faces: tuple[FontFace, ...] = ()) -> PrintResult | None:
        try:
            async with self._use_pool(faces) as pool:
                answer = await pool.ask(
                    msgspec.msgpack.encode(job), key=self._key, size_bytes=len(job.content)
                )
        except ChildLost:
            return None
        return msgspec.msgpack.decode(answer, type=PrintResult)
