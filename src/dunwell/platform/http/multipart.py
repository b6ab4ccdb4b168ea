"""Read a multipart form (RFC 7578) piece by piece, and keep its files until the request is done.

The reader keeps texts in memory and writes files to the object that `FormLimits.open_file` returns.
The caller limits the size of the whole body.

A spooled file is kept in memory up to a limit and then in a temporary file without a name, so that
nothing is left behind after a crash. The total in one process is limited, and so is the share of
each sender. A sender who exceeds a limit is asked to wait.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from multipart import MultipartError, MultipartSegment, PushMultipartParser, parse_options_header

from dunwell.platform.config.private_folder import create_private_folder
from dunwell.platform.errors import InvalidRequest, RateLimited, Unavailable

_IN_MEMORY_BYTES = 64 * 1024
_RETRY_AFTER_SECONDS = 5
# A quarter is enough for 25 files of the largest size at a time, and leaves room for three other
# senders who do the same.
_SENDER_SHARE = 0.25


class Spool:
    """Counts the bytes that all open contents hold, in total and for each sender."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._max_bytes_per_sender = int(max_bytes * _SENDER_SHARE)
        self.held_bytes = 0
        self._held_by_sender: Counter[Hashable] = Counter()
        # None for the system's folder for temporary files.
        self.folder: Path | None = None

    def use_folder(self, folder: Path) -> None:
        """Use this folder for temporary files from now on. Only its owner can access it."""
        create_private_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
        self.folder = folder

    def get_share(self, sender: Hashable) -> "SpoolShare":
        return SpoolShare(self, sender)

    def check_room(self, expected_bytes: int, sender: Hashable) -> None:
        """Check that there is room for a number of bytes. Raises Unavailable if all senders
        together hold too much, and RateLimited if this sender does."""
        if self.held_bytes + expected_bytes > self._max_bytes:
            raise Unavailable(
                "Too many files are being uploaded at the moment. Try again shortly.",
                retry_after=_RETRY_AFTER_SECONDS,
            )
        if self._held_by_sender[sender] + expected_bytes > self._max_bytes_per_sender:
            raise RateLimited(
                "You are sending too many files at once. Send the next one when one of them has "
                "been answered.",
                retry_after=_RETRY_AFTER_SECONDS,
            )

    def count(self, size_bytes: int, sender: Hashable) -> None:
        """Count bytes that were received or, if negative, bytes that were released."""
        self.held_bytes += size_bytes
        self._held_by_sender[sender] += size_bytes
        if not self._held_by_sender[sender]:
            del self._held_by_sender[sender]


@dataclass(frozen=True, slots=True)
class SpoolShare:
    """The share of one sender in the spool."""

    spool: Spool
    sender: Hashable

    def check_room(self, expected_bytes: int) -> None:
        """Check the limits before anything is read. Raises RateLimited, Unavailable."""
        self.spool.check_room(expected_bytes, self.sender)

    def open(self) -> "SpooledContent":
        if self.spool.folder is not None:
            # The folder may have been deleted. If it cannot be created, `write` reports that.
            with suppress(OSError):
                self.spool.use_folder(self.spool.folder)
        return SpooledContent(self)


class SpooledContent:
    """The content of one part of a form. It is deleted when it is closed or no longer
    referenced."""

    def __init__(self, share: SpoolShare) -> None:
        self._share, spool = share, share.spool
        file = tempfile.SpooledTemporaryFile(  # noqa: SIM115 - see close
            max_size=_IN_MEMORY_BYTES, dir=None if spool.folder is None else str(spool.folder)
        )
        self._file = cast(BinaryIO, file)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def write(self, chunk: bytes) -> None:
        """Append a chunk. Raises RateLimited or Unavailable beyond a limit, and Unavailable if the
        disk fails."""
        self._share.check_room(len(chunk))
        try:
            self._file.write(chunk)
        except OSError as error:
            raise Unavailable(
                "No files can be received at the moment. Try again shortly."
            ) from error
        self._size += len(chunk)
        self._share.spool.count(len(chunk), self._share.sender)

    def read(self) -> bytes:
        """Return the whole content, in memory. Call this when the content is needed."""
        self._file.seek(0)
        return self._file.read()

    def close(self) -> None:
        self._file.close()
        self._share.spool.count(-self._size, self._share.sender)
        self._size = 0

    def __del__(self) -> None:
        self.close()


