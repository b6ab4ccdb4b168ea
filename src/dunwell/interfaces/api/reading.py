"""Parse request bodies: JSON strictly, and forms with files part by part."""

from collections.abc import Callable, Iterable
from itertools import chain, islice
from typing import Any, TypeVar

import msgspec
from starlette.requests import Request

from dunwell.core.files.upload import MAX_FILE_BYTES
from dunwell.platform.errors import Fault, InvalidRequest, UnsupportedMediaType, ValidationError
from dunwell.platform.http.multipart import (
    MEDIA_TYPE,
    UPLOADS,
    FormLimits,
    FormPart,
    FormReader,
    SpoolShare,
)
from dunwell.platform.http.requests import BodyTooLarge, stream_body
from dunwell.platform.text.json_text import (
    check_part_counts,
    convert_valid_fields,
    find_repeated_keys,
    has_no_repeated_keys,
    parse_json,
)
from dunwell.platform.text.shape import MAX_FAULTS, convert_if_valid, find_faults, limit_faults

Shape = TypeVar("Shape")

# The limits on the number of objects and arrays in a JSON body, and on the number of commas. Most
# operations need less than a tenth.
_MAX_CONTAINERS, _MAX_SEPARATORS = 3_000, 5_000
# Enough for the largest valid body that is parsed here: a change of all contact data with every
# letter escaped. (The body that creates claims has its own parser.) Larger bodies are not parsed,
# because parsing delays other requests.
_MAX_BYTES = 1024 * 1024
# The allowance for a form's texts and boundaries, in addition to its file.
FORM_BYTES = 64 * 1024
_MAX_FORM_BYTES = MAX_FILE_BYTES + FORM_BYTES


def has_body(request: Request) -> bool:
    """Return whether the request announces a body."""
    if "transfer-encoding" in request.headers:
        return True
    return request.headers.get("content-length", "0") != "0"


async def read_form_parts(request: Request, merchant_id: int) -> list[FormPart]:
    """Return a form's parts in order. The caller closes their files.

    Raises UnsupportedMediaType; InvalidRequest for a broken form; PayloadTooLarge as soon as a
    limit is exceeded; RateLimited or Unavailable, before anything is read, while this merchant or
    all merchants have too many bytes in uploads.
    """
    check_media_type(request, MEDIA_TYPE)
    share = UPLOADS.get_share(merchant_id)
    reader = FormReader(request.headers["content-type"], _build_form_limits(share))
    share.check_room(get_announced_bytes(request))
    parts: list[FormPart] = []
    async for chunk in stream_body(request, _MAX_FORM_BYTES):
        parts += reader.feed(chunk)
    reader.close()
    return parts


def get_announced_bytes(request: Request) -> int:
    """Return the announced length of a form in bytes, at most the number of bytes that are read, or
    0 if it is not announced."""
    announced = request.headers.get("content-length", "")
    return min(int(announced), _MAX_FORM_BYTES) if announced.isdecimal() else 0


def _refuse_part(part: FormPart, limit: int) -> None:
    raise BodyTooLarge(f"part {part.name}" if part.file_name is None else "file", limit)


def _build_form_limits(share: SpoolShare) -> FormLimits:
    return FormLimits(
        parts=8,
        text_bytes=4 * 1024,
        file_bytes=MAX_FILE_BYTES,
        overflow=_refuse_part,
        open_file=share.open,
    )


def check_media_type(request: Request, *media_types: str) -> None:
    """Check the headers before the body is read. Raises UnsupportedMediaType."""
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("", "identity"):
        raise UnsupportedMediaType(
            "Compressed bodies are not supported. Send the body without Content-Encoding.",
            allowed=list(media_types),
        )
    content_type = request.headers.get("content-type", "")
    if content_type.partition(";")[0].strip().lower() not in media_types:
        raise UnsupportedMediaType(
            f"The body must be sent as {' or '.join(media_types)}; set the Content-Type header.",
            allowed=list(media_types),
        )


def parse_json_body(body: bytes) -> tuple[Any, list[Fault]]:
    """Return a body's value, and a fault for each key that occurs twice.

    Raises InvalidRequest if it is not JSON, and ValidationError if it is longer, or has more
    objects, arrays or commas, than any operation needs.
    """
    check_part_counts(body, containers=_MAX_CONTAINERS, separators=_MAX_SEPARATORS)
    if len(body) > _MAX_BYTES:
        message = f"The body is larger than {_MAX_BYTES} bytes, the sum of all fields' limits."
        raise ValidationError([Fault("", message, "TOO_LONG")], message)
    try:
        value = parse_json(body)
        if has_no_repeated_keys(value, body):
            return value, []
        return value, list(islice(find_repeated_keys(body), MAX_FAULTS + 1))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidRequest(
            f"The body is not JSON: {error}. Correct it and repeat the request."
        ) from None


def parse_body(
    body: bytes, shape: type[Shape], rules: Callable[[Shape], Iterable[Fault]] | None = None
) -> Shape:
    """Parse a body as the msgspec type `shape`. `rules` yields the faults that no type expresses.

    If the body does not match the type, `rules` still checks the fields that can be read; the
    others are UNSET (`platform.text.json_text`).

    Raises what `parse_json_body` raises, and ValidationError with all faults.
    """
    value, repeated_keys = parse_json_body(body)
    parsed = convert_if_valid(value, shape)
    type_faults = find_faults(value, shape) if parsed is None else []
    readable = convert_valid_fields(value, shape) if rules and parsed is None else parsed
    rule_faults = rules(readable) if rules and readable is not None else ()
    faults = limit_faults(chain(type_faults, repeated_keys, rule_faults))
    if faults or parsed is None:
        raise ValidationError(faults)
    return parsed
