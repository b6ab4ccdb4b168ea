"""Reads the parts of a multipart request, and refuses it as soon as one is too large."""

from dunwell.api.reading import AnyRequest, check_media_type, read_header, stream_body, too_large
from dunwell.files.upload import MAX_FILE_BYTES
from dunwell.kit.multipart import MEDIA_TYPE, FormLimits, FormReader, Part

# A body that holds a file of the greatest size, with room for its texts and boundaries.
_MAX_BODY_BYTES = MAX_FILE_BYTES + 64 * 1024


async def read_parts(request: AnyRequest) -> list[Part]:
    """The form's parts in order. Raises UnsupportedMediaType, InvalidRequest (a broken form) and,
    as soon as it shows, PayloadTooLarge."""
    check_media_type(request, MEDIA_TYPE)
    reader = FormReader(read_header(request, b"content-type") or "", _LIMITS)
    parts: list[Part] = []
    async for chunk in stream_body(request, _MAX_BODY_BYTES):
        parts += reader.take(chunk)
    reader.close()
    return parts


def _refuse(part: Part, limit: int) -> None:
    raise too_large(f"part {part.name}" if part.file_name is None else "file", limit)


_LIMITS = FormLimits(parts=8, text_bytes=4 * 1024, file_bytes=MAX_FILE_BYTES, overflow=_refuse)
