"""Prints sheets and papers: a small pool of child processes that lay them out, so that neither the
event loop waits for it nor a sheet can do harm to more than its child.
"""

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
# Wall time, with a child's start in it; the child limits its own processor time to less.
_PATIENCE_SECONDS = 30.0
# Children with fonts of their own that wait for more of their kind.
_MOST_OTHERS = 2


class Unprintable(Exception):  # noqa: N818 - reads as what is wrong
    """The sheet cannot be laid out within the limits."""


class ScriptMissing(Unprintable):
    """Characters of these scripts would be printed as boxes: no font has them."""

    def __init__(self, scripts: Sequence[str]) -> None:
        super().__init__(", ".join(scripts))
        self.scripts = scripts


def describe_missing(error: ScriptMissing) -> str:
    """Why a letter is not printed: the scripts, and nothing of what is written in them."""
    return f"It has characters that no font of this installation has: {', '.join(error.scripts)}."


class PrintJob(msgspec.Struct, frozen=True, array_like=True):
    kind: Literal["PRINT", "PRINT_PAPER", "DRAW_LOGO", "COUNT_PAGES", "JOIN"]
    # A sheet, a paper or a logo as JSON, a PDF, or a list of `EnclosedPart`.
    content: bytes


class EnclosedPart(msgspec.Struct, frozen=True, array_like=True):
    """A PDF or a picture, as uploads are."""

    content_type: str
    content: bytes


class Done(msgspec.Struct, frozen=True, array_like=True):
    pdf: bytes | None = None
    png: bytes | None = None
    pages: int | None = None


class LetterPrinter:
    """Opened once in a process and closed at its end; children start when first needed."""

    def __init__(
        self, size: int = 2, patience_seconds: float = _PATIENCE_SECONDS,
        fonts: Sequence[Path] = (), limits: QueueLimits = UNLIMITED,
    ) -> None:  # fmt: skip
        """fonts: folders of those that letters need beside what comes along. limits: those of
        interactive work where people wait for what is printed."""
        self._key: Hashable = ""
        self._limits = limits
        self._patience_seconds = patience_seconds
        self._shelf = FontLibrary(fonts)
        self._children = self._open_pool(size, ())
        # One child for each set of fonts, the one used last at the end.
        self._others: OrderedDict[tuple[FontFace, ...], ChildPool] = OrderedDict()
        self._busy: Counter[tuple[FontFace, ...]] = Counter()

    def serving(self, key: Hashable) -> Self:
        """Return this printer for one caller, whose jobs are printed one after the other where the
        printer has limits."""
        served = copy(self)
        served._key = key  # noqa: SLF001 - of the same class
        return served

    async def print_sheet(self, sheet: bytes) -> bytes:
        """The PDF of a sheet (`write_sheet`); equal sheets give equal bytes. Raises Unprintable, as
        ScriptMissing where no font has its characters, and OSError when no child can be started."""
        choice = await self._choose(sheet)
        if choice.missing:
            raise ScriptMissing(choice.missing)
        return await self._print(PrintJob("PRINT", sheet), choice.faces)

    async def print_paper(self, paper: bytes) -> bytes:
        """The same of a paper (`write_paper`), for whatever fonts there are."""
        return await self._print(PrintJob("PRINT_PAPER", paper), (await self._choose(paper)).faces)

    async def draw_logo(self, logo: Picture) -> bytes:
        """As a PNG, 80 pixels high and at most 560 wide, on a clear ground. Raises as the others
        do."""
        done = await self._do(PrintJob("DRAW_LOGO", msgspec.json.encode(logo)))
        if done is None or done.png is None:
            raise Unprintable
        return done.png

    async def count_pages(self, pdf: bytes) -> int | None:
        """None for what is no readable PDF. Raises OSError when no child can be started."""
        done = await self._do(PrintJob("COUNT_PAGES", pdf))
        return done.pages if done else None

    async def join(self, parts: Sequence[EnclosedPart]) -> tuple[bytes, int]:
        """One PDF of all of them, a picture as a page, and its pages; equal parts give equal bytes.
        Raises Unprintable for what is no readable PDF or picture, and OSError when no child can be
        started."""
        done = await self._do(PrintJob("JOIN", msgspec.msgpack.encode(parts)))
        if done is None or done.pdf is None or done.pages is None:
            raise Unprintable
        return done.pdf, done.pages

    async def close(self) -> None:
        """End the children, each after its job, and take no more jobs."""
        pools = [self._children, *self._others.values()]
        await asyncio.gather(*(pool.close() for pool in pools))

    def _open_pool(self, size: int, faces: Sequence[FontFace]) -> ChildPool:
        return ChildPool(
            _CHILD,
            size=size,
            patience_seconds=self._patience_seconds,
            max_answer_bytes=_MAX_PDF_BYTES,
            arguments=[f"{each.index}:{each.path}" for each in faces],
            limits=self._limits,
        )

    async def _choose(self, content: bytes) -> FontChoice:
        """The first time that more is needed than comes along, the folders are read."""
        if content.isascii():
            return FontChoice()
        return await asyncio.to_thread(self._shelf.choose, content.decode())

    @asynccontextmanager
    async def _take_pool(self, faces: tuple[FontFace, ...]) -> AsyncIterator[ChildPool]:
        """Fonts cost a child tens of megabytes: those used longest ago are given up."""
        # A closed printer opens no other pool; its first one refuses the job.
        if not faces or self._children.is_closed:
            yield self._children
            return
        pool = self._others.pop(faces, None) or self._open_pool(1, faces)
        self._others[faces] = pool
        self._busy[faces] += 1
        try:
            yield pool
        finally:
            self._busy[faces] -= 1
            for idle in [each for each in self._others if not self._busy[each]]:
                if len(self._others) <= _MOST_OTHERS:
                    break
                await self._others.pop(idle).close()

    async def _print(self, job: PrintJob, faces: tuple[FontFace, ...]) -> bytes:
        done = await self._do(job, faces)
        if done is None or done.pdf is None:
            raise Unprintable
        return done.pdf

    async def _do(self, job: PrintJob, faces: tuple[FontFace, ...] = ()) -> Done | None:
        try:
            async with self._take_pool(faces) as pool:
                answer = await pool.ask(
                    msgspec.msgpack.encode(job), key=self._key, size_bytes=len(job.content)
                )
        except ChildLost:
            return None
        return msgspec.msgpack.decode(answer, type=Done)
