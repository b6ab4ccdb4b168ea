"""Parse YAML and JSON documents that users upload or paste.

They are parsed in a confined child process, like uploads. The resulting value is processed in a
thread, so that the event loop stays responsive. For each user, one document is read at a time.
"""

import asyncio
import json
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import msgspec

from dunwell.platform.children.child_pool import ChildLost, ChildPool
from dunwell.platform.children.fair_queue import INTERACTIVE, UNLIMITED, FairQueue
from dunwell.platform.errors import Unavailable
from dunwell.platform.text.yaml_document import InvalidDocument

_CHILD = "dunwell.platform.children.yaml_child"
# A user's document occupies one of these; the other one stays free for other users.
_MAX_CONCURRENT = 2
# Wall time, which includes starting the child. The child's own limit on processor time is lower.
_TIMEOUT_SECONDS = 10.0
# An answer can be much longer than its document: YAML anchors are expanded (see `yaml_document`),
# and JSON writes every character outside ASCII as an escape of six characters.
_MAX_ANSWER_BYTES = 32 * 1024 * 1024

Result = TypeVar("Result")


class DocumentRequest(msgspec.Struct, frozen=True, array_like=True):
    """A request to the child. With `places`, the child returns the line numbers of these places in
    the document (see `list_lines`), without it the value of the document."""

    text: str
    places: Sequence[Sequence[str | int]] | None = None


class DocumentAnswer(msgspec.Struct, frozen=True, array_like=True):
    """`value` is JSON. `fault` says why the text cannot be parsed."""

    value: str = "null"
    lines: list[int] = []
    fault: str = ""


class DocumentReader:
    """A reader that is opened once in a process and closed at its end. Children start when they are
    first needed."""

    def __init__(self, timeout_seconds: float = _TIMEOUT_SECONDS) -> None:
        self._queue = FairQueue(_MAX_CONCURRENT, INTERACTIVE)
        self._children = ChildPool(
            _CHILD, size=_MAX_CONCURRENT, timeout_seconds=timeout_seconds,
            max_answer_bytes=_MAX_ANSWER_BYTES, limits=UNLIMITED,
        )  # fmt: skip
        # A single thread, so that processing several large values leaves time for the event loop.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="documents")

    async def read(self, text: str, key: Hashable, make: Callable[[Any], Result]) -> Result:
        """Return the result of `make` for the document's value; `make` runs in a thread. `key`
        identifies the user.

        Raises InvalidDocument, RateLimited, Unavailable and the exceptions of `make`.
        """
        async with self._queue.slot(key, len(text)):
            document = await self._ask(DocumentRequest(text))
            return await asyncio.get_running_loop().run_in_executor(
                self._thread, lambda: make(json.loads(document.value))
            )

    async def list_lines(
        self, text: str, places: Sequence[Sequence[str | int]], key: Hashable
    ) -> list[int]:
        """Return the line of each place (see `yaml_document.list_lines`). Raises InvalidDocument,
        RateLimited, Unavailable."""
        async with self._queue.slot(key, len(text)):
            return (await self._ask(DocumentRequest(text, places))).lines

    async def close(self) -> None:
        """Let each child finish its document, end the children and accept no more documents."""
        self._queue.close()
        await self._children.close()

    async def _ask(self, request: DocumentRequest) -> DocumentAnswer:
        try:
            answer = await self._children.ask(msgspec.msgpack.encode(request))
            document = msgspec.msgpack.decode(answer, type=DocumentAnswer)
        except (ChildLost, msgspec.MsgspecError) as error:
            raise InvalidDocument("The document takes too much time or memory to read.") from error
        except OSError as error:
            raise Unavailable("Documents cannot be read just now. Try again shortly.") from error
        if document.fault:
            raise InvalidDocument(document.fault)
        return document
