"""Reads what a request brings: JSON strictly, forms with files part by part."""

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
from starlette.requests import Request

from dunwell.errors import Fault, InvalidRequest, UnsupportedMediaType, ValidationError
from dunwell.files.upload import MAX_FILE_BYTES
from dunwell.kit.json_text import check_amount, check_encoding, find_repeated, has_all_keys
from dunwell.kit.multipart import MEDIA_TYPE, FormLimits, FormReader, Part
from dunwell.kit.requests import BodyTooLarge, read_body, stream_body
from dunwell.kit.shape import find_faults
from dunwell.kit.spool import UPLOADS, SpoolShare
from dunwell.kit.texts import find_unprintable

Shape = TypeVar("Shape")

MAX_JSON_BYTES = 10 * 1024 * 1024
# Of what no other operation than the creation of claims needs a tenth.
_MOST_CONTAINERS, _MOST_SEPARATORS = 3_000, 5_000
# A form that holds a file of the greatest size, with room for its texts and boundaries.
_MAX_FORM_BYTES = MAX_FILE_BYTES + 64 * 1024


def has_body(request: Request) -> bool:
    """Whether the request announces one."""
    if "transfer-encoding" in request.headers:
        return True
    return request.headers.get("content-length", "0") != "0"


async def read_json_bytes(
    request: Request, media_types: Sequence[str] = ("application/json",)
) -> bytes:
    """The body of a JSON request, not parsed. Raises UnsupportedMediaType, PayloadTooLarge, and
    InvalidRequest for another encoding than UTF-8."""
    _check_media_type(request, *media_types)
    body = await read_body(request, MAX_JSON_BYTES)
    check_encoding(body)
    return body


async def read_parts(request: Request, merchant_id: int) -> list[Part]:
    """A form's parts in order. Raises UnsupportedMediaType, InvalidRequest (a broken form) and,
    as soon as it shows, PayloadTooLarge. Raises RateLimited or Unavailable, before anything is
    read, while too much of this merchant's or of all merchants' is held. Close their files."""
    _check_media_type(request, MEDIA_TYPE)
    share = UPLOADS.share_of(merchant_id)
    reader = FormReader(request.headers["content-type"], _limit_form(share))
    share.check_room(_expect(request))
    parts: list[Part] = []
    async for chunk in stream_body(request, _MAX_FORM_BYTES):
        parts += reader.take(chunk)
    reader.close()
    return parts


def _expect(request: Request) -> int:
    announced = request.headers.get("content-length", "")
    return min(int(announced), _MAX_FORM_BYTES) if announced.isdecimal() else 0


def _refuse_part(part: Part, limit: int) -> None:
    raise BodyTooLarge(f"part {part.name}" if part.file_name is None else "file", limit)


def _limit_form(share: SpoolShare) -> FormLimits:
    return FormLimits(
        parts=8,
        text_bytes=4 * 1024,
        file_bytes=MAX_FILE_BYTES,
        overflow=_refuse_part,
        open_file=share.open,
    )


def _check_media_type(request: Request, *wanted: str) -> None:
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("", "identity"):
        raise UnsupportedMediaType(
            "A body is taken as it is, not compressed; send it without Content-Encoding.",
            allowed=list(wanted),
        )
    given = request.headers.get("content-type", "")
    if given.partition(";")[0].strip().lower() not in wanted:
        raise UnsupportedMediaType(
            f"The body must be sent as {' or '.join(wanted)}; set the Content-Type header.",
            allowed=list(wanted),
        )


def parse_json(body: bytes) -> Any:
    """Raises InvalidRequest."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidRequest(f"The body is not JSON: {error}. Correct it and send again.") from None


def read_shape(body: bytes, shape: type[Shape]) -> Shape:
    """Parse a body into a shape of ours. Raises InvalidRequest, ValidationError (all faults)."""
    check_amount(body, containers=_MOST_CONTAINERS, separators=_MOST_SEPARATORS)
    value = parse_json(body)
    faults: list[Fault] = [*find_faults(value, shape), *find_unprintable(value)]
    if not has_all_keys(value, body):
        faults += find_repeated(body)
    if faults:
        raise ValidationError(faults)
    return msgspec.convert(value, shape)
