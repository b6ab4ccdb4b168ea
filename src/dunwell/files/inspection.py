"""A small pool of child processes that look into strangers' files, so that the web process never
parses one. A file that crashes, stalls or bloats its child costs that child and is refused.
"""

import msgspec

from dunwell.errors import Unavailable, UnsupportedMediaType
from dunwell.files.content_types import ALLOWED_TYPES, refuse
from dunwell.kit.child_pool import ChildLost, ChildPool

_CHILD = "dunwell.files.inspection_child"
_MAX_ANSWER_BYTES = 4096
# Wall time; the child limits its own processor time to less.
_PATIENCE_SECONDS = 15.0


class Finding(msgspec.Struct, frozen=True):
    """The child's answer: a type, or the words of a refusal."""

    content_type: str | None = None
    refusal: str | None = None


class Inspector:
    """Opened once in a process and closed at its end; children start when first needed."""

    def __init__(self, size: int = 2, patience_seconds: float = _PATIENCE_SECONDS) -> None:
        self._children = ChildPool(
            _CHILD,
            size=size,
            patience_seconds=patience_seconds,
            max_answer_bytes=_MAX_ANSWER_BYTES,
        )

    async def inspect(self, content: bytes) -> str:
        """The file's content type. Raises UnsupportedMediaType, Unavailable."""
        try:
            answer = await self._children.ask(content)
            finding = msgspec.json.decode(answer, type=Finding)
        except (ChildLost, msgspec.MsgspecError) as error:
            raise refuse("The file takes too much time or memory to read.") from error
        except OSError as error:
            raise Unavailable("Files cannot be checked just now. Try again shortly.") from error
        if finding.content_type not in ALLOWED_TYPES:
            raise UnsupportedMediaType(finding.refusal or "", allowed=list(ALLOWED_TYPES))
        return finding.content_type

    async def close(self) -> None:
        """End the children, each after its file; call when no more uploads come."""
        await self._children.close()
