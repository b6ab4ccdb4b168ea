"""Reads YAML and JSON documents that people give to pages. They are parsed in a confined child, as
uploads are, and what is then made of the value runs in a thread; the event loop answers others
meanwhile. One document of a person is read at a time.
"""

import asyncio
import json
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import msgspec

from dunwell.platform.children.child_pool import ChildLost, ChildPool
from dunwell.platform.children.fair_queue import PERSON_WAITS, UNLIMITED, FairQueue
from dunwell.platform.errors import Unavailable
from dunwell.platform.text.yaml_document import DocumentFaulty

_CHILD = "dunwell.platform.children.yaml_child"
# One of them stays free for others while a person's document is read.
_READ_AT_ONCE = 2
# Wall time, with a child's start in it; the child limits its own processor time to less.
_PATIENCE_SECONDS = 10.0
# What anchors share is written out in the answer (`yaml_document`), and JSON escapes what is no
# ASCII with six characters each.
_MAX_ANSWER_BYTES = 32 * 1024 * 1024

Made = TypeVar("Made")


class WantedDocument(msgspec.Struct, frozen=True, array_like=True):
    """`places`: of which the lines are wanted (`find_lines`); None: the value is."""

    text: str
    places: Sequence[Sequence[str | int]] | None = None


class ReadDocument(msgspec.Struct, frozen=True, array_like=True):
    """`value`: as JSON. `fault`: why the text is no document."""

    value: str = "null"
    lines: list[int] = []
    fault: str = ""


class DocumentReader:
    """Opened once in a process and closed at its end; children start when first needed."""

    def __init__(self, patience_seconds: float = _PATIENCE_SECONDS) -> None:
        self._queue = FairQueue(_READ_AT_ONCE, PERSON_WAITS)
        self._children = ChildPool(
            _CHILD, size=_READ_AT_ONCE, patience_seconds=patience_seconds,
            max_answer_bytes=_MAX_ANSWER_BYTES, limits=UNLIMITED,
        )  # fmt: skip
        # One thread: what is made of several large values at once leaves the event loop its turns.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="documents")

    async def read(self, text: str, key: Hashable, make: Callable[[Any], Made]) -> Made:
        """Return what `make` makes of the document's value, in a thread. key: whose document it is.

        Raises DocumentFaulty, RateLimited, Unavailable and what `make` raises.
        """
        async with self._queue.slot(key, len(text)):
            found = await self._ask(WantedDocument(text))
            return await asyncio.get_running_loop().run_in_executor(
                self._thread, lambda: make(json.loads(found.value))
            )

    async def find_lines(
        self, text: str, places: Sequence[Sequence[str | int]], key: Hashable
    ) -> list[int]:
        """See `yaml_document.find_lines`. Raises DocumentFaulty, RateLimited, Unavailable."""
        async with self._queue.slot(key, len(text)):
            return (await self._ask(WantedDocument(text, places))).lines

    async def close(self) -> None:
        """End the children, each after its document, and take no more documents."""
        self._queue.close()
        await self._children.close()

    async def _ask(self, wanted: WantedDocument) -> ReadDocument:
        try:
            answer = await self._children.ask(msgspec.msgpack.encode(wanted))
            read = msgspec.msgpack.decode(answer, type=ReadDocument)
        except (ChildLost, msgspec.MsgspecError) as error:
            raise DocumentFaulty("The document takes too much time or memory to read.") from error
        except OSError as error:
            raise Unavailable("Documents cannot be read just now. Try again shortly.") from error
        if read.fault:
            raise DocumentFaulty(read.fault)
        return read
