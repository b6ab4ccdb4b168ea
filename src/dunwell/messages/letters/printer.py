"""Prints sheets and papers: a small pool of child processes that lay them out, so that neither the
event loop waits for it nor a sheet can do harm to more than its child.
"""

from typing import Literal

import msgspec

from dunwell.kit.child_pool import ChildLost, ChildPool
from dunwell.messages.letters.sheet import Picture

_CHILD = "dunwell.messages.letters.printer_child"
_MAX_PDF_BYTES = 20 * 1024 * 1024
# Wall time, with a child's start in it; the child limits its own processor time to less.
_PATIENCE_SECONDS = 30.0


class Unprintable(Exception):  # noqa: N818 - reads as what is wrong
    """The sheet cannot be laid out within the limits."""


class Job(msgspec.Struct, frozen=True, array_like=True):
    kind: Literal["PRINT", "PRINT_PAPER", "DRAW_LOGO", "COUNT_PAGES"]
    # A sheet, a paper or a logo as JSON, or a PDF.
    content: bytes


class Done(msgspec.Struct, frozen=True, array_like=True):
    pdf: bytes | None = None
    png: bytes | None = None
    pages: int | None = None


class LetterPrinter:
    """Opened once in a process and closed at its end; children start when first needed."""

    def __init__(self, size: int = 2, patience_seconds: float = _PATIENCE_SECONDS) -> None:
        self._children = ChildPool(
            _CHILD,
            size=size,
            patience_seconds=patience_seconds,
            max_answer_bytes=_MAX_PDF_BYTES,
        )

    async def print_sheet(self, sheet: bytes) -> bytes:
        """The PDF of a sheet (`write_sheet`); equal sheets give equal bytes. Raises Unprintable,
        and OSError when no child can be started."""
        return await self._print(Job("PRINT", sheet))

    async def print_paper(self, paper: bytes) -> bytes:
        """The same of a paper (`write_paper`)."""
        return await self._print(Job("PRINT_PAPER", paper))

    async def draw_logo(self, logo: Picture) -> bytes:
        """As a PNG, 80 pixels high and at most 560 wide, on a clear ground. Raises as the others
        do."""
        done = await self._do(Job("DRAW_LOGO", msgspec.json.encode(logo)))
        if done is None or done.png is None:
            raise Unprintable
        return done.png

    async def count_pages(self, pdf: bytes) -> int | None:
        """None for what is no readable PDF. Raises OSError when no child can be started."""
        done = await self._do(Job("COUNT_PAGES", pdf))
        return done.pages if done else None

    async def close(self) -> None:
        await self._children.close()

    async def _print(self, job: Job) -> bytes:
        done = await self._do(job)
        if done is None or done.pdf is None:
            raise Unprintable
        return done.pdf

    async def _do(self, job: Job) -> Done | None:
        try:
            answer = await self._children.ask(msgspec.msgpack.encode(job))
        except ChildLost:
            return None
        return msgspec.msgpack.decode(answer, type=Done)
