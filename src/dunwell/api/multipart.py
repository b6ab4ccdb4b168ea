"""Reads a multipart form as it streams in (RFC 7578), keeping no more than the limits allow."""

from collections.abc import Generator

from multipart import MultipartError, MultipartSegment, PushMultipartParser, parse_options_header

from dunwell.api.reading import (
    AnyRequest,
    Part,
    check_media_type,
    read_header,
    stream_body,
    too_large,
)
from dunwell.errors import InvalidRequest
from dunwell.files.upload import MAX_FILE_BYTES

MEDIA_TYPE = "multipart/form-data"
_MAX_TEXT_BYTES = 4 * 1024
_MAX_PARTS = 8
# A body that holds a file of the greatest size, with room for its texts and boundaries.
_MAX_BODY_BYTES = MAX_FILE_BYTES + 64 * 1024


async def read_parts(request: AnyRequest) -> list[Part]:
    """The form's parts in order. Raises UnsupportedMediaType, InvalidRequest (a broken form) and,
    as soon as it shows, PayloadTooLarge."""
    check_media_type(request, MEDIA_TYPE)
    form = _Form()
    try:
        parser = _open_parser(request)
        async for chunk in stream_body(request, _MAX_BODY_BYTES):
            if not parser.closed:
                form.take(parser.parse(chunk))
        parser.close()
    except MultipartError as error:
        raise InvalidRequest(f"The form cannot be read: {error}. Send it again.") from None
    return form.parts


def _open_parser(request: AnyRequest) -> PushMultipartParser:
    _, options = parse_options_header(read_header(request, b"content-type") or "")
    return PushMultipartParser(
        options.get("boundary", ""), max_segment_count=_MAX_PARTS, strict=True
    )


class _Form:
    """Collects parts from the parser's events: a head, chunks, None at the part's end."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self._segment: MultipartSegment | None = None
        self._chunks: list[bytes] = []
        self._taken = 0

    def take(self, events: Generator[MultipartSegment | bytearray | bytes | None]) -> None:
        for event in events:
            if isinstance(event, MultipartSegment):
                self._segment, self._chunks, self._taken = event, [], 0
            elif event is None:
                self._close_part()
            else:
                self._take_chunk(bytes(event))

    def _take_chunk(self, chunk: bytes) -> None:
        assert self._segment is not None
        is_file = self._segment.filename is not None
        limit = MAX_FILE_BYTES if is_file else _MAX_TEXT_BYTES
        self._taken += len(chunk)
        if self._taken > limit:
            raise too_large("file" if is_file else f"part {self._segment.name}", limit)
        self._chunks.append(chunk)

    def _close_part(self) -> None:
        assert self._segment is not None
        self.parts.append(Part(self._segment.name, self._segment.filename, b"".join(self._chunks)))