# The spool of this process.
UPLOADS = Spool(1024 * 1024 * 1024)


MEDIA_TYPE = "multipart/form-data"


class FileContent(Protocol):
    """The content of a file while it is received."""

    def __len__(self) -> int: ...
    def write(self, chunk: bytes) -> None: ...
    def read(self) -> bytes: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class FormPart:
    """One part of a form. `file_name` is the sender's name for a file, None for a text field.

    `content` has the value of a text field, `file` that of a file. Neither is set if the part is
    too large.
    """

    name: str
    file_name: str | None
    content: bytes = b""
    file: FileContent | None = None
    is_too_large: bool = False


@dataclass(frozen=True, slots=True)
class FormLimits:
    parts: int
    # Limits for one part.
    text_bytes: int
    file_bytes: int
    # Called with a part and its limit as soon as the part is too large. It may raise; otherwise the
    # rest of the part is skipped.
    overflow: Callable[[FormPart, int], None]
    open_file: Callable[[], FileContent]


class FormReader:
    """Takes the chunks of a body and yields the parts of the form in order, each as soon as it is
    complete."""

    def __init__(self, content_type: str, limits: FormLimits) -> None:
        """Read the boundary from the header. Raises InvalidRequest if there is none. The other
        methods raise it for a malformed form."""
        self._limits = limits
        self._segment: MultipartSegment | None = None
        self._chunks: list[bytes] = []
        self._file: FileContent | None = None
        self._received = 0
        _, options = parse_options_header(content_type)
        try:
            self._parser = PushMultipartParser(
                options.get("boundary", ""), max_segment_count=limits.parts, strict=True
            )
        except MultipartError as error:
            raise _build_form_error(error) from None

    def feed(self, chunk: bytes) -> Iterator[FormPart]:
        """Yield the parts that this chunk completes. Data after the end of the form is ignored."""
        if self._parser.closed or not chunk:
            return
        try:
            for event in self._parser.parse(chunk):
                if isinstance(event, MultipartSegment):
                    self._segment, self._chunks, self._received = event, [], 0
                    is_file = event.filename is not None
                    self._file = self._limits.open_file() if is_file else None
                elif event is None:
                    yield self._close_part()
                else:
                    self._append_chunk(bytes(event))
        except MultipartError as error:
            raise _build_form_error(error) from None

    def close(self) -> None:
        """Check that the form is complete. Raises InvalidRequest."""
        try:
            self._parser.close()
        except MultipartError as error:
            raise _build_form_error(error) from None

    def _append_chunk(self, chunk: bytes) -> None:
        assert self._segment is not None
        before, limit = self._received, self._get_limit()
        self._received += len(chunk)
        if self._received <= limit:
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

    def _get_limit(self) -> int:
        assert self._segment is not None
        is_file = self._segment.filename is not None
        return self._limits.file_bytes if is_file else self._limits.text_bytes

    def _close_part(self) -> FormPart:
        content, self._chunks = b"".join(self._chunks), []
        file, self._file = self._file, None
        return self._describe(content, file)

    def _describe(self, content: bytes, file: FileContent | None) -> FormPart:
        assert self._segment is not None
        is_too_large = self._received > self._get_limit()
        return FormPart(
            self._segment.name,
            self._segment.filename,
            content=content,
            file=file,
            is_too_large=is_too_large,
        )


def _build_form_error(error: MultipartError) -> InvalidRequest:
    return InvalidRequest(f"The form cannot be read: {error}. Send it again.")
