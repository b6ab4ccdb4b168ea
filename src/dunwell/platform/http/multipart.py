"""Reads a multipart form piece by piece (RFC 7578), keeping no more of it than the limits allow.

Texts stay in memory, files go where the caller keeps them meanwhile (`FormLimits.open_file`). Where
the pieces come from, and how large the whole may be, is the caller's own affair. Pure.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from multipart import MultipartError, MultipartSegment, PushMultipartParser, parse_options_header

from dunwell.platform.errors import InvalidRequest

MEDIA_TYPE = "multipart/form-data"


class FileContent(Protocol):
    """A file's content on its way."""

    def __len__(self) -> int: ...
    def write(self, chunk: bytes) -> None: ...
    def read(self) -> bytes: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class FormPart:
    """One part of a form. `file_name` is the sender's name for a file; none: a text.

    A text has its content at `content`, a file at `file`. Of one that is too large it is left out.
    """

    name: str
    file_name: str | None
    content: bytes = b""
    file: FileContent | None = None
    is_too_large: bool = False


@dataclass(frozen=True, slots=True)
class FormLimits:
    parts: int
    # Of one part.
    text_bytes: int
    file_bytes: int
    # Called with a part and its limit as soon as it is too large; it may raise. If it does not, the
    # rest of the part is passed over.
    overflow: Callable[[FormPart, int], None]
    open_file: Callable[[], FileContent]


class FormReader:
    """Fed with chunks of a body, gives its parts in order, each as soon as it is whole."""

    def __init__(self, content_type: str, limits: FormLimits) -> None:
        """Raises InvalidRequest for a head without a boundary, as every method for a bad form."""
        self._limits = limits
        self._segment: MultipartSegment | None = None
        self._chunks: list[bytes] = []
        self._file: FileContent | None = None
        self._taken = 0
        _, options = parse_options_header(content_type)
        try:
            self._parser = PushMultipartParser(
                options.get("boundary", ""), max_segment_count=limits.parts, strict=True
            )
        except MultipartError as error:
            raise _unreadable(error) from None

    def take(self, chunk: bytes) -> Iterator[FormPart]:
        """The parts this chunk completes; what follows the form's end is passed over."""
        if self._parser.closed or not chunk:
            return
        try:
            for event in self._parser.parse(chunk):
                if isinstance(event, MultipartSegment):
                    self._segment, self._chunks, self._taken = event, [], 0
                    is_file = event.filename is not None
                    self._file = self._limits.open_file() if is_file else None
                elif event is None:
                    yield self._close_part()
                else:
                    self._take_chunk(bytes(event))
        except MultipartError as error:
            raise _unreadable(error) from None

    def close(self) -> None:
        """Raises InvalidRequest when the form has not come to its end."""
        try:
            self._parser.close()
        except MultipartError as error:
            raise _unreadable(error) from None

    def _take_chunk(self, chunk: bytes) -> None:
        assert self._segment is not None
        before, limit = self._taken, self._find_limit()
        self._taken += len(chunk)
        if self._taken <= limit:
            if self._file is None:
                self._chunks.append(chunk)
            else:
                self._file.write(chunk)
        elif before <= limit:
            self._chunks.clear()
            if self._file is not None:
                self._file.close()
                self._file = None
            self._limits.overflow(self._describe(b"", None), limit)

    def _find_limit(self) -> int:
        assert self._segment is not None
        is_file = self._segment.filename is not None
        return self._limits.file_bytes if is_file else self._limits.text_bytes

    def _close_part(self) -> FormPart:
        content, self._chunks = b"".join(self._chunks), []
        file, self._file = self._file, None
        return self._describe(content, file)

    def _describe(self, content: bytes, file: FileContent | None) -> FormPart:
        assert self._segment is not None
        is_too_large = self._taken > self._find_limit()
        return FormPart(
            self._segment.name,
            self._segment.filename,
            content=content,
            file=file,
            is_too_large=is_too_large,
        )


def _unreadable(error: MultipartError) -> InvalidRequest:
    return InvalidRequest(f"The form cannot be read: {error}. Send it again.")
