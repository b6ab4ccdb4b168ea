"""A small pool of child processes that parse untrusted files, so that the web process never does. A
file that makes its child crash, hang or use too much memory is refused, and only that child is
lost."""

from collections.abc import Hashable

import msgspec

from dunwell.core.files.upload import ALLOWED_TYPES, build_file_refusal
from dunwell.platform.children.child_pool import ChildLost, ChildPool
from dunwell.platform.children.fair_queue import INTERACTIVE
from dunwell.platform.errors import Unavailable, UnsupportedMediaType
from dunwell.platform.http.multipart import FileContent

_CHILD = "dunwell.core.files.inspection_child"
# A rewritten file can be somewhat larger than the original.
_MAX_ANSWER_BYTES = 40 * 1024 * 1024
# Wall time. The child limits its processor time to less.
_TIMEOUT_SECONDS = 15.0


class InspectionResult(msgspec.Struct, frozen=True):
    """The child's result: the content type and the rewritten file, or the reason for a refusal."""

    content_type: str = ""
    content: bytes = b""
    refusal: str = ""


class Inspector:
    """The pool of child processes that check files. A process has one pool, and closes it before
    it ends. Children start when first needed."""

    def __init__(self, size: int = 2, timeout_seconds: float = _TIMEOUT_SECONDS) -> None:
        self._children = ChildPool(
            _CHILD,
            size=size,
            timeout_seconds=timeout_seconds,
            max_answer_bytes=_MAX_ANSWER_BYTES,
            limits=INTERACTIVE,
        )

    async def inspect(self, content: bytes) -> str:
        """Return the file's content type. Raises UnsupportedMediaType, Unavailable."""
        return (await self.clean(content)).content_type

    async def clean(self, content: bytes | FileContent, key: Hashable = "") -> InspectionResult:
        """Return the file as `cleaning.clean_file` rewrites it. `key` is the sender, whose files
        are checked one after another. Raises UnsupportedMediaType, RateLimited, Unavailable."""
        source = content if isinstance(content, bytes) else content.read
        try:
            answer = await self._children.ask(source, key=key, size_bytes=len(content))
            result = msgspec.msgpack.decode(answer, type=InspectionResult)
        except (ChildLost, msgspec.MsgspecError) as error:
            raise build_file_refusal("The file takes too much time or memory to read.") from error
        except OSError as error:
            raise Unavailable("Files cannot be checked just now. Try again shortly.") from error
        if result.content_type not in ALLOWED_TYPES:
            raise UnsupportedMediaType(result.refusal, allowed=list(ALLOWED_TYPES))
        return result

    async def close(self) -> None:
        """Stop the children, each after its file, and accept no more files."""
        await self._children.close()
